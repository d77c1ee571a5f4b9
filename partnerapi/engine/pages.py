"""Rows for the engine: one keyset page for many parents, or rows by their ids.

The one place that writes this SQL. A statement reads only the columns that the
document needs and serves all parents of a level; ids and times arrive as text.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import psycopg
from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import connection, models
from psycopg import sql

from partnerapi.engine.cursors import KeyType, decode_cursor
from partnerapi.engine.errors import BadUserInput

ROOT_PAGE_SIZE = 100
NESTED_PAGE_SIZE = 20


class Key(NamedTuple):
    """An order key: an SQL expression over the list's own table, never null.

    A nullable column takes two keys: `(x IS NULL)::integer` and `coalesce(x, …)`.
    At most one key of a list is text, and it is the last.
    """

    expression: str
    type: KeyType


@dataclass(frozen=True, eq=False)
class List:
    """What a connection lists: rows, their GraphQL type, their order.

    `name` binds cursors to the list. Rows are ordered by `keys`, then by id, all in
    one direction, so that a single row comparison finds where a page begins. Where
    no two rows of a list share their keys, `unique` says so, and an index without
    the id is enough.
    `parent` is the column that holds the parent's id; None: the list is at the root.
    """

    name: str
    graphql_type: str
    model: type[models.Model]
    keys: tuple[Key, ...]
    descending: bool = False
    unique: bool = False
    parent: str | None = None

    @property
    def key_types(self) -> list[KeyType]:
        return ["uuid", *(key.type for key in self.keys)]


@dataclass(slots=True)
class Page:
    """What one parent's connection answers."""

    rows: list[Any]
    has_next_page: bool
    has_previous_page: bool
    total_count: int | None = None


class Window(NamedTuple):
    """The part of a list that a connection's four arguments ask for.

    Relay's algorithm cuts at the cursors, takes the first `size` rows in reading
    direction, and of those the last `keep`.
    """

    backward: bool
    size: int
    keep: int
    after: list[str] | None
    before: list[str] | None


class Shape(NamedTuple):
    """Everything that the text of a page's statement depends on."""

    of: List
    columns: frozenset[str]
    condition: str
    backward: bool
    after: bool
    before: bool


def read_pages(
    of: List,
    info: Any,
    rows: models.QuerySet[Any],
    parents: Sequence[str] | None = None,
    **arguments: Any,
) -> list[Page]:
    """One page for each parent's id, in one statement; at the root, one page.

    `rows` contributes its conditions; columns and order are the document's and the
    list's. `arguments` are the connection's first, last, before and after. The
    page's flags are true in both directions. The total is counted only when it is
    selected, in one more statement for all parents.

    Raises:
        BadUserInput: `first` or `last` outside 0 to the maximum.
        InvalidCursor: a damaged cursor, or one of another list.
    """
    selection = info.selection
    window = make_window(of, **arguments)
    count = 1 if parents is None else len(parents)
    try:
        condition, values = compile_condition(rows)
    except EmptyResultSet:
        return [Page([], False, False, 0) for _ in range(count)]
    columns = (
        selection.columns(of.graphql_type, "edges", "node")
        | selection.columns(of.graphql_type, "nodes")
        | {"id"}
    )
    after, before = window.after, window.before
    shape = Shape(of, columns, condition, window.backward, bool(after), bool(before))
    keys = [] if parents is None else [parents]
    found = fetch(
        page_statement(shape),
        [
            *keys,
            *((*values, *after) if after else ()),
            *((*values, *before) if before else ()),
            *values,
            *(after or ()),
            *(before or ()),
            window.size + 1,
        ],
        row_class(of.graphql_type, of.name, PAGE_COLUMNS, columns),
    )
    pages = split(found, window, count)
    if selection.selects("totalCount"):
        totals = fetch(count_statement(of, condition), [*keys, *values], tuple)
        for page, (_, total) in zip(pages, totals, strict=True):
            page.total_count = total
    return pages


def read_rows(
    graphql_type: str,
    info: Any,
    rows: Any,
    ids: Sequence[str | None],
    by: str = "id",
) -> list[Any]:
    """For each id, in order, the row whose column `by` holds it, or None.

    One statement over the distinct ids; `by` is a unique column of uuids or text.
    """
    distinct = list({key for key in ids if key is not None})
    try:
        condition, values = compile_condition(rows)
    except EmptyResultSet:
        distinct = []
    if not distinct:
        return [None] * len(ids)
    columns = info.selection.columns(graphql_type) | {primary_key(rows.model).name, by}
    found = fetch(
        rows_statement(rows.model, columns, by, condition),
        [distinct, *values],
        row_class(graphql_type, "", (), columns),
    )
    by_key = {getattr(row, by): row for row in found}
    return [by_key.get(key) for key in ids]


