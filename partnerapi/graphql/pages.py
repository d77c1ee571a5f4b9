"""Reads rows for resolvers: a keyset page for each of many parents, or rows by ids."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import connection, models
from psycopg import Cursor

from partnerapi.core.database import PlannedAnew, array_text, fetch
from partnerapi.core.errors import BadUserInput, InvalidCursor
from partnerapi.graphql.cursors import belongs, decode_cursor, foreign
from partnerapi.graphql.statements import (
    OrderedList,
    Shape,
    count_statement,
    holds_uuids,
    page_statement,
    placed_statement,
    primary_key,
    rows_statement,
)

Place = TypeVar("Place", bound=Sequence[Any])
ROOT_PAGE_SIZE = 100
NESTED_PAGE_SIZE = 20


@dataclass(slots=True)
class Page:
    """The page of one parent."""

    rows: list[Any]
    has_next_page: bool
    has_previous_page: bool
    total_count: int | None = None


class Window(NamedTuple):
    """The part of a list that the four arguments of a connection ask for.

    Relay's algorithm cuts the list at the cursors, takes the first `size` rows in the
    direction of reading, and of those the last `keep`.
    """

    backward: bool
    size: int
    keep: int
    after: list[str] | None
    before: list[str] | None


def read_pages(
    of: OrderedList,
    info: Any,
    rows: models.QuerySet[Any],
    parents: Sequence[str] | None = None,
    known: Callable[[], list[int]] | None = None,
    **arguments: Any,
) -> list[Any]:
    """One page for each id in `parents`, in one statement; at the root, one page.

    The conditions come from `rows`, the columns from the document, the order from the
    list. `arguments` are the connection's first, last, before and after. Both flags of
    a page are exact. Totals are counted only if the document selects them, in one more
    statement for all parents; `known` reads them instead where they are kept. Those of
    a transaction under way are counted: what is kept is added up at its commit.

    Raises:
        BadUserInput: `first` or `last` is not from 0 to the maximum.
        InvalidCursor: a cursor is damaged, or of another list. Of several parents,
            those whose it is not have the error in the place of their page.
    """
    selection = info.selection
    window = make_window(of, info, parents, **arguments)
    strangers = others(parents, arguments.get("after"), arguments.get("before"))
    if parents is not None and strangers:
        own = [parent for parent in parents if parent not in strangers]
        theirs = iter(read_pages(of, info, rows, own, **arguments) if own else [])
        return [strangers.get(parent) or next(theirs) for parent in parents]
    count = 1 if parents is None else len(parents)
    try:
        condition, values = compile_condition(rows)
    except EmptyResultSet:
        return [Page([], False, False, 0) for _ in range(count)]
    columns = (
        selection.columns(of.graphql_type, "edges", "node")
        | selection.columns(of.graphql_type, "nodes")
        | {of.identity}
    )
    after, before = window.after, window.before
    limit = window.size + 1
    shape = Shape(
        of,
        columns,
        condition,
        window.backward,
        bool(after),
        bool(before),
        parents is not None
        and (selection.selects("edges") or selection.selects("pageInfo")),
        limit if parents is None else None,
    )
    keys = [] if parents is None else [array_text(parents)]
    # A plan for any values would read a whole table for the few rows that have some.
    kind = PlannedAnew if parents is None and values else Cursor
    found = fetch(
        page_statement(shape),
        [
            *keys,
            *((*values, *after) if after else ()),
            *((*values, *before) if before else ()),
            *values,
            *(after or ()),
            *(before or ()),
            *([] if parents is None else [limit]),
        ],
        row_class(of.graphql_type, of.name, shape.page_columns, columns),
        kind,
    )
    pages = split(found, window, count)
    if selection.selects("totalCount"):
        if known is not None and not connection.in_atomic_block:
            totals = known()
        else:
            statement = count_statement(of, condition)
            counted = fetch(statement, [*keys, *values], tuple, kind)
            totals = [total for _, total in counted]
        for page, total in zip(pages, totals, strict=True):
            page.total_count = total
    return pages


def read_placed(
    of: OrderedList, info: Any, places: Sequence[Sequence[Any]]
) -> list[Any]:
    """The rows of the list that stand at these places, in order.

    A place holds the row's keys, in the order of the list's, and then its id.
    """
    selection = info.selection
    columns = (
        selection.columns(of.graphql_type, "edges", "node")
        | selection.columns(of.graphql_type, "nodes")
        | {"id"}
    )
    keys = ["|".join(map(str, (place[-1], *place[:-1]))) for place in places]
    return fetch(
        placed_statement(of.model, columns),
        [array_text([place[-1] for place in places]), keys],
        row_class(of.graphql_type, of.name, ("cursor_key",), columns),
    )


class Finder(Protocol[Place]):
    """Finds the places of a list that no condition on its rows gives."""

    def places(
        self,
        after: Place | None = None,
        before: Place | None = None,
        *,
        backward: bool = False,
        inclusive: bool = False,
        limit: int,
    ) -> list[Place]:
        """At most `limit` places between two others, from the end that is asked."""

    def count(self) -> int: ...


def found_page(
    of: OrderedList,
    info: Any,
    found: Finder[Place],
    window: Window,
    after: Place | None,
    before: Place | None,
) -> Page:
    """The page of a window between two places; both flags are exact."""
    places = found.places(
        after, before, backward=window.backward, limit=window.size + 1
    )
    beyond_after = after and found.places(
        before=after, backward=True, inclusive=True, limit=1
    )
    beyond_before = before and found.places(before, inclusive=True, limit=1)
    rows = read_placed(of, info, places)
    page = cut(rows, window, bool(beyond_before), bool(beyond_after))
    if info.selection.selects("totalCount"):
        page.total_count = found.count()
    return page


def read_rows(
    graphql_type: str,
    info: Any,
    rows: Any,
    ids: Sequence[str | None],
    by: str = "id",
) -> list[Any]:
    """For each id, in order, the row that holds it in the column `by`, or None.

    One statement reads all of them. `by` is a unique column of uuids or text. A dry run
    has rows that are not there.
    """
    would_be = info.context.trial or {}
    if would_be:
        rows_of = [would_be.get((graphql_type, key)) for key in ids]
        if None not in rows_of:
            return rows_of
    distinct = list({key for key in ids if key is not None})
    try:
        condition, values = compile_condition(rows)
    except EmptyResultSet:
        distinct = []
    if not distinct:
        return [None] * len(ids)
    columns = info.selection.columns(graphql_type) | {primary_key(rows.model).name, by}
    wanted: Any = distinct
    if holds_uuids(rows.model, by):
        wanted = array_text(distinct)
    found = fetch(
        rows_statement(rows.model, columns, by, condition),
        [wanted, *values],
        row_class(graphql_type, "", (), columns),
    )
    by_key = {getattr(row, by): row for row in found}
    return [by_key.get(key) for key in ids]


def others(
    parents: Sequence[str] | None, after: str | None, before: str | None
) -> dict[str, InvalidCursor]:
    """What is wrong with the cursors for those parents whose they are not."""
    given = {"after": after, "before": before}
    cursors = {name: cursor for name, cursor in given.items() if cursor is not None}
    return {
        parent: foreign(argument=name)
        for parent in parents or ()
        for name, cursor in cursors.items()
        if not belongs(cursor, parent)
    }


def make_window(
    of: OrderedList,
    info: Any,
    parents: Sequence[str] | None = None,
    first: int | None = None,
    last: int | None = None,
    before: str | None = None,
    after: str | None = None,
) -> Window:
    if first is None and last is None:
        first = ROOT_PAGE_SIZE if of.parent is None else NESTED_PAGE_SIZE
    maximum = info.context.largest_page
    for name, size in (("first", first), ("last", last)):
        if size is not None and not 0 <= size <= maximum:
            raise BadUserInput(
                f"`{name}` is {size}; pass 0 to {maximum}.",
                argument=name,
                maximum=maximum,
            )
    sizes = [size for size in (first, last) if size is not None]
    return Window(
        backward=first is None,
        size=sizes[0],
        keep=sizes[-1],
        after=place_of(after, of, parents, "after"),
        before=place_of(before, of, parents, "before"),
    )


def place_of(
    cursor: str | None, of: OrderedList, parents: Sequence[str] | None, argument: str
) -> list[str] | None:
    """The cursor's keys in the order in which the list compares: the id comes last."""
    if cursor is None:
        return None
    try:
        key, *others = decode_cursor(cursor, of.name, of.key_types, parents)
    except InvalidCursor as error:
        error.details["argument"] = argument
        raise
    return others if of.unique else [*others, key]


