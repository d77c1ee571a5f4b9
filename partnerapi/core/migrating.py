"""How migrations change tables that requests use meanwhile.

A migration that waits for a table's lock blocks every later request for the table. So
it waits for LOCK_SECONDS at most, and tries again later.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any, TypeVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.operations import AddField
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


class AddFieldBeside(AddField):
    """Adds a field that may be there already: of an attempt that was ended.

    For migrations with `atomic = False`, which lock one table at a time.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if not self.is_there(to_state.apps, app_label, schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if self.is_there(from_state.apps, app_label, schema_editor):
            super().database_backwards(app_label, schema_editor, from_state, to_state)

    def is_there(self, apps: Any, app_label: str, schema_editor: Any) -> bool:
        meta = apps.get_model(app_label, self.model_name)._meta
        column = meta.get_field(self.name).column
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(HAS_COLUMN, [meta.db_table, column])
            [(found,)] = cursor.fetchall()
        return bool(found)


HAS_COLUMN = """
    SELECT EXISTS (SELECT FROM pg_attribute
        WHERE attrelid = to_regclass('public.' || %s) AND attname = %s)
"""


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


IS_VALID = """
    SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('public.' || %s)
"""