def make_window(
    of: List,
    first: int | None = None,
    last: int | None = None,
    before: str | None = None,
    after: str | None = None,
) -> Window:
    if first is None and last is None:
        first = ROOT_PAGE_SIZE if of.parent is None else NESTED_PAGE_SIZE
    maximum = settings.PARTNER_API_MAX_PAGE_SIZE
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
        after=place_of(after, of),
        before=place_of(before, of),
    )


def place_of(cursor: str | None, of: List) -> list[str] | None:
    """The cursor's keys in the order of the list's comparison: the id comes last."""
    if cursor is None:
        return None
    key, *others = decode_cursor(cursor, of.name, of.key_types)
    return others if of.unique else [*others, key]


def split(found: list[Any], window: Window, count: int) -> list[Page]:
    """Deal the rows, one more than asked for to each parent, to their pages."""
    dealt: list[list[Any]] = [[] for _ in range(count)]
    for row in found:
        dealt[row[0] - 1].append(row)
    pages = []
    for rows in dealt:
        more_after, more_before = rows[0].beyond_before, rows[0].beyond_after
        if rows[0].id is None:
            rows.clear()
        extra = len(rows) > window.size
        del rows[window.size :]
        if window.backward:
            rows.reverse()
            more_before = more_before or extra
        else:
            more_after = more_after or extra
            more_before = more_before or len(rows) > window.keep
            del rows[: max(0, len(rows) - window.keep)]
        pages.append(Page(rows, more_after, more_before))
    return pages


PAGE_COLUMNS = ("beyond_after", "beyond_before", "cursor_key")


@lru_cache(maxsize=2000)
def row_class(
    graphql_type: str, list_name: str, before: tuple[str, ...], columns: frozenset[str]
) -> type:
    """A tuple whose items also answer to their columns' names.

    Item 0 is the number of the parent, from 1; `before` and the sorted columns follow.
    """
    names = (*before, *sorted(columns))
    getters = {name: property(itemgetter(n)) for n, name in enumerate(names, 1)}
    fixed = {
        "__slots__": (),
        "graphql_type": graphql_type,
        "list_name": list_name,
        "positions": {name: n for n, name in enumerate(names, 1)},
    }
    return type(graphql_type, (tuple,), fixed | getters)


def fetch(
    statement: str, arguments: list[Any], row: Callable[[Sequence[Any]], Any]
) -> list[Any]:
    connection.ensure_connection()
    # Bound by the server, a statement is planned once and then only executed; Django's
    # own cursors, which it still wraps and counts, bind on the client.
    with connection._prepare_cursor(psycopg.Cursor(connection.connection)) as cursor:
        cursor.execute(statement, arguments)
        cursor.cursor.row_factory = lambda _: row
        rows: list[Any] = cursor.fetchall()
        return rows


def compile_condition(rows: models.QuerySet[Any]) -> tuple[str, tuple[Any, ...]]:
    """A queryset's conditions as SQL over its own table, and their values.

    Raises:
        EmptyResultSet: no row can meet them.
    """
    if not rows.query.where:
        return "TRUE", ()
    compiler = rows.query.get_compiler(connection=connection)
    condition, values = compiler.compile(rows.query.where)
    return condition, tuple(values)


def concrete_field(model: type[models.Model], name: str) -> Any:
    """A field that is a column, by its name or, for a foreign key, its column's."""
    return model._meta.get_field(name)


def primary_key(model: type[models.Model]) -> Any:
    return model._meta.pk


class Columns:
    """Columns of a model as SQL; a path such as `owner__lei` joins what it passes."""

    def __init__(self, model: type[models.Model]) -> None:
        self.table = sql.Identifier(model._meta.db_table)
        self.model = model
        self.joins: dict[str, sql.Composable] = {}

    def expression(self, path: str) -> sql.Composable:
        *relations, name = path.split("__")
        model, table = self.model, self.table
        for n, relation in enumerate(relations, 1):
            field = concrete_field(model, relation)
            alias = "__".join(relations[:n])
            model = field.related_model
            self.joins[alias] = sql.SQL(" LEFT JOIN {} AS {} ON {} = {}").format(
                sql.Identifier(model._meta.db_table),
                sql.Identifier(alias),
                sql.Identifier(alias, primary_key(model).column),
                sql.SQL("{}.{}").format(table, sql.Identifier(field.column)),
            )
            table = sql.Identifier(alias)
        field = concrete_field(model, name)
        column = sql.SQL("{}.{}").format(table, sql.Identifier(field.column))
        stored = getattr(field, "target_field", field)
        # Answers carry their text; Python's values would cost more than the query.
        if isinstance(stored, models.UUIDField | models.DateTimeField):
            return sql.SQL("{}::text").format(column)
        return column

    def listed(self, paths: Iterable[str]) -> sql.Composable:
        return sql.SQL(", ").join(
            sql.SQL("{} AS {}").format(self.expression(path), sql.Identifier(path))
            for path in sorted(paths)
        )

    def source(self) -> sql.Composable:
        """The table and the joins of all expressions so far."""
        return sql.SQL("{}{}").format(self.table, sql.SQL("").join(self.joins.values()))