def split(found: list[Any], window: Window, count: int) -> list[Page]:
    """Make the page of each parent; `found` has one row more than a page holds."""
    dealt: list[list[Any]] = [[] for _ in range(count)]
    for row in found:
        dealt[row[0] - 1].append(row)
    pages = []
    for rows in dealt:
        more_after, more_before = rows[0].beyond_before, rows[0].beyond_after
        if rows[0].cursor_key is None:
            rows.clear()
        pages.append(cut(rows, window, more_after, more_before))
    return pages


def cut(rows: list[Any], window: Window, more_after: bool, more_before: bool) -> Page:
    """The page of a window; `rows` are one more than its size, from where it begins.

    `more_after` and `more_before` tell what lies beyond the cursors.
    """
    extra = len(rows) > window.size
    del rows[window.size :]
    if window.backward:
        rows.reverse()
        more_before = more_before or extra
    else:
        more_after = more_after or extra
        more_before = more_before or len(rows) > window.keep
        del rows[: max(0, len(rows) - window.keep)]
    return Page(rows, more_after, more_before)


@lru_cache(maxsize=500)
def row_class(
    graphql_type: str, list_name: str, before: tuple[str, ...], columns: frozenset[str]
) -> type:
    """A class of tuples whose items are also attributes, by their columns' names.

    Item 0 is the number of the parent, from 1. `before` and the sorted columns follow.
    Without a cursor nothing lies beyond it.
    """
    names = (*before, *sorted(columns))
    getters = {name: property(itemgetter(n)) for n, name in enumerate(names, 1)}
    fixed = {
        "__slots__": (),
        "graphql_type": graphql_type,
        "list_name": list_name,
        "parent_key": None,
        "beyond_after": False,
        "beyond_before": False,
        "positions": {name: n for n, name in enumerate(names, 1)},
    }
    return type(graphql_type, (tuple,), fixed | getters)


def compile_condition(rows: models.QuerySet[Any]) -> tuple[str, tuple[Any, ...]]:
    """The conditions of a queryset as SQL over its own table, and their values.

    Raises:
        EmptyResultSet: no row can fulfil the conditions.
    """
    if not rows.query.where:
        return "TRUE", ()
    compiler = rows.query.get_compiler(connection=connection)
    try:
        condition, values = compiler.compile(rows.query.where)
    except FullResultSet:
        return "TRUE", ()
    return condition, tuple(values)
