"""What requests cost, and what they may hold: the tables of `/docs/limits`.

Each number is that of the code which charges it, or refuses what is above it.
"""

from collections import defaultdict
from collections.abc import Iterator

from graphql import GraphQLField, GraphQLObjectType, is_leaf_type

from issuers.schema import captable, events, holders, holdings
from marketdata.trading.schema import inputs, mutations
from partnerapi.exports.creation import MOST_KEPT
from partnerapi.exports.models import MOST_AT_WORK
from partnerapi.exports.writing import ROWS_PER_POINT
from partnerapi.gateway import answers, bills, requests
from partnerapi.graphql import cost, documents, introspection, least, limits, pages
from partnerapi.graphql.cost import Cost, is_connection
from partnerapi.schema import schema
from partnerapi.site.pages import DOCUMENT_BYTES_PER_POINT

Rows = Iterator[tuple[str, str]]


def prices() -> Rows:
    """What is selected, and its points."""
    yield "a scalar", "0"
    yield "an object", f"{cost.OBJECT.points}, plus the selection of it"
    yield (
        "a connection",
        "its page size times the selection of a row. A page has "
        f"{pages.ROOT_PAGE_SIZE} rows at the root and {pages.NESTED_PAGE_SIZE} below "
        "it, unless `first` or `last` say otherwise",
    )
    yield "`totalCount` of a connection at the root", f"{cost.ROOT_COUNT_COST}"
    yield (
        f"scalars of one object, beyond {cost.FREE_LEAVES}",
        f"1 for each {cost.LEAVES_PER_POINT}",
    )
    yield (
        "`__schema` or `__type`",
        f"1 for each {introspection.FIELDS_PER_POINT} fields that it returns, at "
        f"least {cost.INTROSPECTION_COST}",
    )
    told: dict[str, list[str]] = defaultdict(list)
    for name, field in fields_with_cost():
        if formula := formula_of(field):
            told[formula].append(name)
    assert schema.mutation_type is not None
    mutations = [f"Mutation.{name}" for name in schema.mutation_type.fields]
    for formula, names in told.items():
        is_any = names == mutations
        yield (
            "a mutation, even if refused" if is_any else name_list(names),
            formula,
        )


def formula_of(field: GraphQLField) -> str | None:
    """What is particular about a price; None: it is that of any object or list."""
    price: Cost = field.extensions["cost"]
    each = "the selection of it"
    if price.times:
        each = f"`{price.times}` times {each}, at most {price.most} times"
    elif price.length:
        return f"the selection of an item, once for each of `{price.length}`"
    elif price.items is not None:
        if (price.items, price.beyond) == (1, None):
            return None
        times = "" if price.items == 1 else f"{price.items:,} times "
        text = f"{times}the selection of an item"
        if price.beyond is not None:
            text += (
                f"; again for each {cost.ITEMS_PER_POINT} items beyond {price.beyond:,}"
            )
        return text
    elif price.page or price.points <= cost.OBJECT.points:
        return None
    elif is_leaf_type(bare(field)):
        return f"{price.points}"
    return f"{price.points}, and {each}"


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


def least_prices() -> Rows:
    """What a request holds, and the points of which the sum is the least it costs."""
    figures = [
        name
        for name, field in fields_with_cost()
        if field.extensions["cost"].statements and is_leaf_type(bare(field))
    ]
    yield "the request itself", f"{documents.REQUEST_COST}"
    yield "each field at the root", f"{least.STATEMENT_COST}"
    yield (
        "each argument that narrows a list at the root, such as `search` or `country`",
        f"{least.NARROWING_COST}",
    )
    yield "`totalCount` of a connection at the root", f"{cost.ROOT_COUNT_COST}"
    yield (
        "each lookup below the root except the first: a connection and its "
        "`totalCount`, an object that must be looked up, such as `owner`, `country` "
        f"or `issuer`, and {name_list(figures)}. It counts once for all rows of a "
        "list, and again in each place where a fragment is spread",
        f"{least.STATEMENT_COST}",
    )
    yield (
        "the document",
        f"1 for each {documents.TOKENS_PER_POINT} tokens and each "
        f"{documents.CHARACTERS_PER_POINT} characters",
    )
    yield (
        "the variables",
        f"1 for each {documents.VALUES_PER_POINT} items and members",
    )
    yield "any request", f"at least {documents.LEAST_COST}"


