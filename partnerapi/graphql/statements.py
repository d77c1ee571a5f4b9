"""The SQL of pages: lists and their statements, composed once for each shape.

Nothing else writes this SQL. A statement serves all parents of a level, reads only the
columns that the document needs, and gives ids and times as text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import models
from psycopg import sql

from partnerapi.graphql.cursors import OrderKeyType


class OrderKey(NamedTuple):
    """An SQL expression that orders rows: over the list's own table, never null.

    A nullable column takes two keys: `(x IS NULL)::integer` and `coalesce(x, …)`.
    At most one key of a list is text: the last.
    """

    expression: str
    type: OrderKeyType


@dataclass(frozen=True, eq=False)
class OrderedList:
    """What a connection lists: rows, their GraphQL type, their order.

    name: binds cursors to the list.
    keys, descending: rows are ordered by the keys, then by id, all in one direction:
        one comparison of rows finds where a page begins.
    unique: no two rows of a list have the same keys; an index without the id serves.
    parent: the column that holds the parent's id; None: the list is at the root.
    identity: what a cursor holds in addition to the keys: a uuid, or a number.
    count: SQL that reads how many rows the parent `p.key` has, instead of counting.
    """

    name: str
    graphql_type: str
    model: type[models.Model]
    keys: tuple[OrderKey, ...]
    descending: bool = False
    unique: bool = False
    parent: str | None = None
    identity: str = "id"
    count: str | None = None

    @property
    def key_types(self) -> list[OrderKeyType]:
        return [type_of(self.model, self.identity), *(key.type for key in self.keys)]


class Shape(NamedTuple):
    """All that decides the text of a page's statement.

    tells_parent: whether each row brings its parent's id, for its cursor.
    limit: how many rows are read at most; None: a parameter tells it. Where PostgreSQL
        knows the number it plans a statement once, and not for each page: for a list at
        the root planning takes longer than reading does.
    """

    of: OrderedList
    columns: frozenset[str]
    condition: str
    backward: bool
    after: bool
    before: bool
    tells_parent: bool
    limit: int | None

    @property
    def page_columns(self) -> tuple[str, ...]:
        """A line's data about its page, before the columns of its row."""
        told = {
            "beyond_after": self.after,
            "beyond_before": self.before,
            "parent_key": self.tells_parent,
        }
        return (*(name for name, given in told.items() if given), "cursor_key")


def concrete_field(model: type[models.Model], name: str) -> Any:
    """The field of a column, by its name; a foreign key also by its column's name."""
    return model._meta.get_field(name)


def holds_uuids(model: type[models.Model], name: str) -> bool:
    field = concrete_field(model, name)
    return isinstance(getattr(field, "target_field", field), models.UUIDField)


def type_of(model: type[models.Model], name: str) -> OrderKeyType:
    """The type of a column of ids: a uuid, or a number."""
    return "uuid" if holds_uuids(model, name) else "bigint"


def primary_key(model: type[models.Model]) -> Any:
    return model._meta.pk


class Columns:
    """Columns of a model as SQL; a path such as `owner__lei` joins the tables on it."""

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
        # Answers carry text: to make Python's values would cost more than the query.
        if isinstance(stored, models.UUIDField | models.DateTimeField):
            return sql.SQL("{}::text").format(column)
        return column

    def select_list(self, paths: Iterable[str]) -> sql.Composable:
        return sql.SQL(", ").join(
            sql.SQL("{} AS {}").format(self.expression(path), sql.Identifier(path))
            for path in sorted(paths)
        )

    def source(self) -> sql.Composable:
        """The table with the joins of all expressions so far."""
        return sql.SQL("{}{}").format(self.table, sql.SQL("").join(self.joins.values()))


