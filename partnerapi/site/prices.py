"""What requests cost, and what they may hold: the tables of `/docs/limits`.

Each number is that of the code which charges it, or refuses what is above it.
"""

from collections import defaultdict
from collections.abc import Iterator

from graphql import GraphQLField, GraphQLObjectType

from marketdata.trading.schema import inputs
from partnerapi.exports.creation import MOST_KEPT
from partnerapi.exports.models import MOST_AT_WORK
from partnerapi.exports.writing import ROWS_PER_POINT
from partnerapi.gateway import answers, bills, requests
from partnerapi.graphql import cost, documents, introspection, limits, pages
from partnerapi.graphql.cost import Cost, holds_list, is_connection
from partnerapi.schema import schema
from partnerapi.site.pages import DOCUMENT_BYTES_PER_POINT

Rows = Iterator[tuple[str, str]]


def prices() -> Rows:
    """The six rules, and the least."""
    yield (
        "an object in the response, other than a connection, an edge and `pageInfo`",
        "1; scalars are free",
    )
    yield (
        "a list",
        "its items. The number you ask for is held back: `first` or `last` "
        f"(default {pages.ROOT_PAGE_SIZE} at the root, {pages.NESTED_PAGE_SIZE} "
        "below it), or the length of `ids`. Items that do not exist are given back",
    )
    yield (
        "a field that reads something of its own (see below)",
        f"{cost.READ} in each place of the document, once for all rows",
    )
    yield (
        "a mutation, even if refused",
        f"{cost.MUTATION_POINTS}; its payload is an object, too",
    )
    yield (
        "a check, or a mutation that is only tried",
        f"{cost.CHECK_POINTS}",
    )
    yield "a `totalCount` or `holderCount`", f"{cost.TOTAL}"
    yield (
        f"each kilobyte that the body begins beyond the first {bills.FREE_KILOBYTES}",
        "1",
    )
    yield "any request", f"no less than {cost.LEAST}, to which its kilobytes are added"
    yield (
        "an empty page of `events`, or of a root list with `updatedSince`, without "
        "`totalCount`",
        f"{cost.EMPTY}",
    )


def reads() -> Rows:
    """The fields that read something of their own, by their types."""
    by_type: dict[str, list[str]] = defaultdict(list)
    for path, field in fields_with_cost():
        if field.extensions["cost"].reads:
            type_, name = path.split(".")
            by_type[type_].append(name)
    for type_, names in by_type.items():
        yield f"`{type_}`", name_list(names)
    yield "any type", "`__schema`, `__type`"


def open_lists() -> Rows:
    """Lists whose number no argument gives, with the most items that they have."""
    for path, field in fields_with_cost():
        price: Cost = field.extensions["cost"]
        if not price.length and holds_list(field.type):
            yield f"`{path}`", "any number" if price.most is None else f"{price.most:,}"


def fields_with_cost() -> Iterator[tuple[str, GraphQLField]]:
    """The fields that have a cost, `Query` and `Mutation` first, with their names."""
    types = [
        type_
        for type_ in schema.type_map.values()
        if isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__")
    ]
    roots = (schema.query_type, schema.mutation_type)
    for type_ in sorted(types, key=lambda t: (t not in roots, t.name)):
        if not is_connection(type_):
            for name, field in type_.fields.items():
                if "cost" in field.extensions:
                    yield f"{type_.name}.{name}", field


def name_list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def other_prices() -> Rows:
    """What is refused, or is no query, and its points."""
    yield (
        "a refused document, body, header or key",
        f"{cost.LEAST} and its kilobytes, at most {bills.MOST_REFUSED_COST:,}",
    )
    yield (
        "rows of an [export](exports.md), charged as they are written",
        f"1 for each {ROWS_PER_POINT}",
    )
    yield (
        "a document or image",
        f"1, and 1 for each {DOCUMENT_BYTES_PER_POINT:,} bytes sent",
    )
    yield "a download of an export", "1, from the address's budget"


def most() -> Rows:
    """The limits, with their values; settings are documented elsewhere."""
    below: dict[int, list[str]] = defaultdict(list)
    assert schema.mutation_type is not None
    for name, field in schema.mutation_type.fields.items():
        price: Cost = field.extensions["cost"]
        if price.most_below is not None:
            below[price.most_below].append(name)
    for points, names in below.items():
        yield (
            f"points of the selection of {name_list(names)}",
            f"{points}",
        )
    yield "orders of `placeOrders`", f"{inputs.MOST_ORDERS}"
    yield "root fields of a mutation", f"{limits.MAX_MUTATIONS}"
    yield "`__schema` and `__type` in a document", f"{limits.MAX_INTROSPECTIONS}"
    yield "fields that introspections return", f"{introspection.MAX_FIELDS:,}"
    yield "characters of a document", f"{documents.MAX_LENGTH:,}"
    yield "characters of an alias", f"{limits.MAX_ALIAS_LENGTH}"
    yield "items and members of all variables", f"{limits.MAX_VALUES:,}"
    yield "characters of an id", f"{limits.MAX_ID_LENGTH}"
    yield "seconds that `events` waits for an event", f"{limits.MAX_WAIT}"
    yield "characters of a cursor", f"{limits.MAX_TEXT_LENGTHS['after']:,}"
    yield "characters of another text argument", f"{limits.MAX_TEXT_LENGTH}"
    yield (
        "characters read of `Accept`, `Accept-Encoding` or `Content-Type`",
        f"{requests.MAX_HEADER_LENGTH:,}",
    )
    yield "characters of an error message", f"{answers.MAX_MESSAGE}"
    yield "errors that are listed individually", f"{answers.MAX_ERRORS}"
    yield (
        "[exports](exports.md) of an integration account that are waiting, being "
        "written or available for download",
        f"{MOST_KEPT}",
    )
    yield (
        "exports of an integration account written at the same time",
        f"{MOST_AT_WORK}",
    )