def bare(field: GraphQLField) -> object:
    type_: object = field.type
    return getattr(type_, "of_type", type_)


def late_prices() -> Rows:
    """What is read, and the points that are taken when it is known."""
    beyond = [
        name
        for name, field in fields_with_cost()
        if field.extensions["cost"].beyond is not None
    ]
    yield f"items of {name_list(beyond)} beyond the first", "as above"
    yield (
        "capitalization tables at a `date`, regardless of the number of issuers",
        f"{captable.PAST_COST}",
    )
    yield "a non-empty page of `events`, or their number", f"{events.READING_COST}"
    yield "a page of `holdersConnection`", f"{holders.READING_COST}"
    yield (
        "`holderCount`, or `totalCount` of `holdersConnection`, where users hold "
        "several tokens",
        f"{holders.READING_COST}, and 1 for each {holders.COUNTED_PER_POINT} holders "
        "of single tokens",
    )
    yield (
        "`balances` of holders, `holdings` of accounts, regardless of their number",
        f"{holdings.READING_COST}",
    )
    yield "each order of `placeOrders`", "1"
    yield (
        "orders that `cancelOrders` cancels",
        f"1 for each {mutations.ENDED_PER_POINT}",
    )
    yield (
        "rows of an [export](exports.md), charged as they are written",
        f"1 for each {ROWS_PER_POINT}",
    )


def other_prices() -> Rows:
    """What is refused, or is no query, and its points."""
    most = f"at most {bills.MOST_REFUSED_COST:,}"
    yield (
        "a refused document",
        f"{documents.REFUSED_TIMES} times the cost of its text, and "
        f"{documents.POINTS_PER_ERROR} for each error; at least "
        f"{bills.REFUSED_COST}, {most}",
    )
    yield "a refused body or key", f"{bills.REFUSED_COST}"
    yield "a refused method, `Content-Type` or `Accept`", "1"
    yield (
        f"the bytes of a body beyond the first {bills.BYTES_PER_POINT:,}",
        f"1 for each {bills.BYTES_PER_POINT:,}",
    )
    yield (
        "a document or image",
        f"1, and 1 for each {DOCUMENT_BYTES_PER_POINT:,} bytes sent",
    )
    yield "a download of an export", "1, from the address's budget"


def most() -> Rows:
    """The limits, with their values; settings are documented elsewhere."""
    below: dict[int, list[str]] = defaultdict(list)
    lookups: dict[int, list[str]] = defaultdict(list)
    assert schema.mutation_type is not None
    for name, field in schema.mutation_type.fields.items():
        price: Cost = field.extensions["cost"]
        if price.most_below is not None:
            below[price.most_below].append(name)
        if price.most_statements is not None:
            lookups[price.most_statements].append(name)
    for points, names in below.items():
        yield (
            f"points of the selection of {name_list(names)}",
            f"{points}",
        )
    for count, names in lookups.items():
        yield (
            f"connections, totals and objects in the selection of {name_list(names)}",
            f"{count}",
        )
    yield "orders of `placeOrders`", f"{inputs.MOST_ORDERS}"
    yield "root fields of a mutation", f"{limits.MAX_MUTATIONS}"
    yield "`__schema` and `__type` in a document", f"{limits.MAX_INTROSPECTIONS}"
    yield "fields that introspections return", f"{introspection.MAX_FIELDS:,}"
    yield "characters of a document", f"{documents.MAX_LENGTH:,}"
    yield "characters of an alias", f"{limits.MAX_ALIAS_LENGTH}"
    yield "items and members of all variables", f"{limits.MAX_VALUES:,}"
    yield "characters of an id", f"{limits.MAX_ID_LENGTH}"
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