@lru_cache(maxsize=500)
def page_statement(shape: Shape) -> str:
    """For each parent: whether rows lie beyond a cursor, and a page and one row.

    A parent without rows has one line of nulls. Parameters: the parents' ids; for each
    cursor that is given, conditions and cursor; then conditions, cursors, and the limit
    where the shape has none.
    """
    of = shape.of
    columns = Columns(of.model)
    identity = sql.SQL("{}.{}").format(columns.table, sql.Identifier(of.identity))
    keys = [sql.SQL(key.expression) for key in of.keys]
    listed = columns.select_list(shape.columns)
    cursor_key = sql.SQL(" || '|' || ").join(
        sql.SQL("({})::text").format(key) for key in (identity, *keys)
    )
    placed: list[tuple[sql.Composable, str]] = [
        (sql.SQL(key.expression), key.type) for key in of.keys
    ]
    if not of.unique:
        placed.append((identity, type_of(of.model, of.identity)))
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

    # In a join, or PostgreSQL would ask again for each row of the page. In order, or a
    # planner that expects many rows might read the whole table to find the first.
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
            "SELECT p.n, {there}{parent}page.* FROM {parents}{beyond}"
            " LEFT JOIN LATERAL (SELECT {cursor_key} AS cursor_key, {listed}"
            " FROM {source} WHERE {condition} ORDER BY {order} LIMIT {limit})"
            " AS page ON TRUE"
        )
        .format(
            there=sql.SQL("").join(
                sql.SQL("{}.there IS TRUE, ").format(sql.Identifier(name))
                for name, given, _, _ in cursors
                if given
            ),
            parent=sql.SQL("p.key::text, " if shape.tells_parent else ""),
            parents=parents_of(of),
            beyond=sql.SQL("").join(beyond),
            cursor_key=cursor_key,
            listed=listed,
            source=columns.source(),
            condition=sql.SQL(" AND ").join([condition, *cuts]),
            order=order("DESC" if of.descending != shape.backward else "ASC"),
            limit=sql.SQL("%s" if shape.limit is None else str(shape.limit)),
        )
        .as_string()
    )


@lru_cache(maxsize=500)
def placed_statement(model: Any, paths: frozenset[str]) -> str:
    """The rows of some ids, in their order, each with the keys of its cursor.

    Parameters: the ids, and the cursors' keys.
    """
    columns = Columns(model)
    listed = columns.select_list(paths)
    return (
        sql.SQL(
            "SELECT 1, p.cursor_key, {} FROM"
            " unnest(%s::uuid[], %s::text[]) WITH ORDINALITY AS p(key, cursor_key, n)"
            " JOIN {} ON {}.id = p.key{} ORDER BY p.n"
        )
        .format(
            listed,
            columns.table,
            columns.table,
            sql.SQL("").join(columns.joins.values()),
        )
        .as_string()
    )


@lru_cache(maxsize=500)
def count_statement(of: OrderedList, condition: str) -> str:
    """For each parent, in order: how many rows its list has."""
    if of.count is not None:
        return (
            sql.SQL("SELECT p.n, ({}) FROM {} ORDER BY p.n")
            .format(sql.SQL(of.count), parents_of(of))
            .as_string()
        )
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


@lru_cache(maxsize=500)
def rows_statement(model: Any, paths: frozenset[str], by: str, condition: str) -> str:
    columns = Columns(model)
    listed = columns.select_list(paths)
    return (
        sql.SQL("SELECT 0, {} FROM {} WHERE {}.{} = ANY(%s::{}) AND ({})")
        .format(
            listed,
            columns.source(),
            columns.table,
            sql.Identifier(by),
            sql.SQL("uuid[]" if holds_uuids(model, by) else "text[]"),
            sql.SQL(condition),
        )
        .as_string()
    )


def parents_of(of: OrderedList) -> sql.Composable:
    if of.parent is None:
        return sql.SQL("(VALUES (1)) AS p(n)")
    return sql.SQL("unnest(%s::{}[]) WITH ORDINALITY AS p(key, n)").format(
        sql.SQL(type_of(of.model, of.parent))
    )


def list_condition(of: OrderedList, condition: str) -> sql.Composable:
    if of.parent is None:
        return sql.SQL("({})").format(sql.SQL(condition))
    return sql.SQL("{}.{} = p.key AND ({})").format(
        sql.Identifier(of.model._meta.db_table),
        sql.Identifier(of.parent),
        sql.SQL(condition),
    )
