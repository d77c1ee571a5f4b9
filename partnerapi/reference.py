"""What the reference page tells, read from the schema, the settings and the errors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any

from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    Undefined,
    ast_from_value,
    get_named_type,
    print_ast,
)

from partnerapi.engine.errors import PartnerAPIError
from partnerapi.settings import VARIABLES

LIMITS = ("PARTNER_API_MAX_", "PARTNER_API_BUDGET_", "PARTNER_API_ANONYMOUS_BUDGET_")


@dataclass(frozen=True)
class TypeReference:
    """A type as it is written, parted so that its name can be linked."""

    before: str
    name: str
    after: str


@dataclass(frozen=True)
class Member:
    """An argument, a field or an enum value."""

    anchor: str
    name: str
    description: str
    deprecated: str | None
    type: TypeReference | None = None
    default: str | None = None
    arguments: tuple["Member", ...] = ()


@dataclass(frozen=True)
class Entry:
    """A query, a mutation or a type."""

    anchor: str
    name: str
    description: str
    members: tuple[Member, ...]
    type: TypeReference | None = None
    deprecated: str | None = None
    implements: tuple[str, ...] = ()
    implemented_by: tuple[str, ...] = ()
    specified_by: str | None = None


@dataclass(frozen=True)
class Section:
    title: str
    anchor: str
    entries: tuple[Entry, ...]


def addresses() -> list[tuple[str, str]]:
    return [
        ("Production", f"{settings.PARTNER_API_BASE_URL}/graphql"),
        ("Sandbox", f"{settings.PARTNER_API_SANDBOX_URL}/graphql"),
        ("Local development server", f"{settings.PARTNER_API_LOCAL_URL}/graphql"),
    ]


def limits() -> list[tuple[str, str]]:
    return [
        (variable.meaning, f"{getattr(settings, name):,}")
        for name, variable in VARIABLES.items()
        if name.startswith(LIMITS)
    ]


def sections(schema: GraphQLSchema) -> list[Section]:
    """Queries, mutations and types by kind, sorted by name; empty kinds left out."""
    roots = {schema.query_type, schema.mutation_type}
    types = [
        type_
        for name, type_ in sorted(schema.type_map.items())
        if not name.startswith("__") and type_ not in roots
    ]
    objects = [type_ for type_ in types if isinstance(type_, GraphQLObjectType)]
    connections = [type_ for type_ in objects if is_of_connections(type_)]

    def of_kind(kind: type[GraphQLNamedType]) -> list[GraphQLNamedType]:
        return [type_ for type_ in types if isinstance(type_, kind)]

    kinds: list[tuple[str, list[Any]]] = [
        ("Types", [type_ for type_ in objects if type_ not in connections]),
        ("Connections", connections),
        ("Interfaces", of_kind(GraphQLInterfaceType)),
        ("Enums", of_kind(GraphQLEnumType)),
        ("Inputs", of_kind(GraphQLInputObjectType)),
        ("Scalars", of_kind(GraphQLScalarType)),
    ]
    found = [
        Section("Queries", "queries", operations(schema.query_type)),
        Section("Mutations", "mutations", operations(schema.mutation_type)),
        *(
            Section(title, title.lower(), tuple(entry(schema, t) for t in members))
            for title, members in kinds
        ),
    ]
    return [section for section in found if section.entries]


def is_of_connections(type_: GraphQLObjectType) -> bool:
    return type_.name.endswith(("Connection", "Edge")) or type_.name == "PageInfo"


def operations(root: GraphQLObjectType | None) -> tuple[Entry, ...]:
    if root is None:
        return ()
    return tuple(
        Entry(
            anchor=f"{root.name}.{name}",
            name=name,
            description=text(field),
            type=reference(field.type),
            deprecated=field.deprecation_reason,
            members=arguments(f"{root.name}.{name}", field),
        )
        for name, field in sorted(root.fields.items())
    )


def entry(schema: GraphQLSchema, type_: Any) -> Entry:
    implemented_by: tuple[str, ...] = ()
    if isinstance(type_, GraphQLInterfaceType):
        found = schema.get_possible_types(type_)
        implemented_by = tuple(sorted(possible.name for possible in found))
    return Entry(
        anchor=type_.name,
        name=type_.name,
        description=text(type_),
        members=tuple(members(type_)),
        implements=tuple(
            interface.name for interface in getattr(type_, "interfaces", ())
        ),
        implemented_by=implemented_by,
        specified_by=getattr(type_, "specified_by_url", None),
    )


def members(type_: GraphQLNamedType) -> Iterator[Member]:
    if isinstance(type_, GraphQLEnumType):
        for name, value in type_.values.items():
            anchor = f"{type_.name}.{name}"
            yield Member(anchor, name, text(value), value.deprecation_reason)
    elif isinstance(type_, GraphQLInputObjectType):
        for name, field in type_.fields.items():
            yield input_value(f"{type_.name}.{name}", name, field)
    elif isinstance(type_, GraphQLObjectType | GraphQLInterfaceType):
        for name, output in type_.fields.items():
            anchor = f"{type_.name}.{name}"
            yield Member(
                anchor,
                name,
                text(output),
                output.deprecation_reason,
                reference(output.type),
                arguments=arguments(anchor, output),
            )


def arguments(anchor: str, field: GraphQLField) -> tuple[Member, ...]:
    return tuple(
        input_value(f"{anchor}.{name}", name, argument)
        for name, argument in field.args.items()
    )


def input_value(
    anchor: str, name: str, value: GraphQLArgument | GraphQLInputField
) -> Member:
    default = None
    if value.default_value is not Undefined:
        literal = ast_from_value(value.default_value, value.type)
        default = print_ast(literal) if literal else None
    return Member(
        anchor,
        name,
        text(value),
        value.deprecation_reason,
        reference(value.type),
        default,
    )


def reference(type_: Any) -> TypeReference:
    name = get_named_type(type_).name
    before, _, after = str(type_).partition(name)
    return TypeReference(before, name, after)


def text(described: Any) -> SafeString:
    """A description as HTML, `such words` set as code."""
    escaped = escape(cleandoc(described.description or ""))
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))


def errors() -> list[tuple[str, str]]:
    """Every published code with its meaning, from the classes that carry them."""
    published = {
        kind.code: cleandoc(kind.__doc__ or "") for kind in subclasses(PartnerAPIError)
    }
    return sorted(published.items())


def subclasses(kind: type[PartnerAPIError]) -> Iterator[type[PartnerAPIError]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from subclasses(subclass)
