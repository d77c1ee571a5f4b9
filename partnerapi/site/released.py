"""The schema of the last release, and what a change would take from its clients."""

from collections.abc import Iterator
from datetime import date
from difflib import ndiff
from typing import Any

from django.conf import settings
from graphql import (
    REMOVE,
    DocumentNode,
    GraphQLScalarType,
    GraphQLSchema,
    NamedTypeNode,
    Node,
    TypeDefinitionNode,
    Visitor,
    build_ast_schema,
    find_breaking_changes,
    find_dangerous_changes,
    get_directive_values,
    parse,
    print_ast,
    visit,
)
from graphql.type import GraphQLDeprecatedDirective
from graphql.utilities.find_breaking_changes import DangerousChangeType

from partnerapi.site.reference import DEPRECATED

RELEASED_FILE = settings.BASE_DIR / "partnerapi" / "released.graphql"
"""Without descriptions, on which no client depends."""


class Undescribed(Visitor):
    def enter(self, node: Any, *_: object) -> None:
        if hasattr(node, "description"):
            node.description = None


class WithoutDue(Visitor):
    """Removes what is deprecated and whose day of removal has come."""

    def __init__(self, today: date) -> None:
        super().__init__()
        self.today = today

    def leave(self, node: Node, *_: object) -> Any:
        if not hasattr(node, "directives"):
            return None
        given = get_directive_values(GraphQLDeprecatedDirective, node)  # type: ignore[arg-type]
        written = given and DEPRECATED.fullmatch(given["reason"])
        if written and date.fromisoformat(written["removal"]) <= self.today:
            return REMOVE
        return None


class Named(Visitor):
    """Collects the types that fields and arguments name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def enter_named_type(self, node: NamedTypeNode, *_: object) -> None:
        self.found.add(node.name.value)


def strip_descriptions(sdl: str) -> str:
    document = parse(sdl, no_location=True)
    return print_ast(visit(document, Undescribed())) + "\n"


def named_types(document: DocumentNode) -> set[str]:
    visitor = Named()
    visit(document, visitor)
    return visitor.found


def without_due(document: DocumentNode, today: date) -> DocumentNode:
    """Also without the types that only due members name."""
    left = visit(document, WithoutDue(today))
    while gone := named_types(document) - named_types(left):
        kept = [
            each
            for each in left.definitions
            if not isinstance(each, TypeDefinitionNode) or each.name.value not in gone
        ]
        document, left = left, DocumentNode(definitions=kept)
    return left


def find_breaks(released: str, new: GraphQLSchema, today: date) -> Iterator[str]:
    """What clients of the release would miss, a sentence each.

    A member that the release marks as deprecated may go from its day of removal on.
    """
    document = parse(released)
    old = build_ast_schema(without_due(document, today))
    yield from (change.description for change in find_breaking_changes(old, new))
    for change in find_dangerous_changes(old, new):
        if change.type == DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE:
            yield change.description
    for name, type_ in old.type_map.items():
        if isinstance(type_, GraphQLScalarType) and name in new.type_map:
            was, became = (
                getattr(each, "specified_by_url", None)
                for each in (type_, new.type_map[name])
            )
            if was != became:
                yield f"{name} is specified by {became}, no longer by {was}."


def difference(released: str, new: str) -> str:
    """What a schema adds to the released one and takes from it, by definition.

    Each line begins with a plus or a minus; of a definition that stays, the first line
    and those that differ are shown.
    """
    old, now = definitions(released), definitions(new)
    found: list[str] = []
    for name in dict.fromkeys((*now, *old)):
        was, becomes = old.get(name, []), now.get(name, [])
        changed = [each for each in ndiff(was, becomes) if each[0] in "+-"]
        if changed and was and becomes:
            changed.insert(0, f"  {becomes[0]}")
        found += [*changed, ""] if changed else []
    return "\n".join(found)


def definitions(sdl: str) -> dict[str, list[str]]:
    """The lines of each definition, by its name."""
    return {
        each.name.value: print_ast(each).splitlines()
        for each in parse(sdl, no_location=True).definitions
        if isinstance(each, TypeDefinitionNode)
    }
