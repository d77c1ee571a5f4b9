"""What the reference page shows, read from the schema, the settings and the errors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from inspect import cleandoc
from operator import attrgetter
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

from partnerapi.core.errors import INTERNAL_SERVER_ERROR, PartnerAPIError
from partnerapi.gateway.answers import MASKED
from partnerapi.graphql.cost import Cost, own_points
from partnerapi.settings import FIXED_LIMITS, VARIABLES
from partnerapi.site.exchanges import Exchange, of_errors, of_operations

EXECUTED = 200
LIMITS = ("PARTNER_API_MAX_", "PARTNER_API_BUDGET_", "PARTNER_API_ANONYMOUS_BUDGET_")
DEPRECATED = re.compile(
    r"(?P<instead>.+) Deprecated since (?P<since>[0-9-]{10}), "
    r"removed on (?P<removal>[0-9-]{10})\."
)
"""How a reason says what to use instead, since when, and until when it works."""
NOTICE = timedelta(days=365)
PARTED = ("Query", "Mutation", "error")
"""Of what each member has a page of its own."""


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
    exchange: Exchange | None = None


@dataclass(frozen=True)
class Section:
    """Entries of a kind. Each has a page of its own."""

    title: str
    anchor: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class PublishedError:
    """A code, the HTTP statuses it comes with, what gets it, what to do about it."""

    code: str
    statuses: tuple[int, ...]
    plain: str
    """When it comes, with `such words` for code."""
    examples: tuple[str, ...]
    remedy: str

    @property
    def anchor(self) -> str:
        return f"error.{self.code}"

    @property
    def name(self) -> str:
        return self.code

    @property
    def meaning(self) -> SafeString:
        return text(self.plain)

    @property
    def advice(self) -> SafeString:
        return text(self.remedy)

    @property
    def exchange(self) -> Exchange | None:
        return of_errors().get(self.code)


def is_document(example: str) -> bool:
    """Whether an example is GraphQL, and not words about a request."""
    return example.startswith(("{", "query ", "mutation {"))


def addresses() -> list[tuple[str, str]]:
    return [
        ("Production", f"{settings.PARTNER_API_BASE_URL}/graphql"),
        ("Sandbox", f"{settings.PARTNER_API_SANDBOX_URL}/graphql"),
        ("Local development server", f"{settings.PARTNER_API_LOCAL_URL}/graphql"),
    ]


def limits() -> list[tuple[str, str]]:
    settable = {
        name: variable.meaning
        for name, variable in VARIABLES.items()
        if name.startswith(LIMITS)
    }
    return [
        (meaning, f"{getattr(settings, name):,}")
        for name, meaning in (settable | FIXED_LIMITS).items()
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


def of_sandboxes(schema: GraphQLSchema, extended: GraphQLSchema) -> Section:
    """What only a sandbox has: its mutations, then their types."""
    assert schema.mutation_type is not None
    mutations = [
        made
        for made in operations(extended.mutation_type)
        if made.name not in schema.mutation_type.fields
    ]
    names = sorted(extended.type_map.keys() - schema.type_map.keys())
    types = [entry(extended, extended.type_map[name]) for name in names]
    return Section("Sandbox only", "sandbox", (*mutations, *types))


def address(anchor: str) -> str:
    """Where an anchor of the reference stands, such as `Issuer.slug`."""
    first, _, second = anchor.partition(".")
    name = f"{first}.{second.partition('.')[0]}" if first in PARTED else first
    return f"/docs/schema/{name}" + (f"#{anchor}" if anchor != name else "")


def is_of_connections(type_: GraphQLObjectType) -> bool:
    return type_.name.endswith(("Connection", "Edge")) or type_.name == "PageInfo"


def operations(root: GraphQLObjectType | None) -> tuple[Entry, ...]:
    if root is None:
        return ()
    return tuple(
        Entry(
            anchor=f"{root.name}.{name}",
            name=name,
            description=described(field),
            type=reference(field.type),
            deprecated=field.deprecation_reason,
            members=arguments(f"{root.name}.{name}", field),
            exchange=of_operations().get(name),
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
        description=text(type_.description),
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
            yield Member(
                anchor, name, text(value.description), value.deprecation_reason
            )
    elif isinstance(type_, GraphQLInputObjectType):
        for name, field in type_.fields.items():
            yield input_value(f"{type_.name}.{name}", name, field)
    elif isinstance(type_, GraphQLObjectType | GraphQLInterfaceType):
        for name, output in type_.fields.items():
            anchor = f"{type_.name}.{name}"
            yield Member(
                anchor,
                name,
                described(output),
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
        text(value.description),
        value.deprecation_reason,
        reference(value.type),
        default,
    )


def reference(type_: Any) -> TypeReference:
    name = get_named_type(type_).name
    before, _, after = str(type_).partition(name)
    return TypeReference(before, name, after)


def described(field: GraphQLField) -> SafeString:
    """A field's description, with its own cost where it has one."""
    cost: Cost | None = field.extensions.get("cost")
    points = own_points(cost) if cost else 0
    told = f" Costs {points} points." if points else ""
    return text(f"{cleandoc(field.description or '')}{told}")