@lru_cache(maxsize=2000)
def page_statement(shape: Shape) -> str:
    """Per parent: whether rows lie beyond each cursor, and the page with one row more.

    A parent without rows keeps one line of nulls. Parameters: the parents' ids; for
    each cursor given, conditions and cursor; then conditions, cursors, limit.
    """
    of = shape.of
    columns = Columns(of.model)
    identity = sql.SQL("{}.id").format(columns.table)
    keys = [sql.SQL(key.expression) for key in of.keys]
    listed = columns.listed(shape.columns)
    cursor_key = sql.SQL(" || '|' || ").join(
        sql.SQL("({})::text").format(key) for key in (identity, *keys)
    )
    placed = [*zip(keys, (key.type for key in of.keys), strict=True)]
    if not of.unique:
        placed.append((identity, "uuid"))
    place = sql.SQL("({})").format(sql.SQL(", ").join([key for key, _ in placed]))
    cursor = sql.SQL("({})").format(
        sql.SQL(", ").join([sql.SQL("%s::" + type_) for _, type_ in placed])
    )
    later, earlier = ("<", ">") if of.descending else (">", "<")

    def compare(operator: str) -> sql.Composable:
        return sql.SQL("{} " + operator + " {}").format(place, cursor)

    condition = list_condition(of, shape.condition)
    cursors = (
        ("beyond_after", shape.after, later, earlier),
        ("beyond_before", shape.before, earlier, later),
    )
    cuts = [compare(inside) for _, given, inside, _ in cursors if given]

    def order(direction: str) -> sql.Composable:
        return sql.SQL(", ").join(
            [sql.SQL("{} " + direction).format(key) for key, _ in placed]
        )

    # A join, or it would be asked again for each row of the page; in order, or a
    # planner that expects many rows might read the whole table to meet the first.
    beyond = [
        sql.SQL(
            " LEFT JOIN LATERAL (SELECT TRUE FROM {} WHERE {} AND {} ORDER BY {}"
            " LIMIT 1) AS {}(there) ON TRUE"
        ).format(
            columns.table,
            condition,
            compare(f"{outside}="),
            order("DESC" if outside == "<" else "ASC"),
            sql.Identifier(name),
        )
        for name, given, _, outside in cursors
        if given
    ]
    return (
        sql.SQL(
            "SELECT p.n, {after}, {before}, page.* FROM {parents}{beyond}"
            " LEFT JOIN LATERAL (SELECT {cursor_key} AS cursor_key, {listed}"
            " FROM {source} WHERE {condition} ORDER BY {order} LIMIT %s)"
            " AS page ON TRUE"
        )
        .format(
            after=sql.SQL("beyond_after.there IS TRUE" if shape.after else "FALSE"),
            before=sql.SQL("beyond_before.there IS TRUE" if shape.before else "FALSE"),
            parents=parents_of(of),
            beyond=sql.SQL("").join(beyond),
            cursor_key=cursor_key,
            listed=listed,
            source=columns.source(),
            condition=sql.SQL(" AND ").join([condition, *cuts]),
            order=order("DESC" if of.descending != shape.backward else "ASC"),
        )
        .as_string()
    )


@lru_cache(maxsize=2000)
def count_statement(of: List, condition: str) -> str:
    """Per parent, in order: how many rows its list has."""
    return (
        sql.SQL(
            "SELECT p.n, counted.* FROM {} CROSS JOIN LATERAL"
            " (SELECT count(*) FROM {} WHERE {}) AS counted ORDER BY p.n"
        )
        .format(
            parents_of(of),
            sql.Identifier(of.model._meta.db_table),
            list_condition(of, condition),
        )
        .as_string()
    )


@lru_cache(maxsize=2000)
def rows_statement(model: Any, paths: frozenset[str], by: str, condition: str) -> str:
    columns = Columns(model)
    listed = columns.listed(paths)
    is_uuid = isinstance(model._meta.get_field(by), models.UUIDField)
    return (
        sql.SQL("SELECT 0, {} FROM {} WHERE {}.{} = ANY(%s::{}) AND ({})")
        .format(
            listed,
            columns.source(),
            columns.table,
            sql.Identifier(by),
            sql.SQL("uuid[]" if is_uuid else "text[]"),
            sql.SQL(condition),
        )
        .as_string()
    )


def parents_of(of: List) -> sql.Composable:
    if of.parent is None:
        return sql.SQL("(VALUES (1)) AS p(n)")
    return sql.SQL("unnest(%s::uuid[]) WITH ORDINALITY AS p(key, n)")


def list_condition(of: List, condition: str) -> sql.Composable:
    if of.parent is None:
        return sql.SQL("({})").format(sql.SQL(condition))
    return sql.SQL("{}.{} = p.key AND ({})").format(
        sql.Identifier(of.model._meta.db_table),
        sql.Identifier(of.parent),
        sql.SQL(condition),
    )
