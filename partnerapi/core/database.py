"""What Django's database layer does not give: prepared reads, arrays as text."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import IntegrityError, connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.pq import Format

from partnerapi.core.problems import MOST_TOLD, Problem, Problems

TIMESTAMPTZ = psycopg.adapters.types["timestamptz"].oid
LOAD_TIMESTAMPTZ: Any = psycopg.adapters.get_loader(TIMESTAMPTZ, Format.TEXT)
"""psycopg's own, in UTC as the session is: Django's takes 15 times as long."""


class PlannedAnew(psycopg.Cursor[Any]):
    """A cursor whose statements are planned for their arguments each time."""

    def execute(self, *arguments: Any, **options: Any) -> "PlannedAnew":
        return super().execute(*arguments, **options, prepare=False)


def execute(statement: str, arguments: Sequence[Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)


def rows_of(
    statement: str, arguments: Sequence[Any] | Mapping[str, Any] | None = None
) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return cursor.fetchall()


def value_of(statement: str, arguments: Sequence[Any] | None = None) -> Any:
    """The one value of the one row that a statement answers."""
    [(value,)] = rows_of(statement, arguments)
    return value


def delete_in_batches(
    statement: str,
    arguments: Sequence[Any],
    advance: Callable[[int], object] = lambda done: None,
) -> int:
    """Repeat a statement that deletes a batch and answers its size, until that is 0.

    Returns the number of rows. Each batch is committed; `advance` gets its size.
    """
    deleted = 0
    while batch := value_of(statement, arguments):
        deleted += batch
        advance(batch)
    return deleted


def fetch(
    statement: str,
    arguments: list[Any] | dict[str, Any],
    row: Callable[[Sequence[Any]], Any],
    kind: type[psycopg.Cursor[Any]] = psycopg.Cursor,
) -> list[Any]:
    """Every row that a statement answers; `row` makes each of its values."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    # Bound by the server, a statement is planned once and then only executed; Django's
    # own cursors, which it still wraps and counts, bind on the client.
    bound = kind(connection.connection)
    bound.adapters.register_loader(TIMESTAMPTZ, LOAD_TIMESTAMPTZ)
    with connection._prepare_cursor(bound) as cursor:  # type: ignore[attr-defined]
        cursor.execute(statement, arguments)
        cursor.cursor.row_factory = lambda _: row
        rows: list[Any] = cursor.fetchall()
        return rows


@contextmanager
def unshadowed_cursor() -> Iterator[CursorWrapper]:
    """A transaction in which a name is the schema's, whatever the session has made.

    A pooler's session may have tables in `pg_temp` that someone else has left there.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SCHEMA_FIRST)
        yield cursor


SCHEMA_FIRST = "SET LOCAL search_path = pg_catalog, public, pg_temp"


CONFIRM = """CASE WHEN current_setting('synchronous_standby_names') <> ''
    AND NOT pg_is_in_recovery()
    THEN pg_logical_emit_message(TRUE, 'partner-api', '') END"""
"""What a statement selects so that its commit waits until the standbys have all that
was committed before, where there are synchronous ones: it writes a few bytes to the
log. A transaction's id alone would not have it wait."""


def confirm() -> None:
    """Wait until the standbys have all that was committed before this call.

    No transaction is open. Without synchronous standbys nothing is written.

    Raises:
        OutcomeUnknown: the wait was cancelled.
    """
    fetch(f"SELECT {CONFIRM}", [], tuple)


def constraint_of(error: IntegrityError) -> str | None:
    """The constraint that a statement broke; None: a trigger refused it."""
    cause = error.__cause__
    return cause.diag.constraint_name if isinstance(cause, psycopg.Error) else None


def copy(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Write rows with COPY and return how many; they are read once, and none is kept.

    What makes the rows must not use the connection, which is taken meanwhile.
    """
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(statement) as target,
    ):
        count = 0
        for row in rows:
            target.write_row(row)
            count += 1
    return count


@contextmanager
def planned_by_index() -> Iterator[None]:
    """A transaction whose statements find rows by indexes, wherever there is one.

    A session keeps the plans of the checks of foreign keys. One that was made while a
    table was nearly empty would read it from end to end for each of a million rows that
    are written afterwards.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('enable_seqscan')")
        [(before,)] = cursor.fetchall()
        cursor.execute("DISCARD PLANS; SET LOCAL enable_seqscan = off")
        yield
        # A rollback takes the setting back, too.
        if not transaction.get_rollback():
            cursor.execute("SELECT set_config('enable_seqscan', %s, TRUE)", [before])


def make_temporary(table: str, columns: str) -> None:
    """An empty table of this transaction, in which a statement finds a file's rows."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS pg_temp.{table}")
        cursor.execute(f"CREATE TEMPORARY TABLE {table} ({columns}) ON COMMIT DROP")


def broken_rules(statement: str, names: Mapping[str, str]) -> Problems:
    """The problems that a statement finds: rows of a line, a column and a rule.

    `names` is how the file calls the columns, where it calls them otherwise.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH broken (line, field, rule) AS ({statement})"
            " SELECT line, field, rule, count(*) OVER () FROM broken"
            f" ORDER BY line LIMIT {MOST_TOLD}"
        )
        rows = cursor.fetchall()
    problems = Problems(
        Problem(line, names.get(field, field), rule) for line, field, rule, _ in rows
    )
    if rows:
        problems.add_untold(rows[0][3] - len(rows))
    return problems


def array_text(items: Iterable[object]) -> str:
    """PostgreSQL's text of an array of numbers or uuids: `{1,2}`.

    psycopg quotes and converts the items of a list one by one, which takes longer than
    many statements do.
    """
    return f"{{{','.join(map(str, items))}}}"


def array_text_or_null(items: Iterable[object]) -> str:
    """The same of items of which some are NULL."""
    return array_text("NULL" if item is None else item for item in items)