def text(description: str | None) -> SafeString:
    """A description as HTML, `such words` set as code."""
    escaped = escape(cleandoc(description or ""))
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))


@dataclass(frozen=True)
class Deprecation:
    """What will be removed, and what to use instead."""

    name: str
    instead: str
    since: date
    removal: date


def deprecations(schema: GraphQLSchema) -> list[Deprecation]:
    """What is marked `@deprecated`, in the order of removal.

    Raises:
        ValueError: a reason is not as DEPRECATED has it, or leaves less than a year.
    """
    marked: list[Entry | Member] = []
    for section in sections(schema):
        for entry in section.entries:
            marked += [entry, *entry.members]
            marked += [a for member in entry.members for a in member.arguments]
    found = [deprecation(m.anchor, m.deprecated) for m in marked if m.deprecated]
    return sorted(found, key=attrgetter("removal", "name"))


def deprecation(name: str, reason: str) -> Deprecation:
    written = DEPRECATED.fullmatch(reason)
    if written is None:
        raise ValueError(
            f"{name} is deprecated for {reason!r}; write what to use instead, then "
            "'Deprecated since 2026-01-31, removed on 2027-01-31.'"
        )
    since, removal = map(date.fromisoformat, (written["since"], written["removal"]))
    if removal < since + NOTICE:
        raise ValueError(f"{name} is removed within a year of its deprecation.")
    return Deprecation(name, written["instead"], since, removal)


def errors() -> list[PublishedError]:
    """Every code that is published, from the classes that carry them, by code.

    All of them are loaded once the routes are, which lead to all code that raises.
    """
    found = {
        INTERNAL_SERVER_ERROR: PublishedError(
            INTERNAL_SERVER_ERROR,
            (EXECUTED, 500),
            MASKED,
            ("an internal fault",),
            "Send it again, with the same `Idempotency-Key` for a mutation.",
        )
    }
    for kind in subclasses(PartnerAPIError):
        # A class without a code of its own only groups others.
        if "code" not in vars(kind):
            continue
        known = found.get(kind.code, PublishedError(kind.code, (), "", (), ""))
        found[kind.code] = PublishedError(
            kind.code,
            tuple(sorted({*known.statuses, getattr(kind, "status", EXECUTED)})),
            " ".join(f"{known.plain} {kind.__doc__ or ''}".split()),
            (*known.examples, kind.example),
            f"{known.remedy} {kind.remedy}".strip(),
        )
    return sorted(found.values(), key=attrgetter("code"))


def subclasses(kind: type[PartnerAPIError]) -> Iterator[type[PartnerAPIError]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from subclasses(subclass)
