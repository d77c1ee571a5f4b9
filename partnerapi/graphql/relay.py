"""Relay's parts of a schema: ids, Node, types over models, connections."""

import re
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

import graphene
from graphene.relay.connection import ConnectionOptions
from graphene_django import DjangoObjectType

from partnerapi.graphql.cost import COUNTED, LIST, OBJECT, Cost, Field
from partnerapi.graphql.cursors import encode_cursors
from partnerapi.graphql.pages import Page

GLOBAL_ID = re.compile(
    r"([A-Za-z]+)\|([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)


class GlobalID(NamedTuple):
    type_name: str
    key: str


def parse_id(text: str) -> GlobalID | None:
    """Split `<TypeName>|<uuid>`; None for a text of another form."""
    match = GLOBAL_ID.fullmatch(text)
    return GlobalID(*match.groups()) if match else None


def key_of(text: str | None, type_name: str) -> str | None:
    """The uuid in an id of this type; None: the id is of another type, or malformed."""
    parsed = parse_id(text) if text is not None else None
    return parsed.key if parsed and parsed.type_name == type_name else None


class Node(graphene.Interface):
    """An object that can be read again by its id."""

    id = graphene.ID(
        required=True,
        description="Identifier: the type's name and a UUID, joined by a pipe.",
    )

    def resolve_id(rows: list[Any], info: Any) -> list[str]:
        label = f"{rows[0].graphql_type}|"
        return [label + row.id for row in rows]


class ModelType(DjangoObjectType):
    """A type over a model; its parents are rows that `pages` has read."""

    class Meta:
        abstract = True

    # Rows are tuples, not instances of models, and name their types themselves.
    is_type_of = None
    resolve_id = Node.resolve_id


def extend(type_: type[graphene.ObjectType], **fields: graphene.Field) -> None:
    """Add fields to a type, as GraphQL's `extend type` does, before a schema is made.

    A later app adds what it knows of an earlier app's type. Each field has a resolver.
    """
    type_._meta.fields.update(fields)


def enumeration(
    choices: type[Enum], name: str, description: str, meanings: dict[Any, str]
) -> Any:
    """An enum over choices of a model; each value has its meaning for partners."""
    return graphene.Enum.from_enum(
        choices,
        name=name,
        description=lambda value: description if value is None else meanings[value],
    )


class PageInfo(graphene.ObjectType):
    """Position of a page in its list; both flags reflect the list as it is now."""

    has_next_page = graphene.Boolean(
        required=True, description="Whether objects follow this page."
    )
    has_previous_page = graphene.Boolean(
        required=True, description="Whether objects precede this page."
    )
    start_cursor = graphene.String(
        description="Cursor of the first object: pass it as `before` for the previous "
        "page. Null for an empty page."
    )
    end_cursor = graphene.String(
        description="Cursor of the last object: pass it as `after` for the next page. "
        "Null for an empty page."
    )

    def resolve_start_cursor(pages: list[Page], info: Any) -> list[str | None]:
        return cursors_at(pages, 0)

    def resolve_end_cursor(pages: list[Page], info: Any) -> list[str | None]:
        return cursors_at(pages, -1)


def cursors_at(pages: list[Page], index: int) -> list[str | None]:
    cursors = iter(encode_cursors([page.rows[index] for page in pages if page.rows]))
    return [next(cursors) if page.rows else None for page in pages]


PAGE = Cost(reads=True, page=True)


NULL_ITEMS = "An object nulled by an error is null here and missing in `edges`."
NO_NULL_ITEMS = (
    "Items are non-null: an error in one nulls the nearest nullable object above the "
    "list, or the whole response."
)


class Connection(graphene.relay.Connection):
    """A connection with `nodes` and `totalCount`, its edges and nodes non-null.

    The specification shows two connections whose `nodes` have nullable items: their
    classes set `nullable_nodes = True` in their Meta.
    """

    class Meta:
        abstract = True

    @classmethod
    def __init_subclass_with_meta__(
        cls, node: Any = None, nullable_nodes: bool = False, **options: Any
    ) -> None:
        name = cls.__name__.removesuffix("Connection")
        options.setdefault("description", f"A page of a list of {name}.")
        item = node if nullable_nodes else graphene.NonNull(node)
        meta = ConnectionOptions(cls)
        meta.fields = {
            "page_info": Field(
                PageInfo,
                required=True,
                cost=OBJECT,
                description="Position of the page in its list.",
            ),
            "nodes": Field(
                graphene.NonNull(graphene.List(item)),
                cost=LIST,
                description="The objects of this page, without their cursors. "
                + (NULL_ITEMS if nullable_nodes else NO_NULL_ITEMS),
            ),
            "total_count": Field(
                graphene.Int,
                required=True,
                cost=COUNTED,
                description="Exact number of objects in the whole list; counted only "
                "if selected.",
            ),
            "edges": Field(
                graphene.NonNull(
                    graphene.List(graphene.NonNull(edge_of(name, node))),
                ),
                cost=LIST,
                description="The objects of this page, each with its cursor.",
            ),
        }
        super().__init_subclass_with_meta__(
            node=node, strict_types=True, _meta=meta, **options
        )

    def resolve_edges(pages: list[Page], info: Any) -> list[Any]:
        return [page.rows for page in pages]

    def resolve_nodes(pages: list[Page], info: Any) -> list[Any]:
        return [page.rows for page in pages]

    def resolve_page_info(pages: list[Page], info: Any) -> list[Page]:
        return pages


def edge_of(name: str, node: Any) -> type[graphene.ObjectType]:
    """The type of a connection's edges. An edge is a row, of which it has two views."""
    fields = {
        "node": Field(node, required=True, cost=OBJECT, description="The object."),
        "cursor": graphene.String(
            required=True,
            description="Its position in the list: pass it as `after` or `before`.",
        ),
        "resolve_node": resolve_edge_node,
        "resolve_cursor": resolve_edge_cursor,
        "Meta": {"description": f"One `{node.__name__}` of a page, with its cursor."},
    }
    return type(f"{name}Edge", (graphene.ObjectType,), fields)


def resolve_edge_node(rows: list[Any], info: Any) -> list[Any]:
    return rows


def resolve_edge_cursor(rows: list[Any], info: Any) -> list[str]:
    return encode_cursors(rows)


def connection_field(
    connection: type[Connection],
    description: str,
    follows: str | None = None,
    **arguments: Any,
) -> graphene.Field:
    """A non-null field of a connection with the four arguments of Relay's lists.

    `follows` is as in Cost; a list that takes `updated_since` is followed by it.
    """
    if "updated_since" in arguments:
        follows = "updatedSince"
    return Field(
        connection,
        required=True,
        cost=replace(PAGE, follows=follows),
        description=description,
        first=graphene.Int(description="Number of objects after `after`, at most 100."),
        last=graphene.Int(
            description="Number of objects before `before`, at most 100."
        ),
        before=graphene.String(description="Only objects before this cursor."),
        after=graphene.String(description="Only objects after this cursor."),
        **arguments,
    )
