"""How migrations change tables that requests use meanwhile.

A migration that waits for a table's lock blocks every later request for the table. So
it waits for LOCK_SECONDS at most, and tries again later.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import sleep
from typing import Any, TypeVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.operations import RunPython, RunSQL
from django.db.migrations.operations.base import Operation
from psycopg.errors import DeadlockDetected, LockNotAvailable

LOCK_SECONDS = 0.5
PAUSE_SECONDS = 2.0
MOST_TRIES = 150

Done = TypeVar("Done")


class StillLocked(Exception):
    """Others were in the way of every attempt; the message says of what."""


def again_while_locked(
    attempt: Callable[[], Done], told: Callable[[str], object] = lambda text: None
) -> Done:
    """Repeat an attempt until nothing blocks it, MOST_TRIES times at most.

    The callback gets what blocks it.

    Raises:
        StillLocked
    """
    said = ""
    for _ in range(MOST_TRIES):
        try:
            return attempt()
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                raise
            said = str(error).splitlines()[0]
        told(said)
        sleep(PAUSE_SECONDS)
    raise StillLocked(said)


@contextmanager
def waiting(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """Limit statements' waits for locks to so many seconds; 0: no limit."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        [(usual,)] = cursor.fetchall()
        cursor.execute("SELECT set_config('lock_timeout', %s, FALSE)", [f"{seconds} s"])
    is_inside = connection.in_atomic_block
    try:
        yield
    finally:
        if connection.in_atomic_block and not is_inside:
            # Django leaves the transaction of a migration whose last statements fail.
            connection.close()
            del connections[connection.alias]
        else:
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, FALSE)", [usual])


class AddIndexBeside(AddIndexConcurrently):  # type: ignore[misc]
    """Builds an index while others write; one that is there already stays.

    An attempt that was ended leaves an index that is of no use, and is dropped here.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        forwards = super().database_forwards
        if schema_editor.collect_sql:
            forwards(app_label, schema_editor, from_state, to_state)
            return
        # It waits for those who have written already, and no one waits for it.
        with waiting(schema_editor.connection, 0):
            with schema_editor.connection.cursor() as cursor:
                cursor.execute(IS_VALID, [self.index.name])
                found = cursor.fetchall()
            if found == [(True,)]:
                return
            if found:
                name = schema_editor.quote_name(self.index.name)
                schema_editor.execute(f"DROP INDEX CONCURRENTLY {name}")
            forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        with waiting(schema_editor.connection, 0):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class DropIndexBeside(RunSQL):
    """Drops an index while others write; `on` is what it was of, to build it again.

    For an index that Django makes by itself, beside a unique one or for a foreign key,
    and that no model names.
    """

    def __init__(
        self, name: str, on: str, state_operations: Sequence[Operation] = ()
    ) -> None:
        super().__init__(
            f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {on}",
            [*state_operations],
        )

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        # It waits for those who use the table already, and no one waits for it.
        with waiting(schema_editor.connection, 0):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        with waiting(schema_editor.connection, 0):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


IS_VALID = """
    SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('public.' || %s)
"""


KEYS = 20
"""In a batch: a transaction that adds a row to one of these lists waits for it."""
OPEN = """
    INSERT INTO accounts_total (list, key, number)
    SELECT %(list)s, key, 0 FROM unnest(%(keys)s::uuid[]) AS key ORDER BY key
    ON CONFLICT DO NOTHING
"""
HOLD = """
    SELECT FROM accounts_total WHERE list = %(list)s AND key = ANY(%(keys)s::uuid[])
    ORDER BY key FOR UPDATE
"""


def fill_totals(list_: str, table: str, column: str, keys: str) -> RunPython:
    """Set the totals of a list, of all keys of a query.

    A transaction that has changed a list has added that up when its total is held, and
    the statement that counts then sees it; all others add theirs to it.
    """
    count = f"""
        UPDATE accounts_total t SET number = (
            SELECT count(*) FROM {table} x WHERE x.{column} = t.key)
        WHERE t.list = %(list)s AND t.key = ANY(%(keys)s::uuid[])
    """

    def fill_all(apps: Any, schema_editor: Any) -> None:
        connection = schema_editor.connection
        with connection.cursor() as cursor:
            cursor.execute(keys)
            found = [str(key) for (key,) in cursor.fetchall()]
        for first in range(0, len(found), KEYS):
            batch = {"list": list_, "keys": found[first : first + KEYS]}
            again_while_locked(partial(fill_batch, connection, batch, count))

    return RunPython(fill_all, RunPython.noop)


def fill_batch(
    connection: BaseDatabaseWrapper, batch: dict[str, Any], count: str
) -> None:
    with (
        waiting(connection, LOCK_SECONDS),
        transaction.atomic(connection.alias),
        connection.cursor() as cursor,
    ):
        for statement in (OPEN, HOLD, count):
            cursor.execute(statement, batch)


def refuse_without_baseline(apps: Any, schema_editor: Any) -> None:
    """The code of baselines, which `migrate` marks as applied when it loads the text.

    Raises:
        RuntimeError: always; another command has begun with an empty database
    """
    raise RuntimeError("An empty database is installed by `manage.py migrate`.")
