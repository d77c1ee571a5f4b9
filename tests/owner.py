"""What only the owner of the tables can do, for tests.

Tests run as the application's role. The owner makes and empties their databases, and
tampers where a test asks whether that is found.
"""

import contextlib
from collections.abc import Iterator, Sequence

from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from accounts.models import User
from partnerapi.core.owner import NAMED, OWNER


def become_owner() -> None:
    """Let the usual connection be the owner's."""
    take(OWNER)


def become_application(application: dict[str, str]) -> None:
    """Give the application its rights, and let the usual connection be its again."""
    with connection.cursor() as cursor:
        cursor.execute(ALLOW_TAMPERING)
    if OWNER in connections.settings:
        call_command(
            "grant_application_role", application["USER"], "--apply", verbosity=0
        )
    connection.close()
    connection.settings_dict |= application


def take(alias: str) -> None:
    if alias in connections.settings:
        connection.close()
        connection.settings_dict |= credentials(alias)


def credentials(alias: str) -> dict[str, str]:
    return {name: connections.settings[alias][name] for name in NAMED}


@contextlib.contextmanager
def owner_connection() -> Iterator[BaseDatabaseWrapper]:
    """A connection of the owner, which no trigger holds; tests may not use others."""
    closed_to_tests = connections[OWNER] if OWNER in connections.settings else None
    own = (closed_to_tests or connection).copy()
    if closed_to_tests:
        connections[OWNER] = own
    try:
        with own.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
        yield own
    finally:
        own.close()
        if closed_to_tests:
            connections[OWNER] = closed_to_tests


def tamper(*statements: str, parameters: Sequence[object] = ()) -> None:
    """Run statements as the owner, past the triggers, in the test's transaction."""
    with connection.cursor() as cursor:
        # Checks that wait for the end of the transaction would hold the tables.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for statement in statements:
            bound = sql.SQL(statement.replace("%s", "{}")) if parameters else statement
            if parameters:
                values = [sql.Literal(value) for value in parameters]
                bound = bound.format(*values).as_string(cursor.connection)
            cursor.execute("SELECT tests.tamper(%s)", [bound])


def superuser(email: str, password: str | None = None, **fields: object) -> User:
    """Staff that may do everything, as the owner's command makes them."""
    user = User.objects.create_user(email, password, is_staff=True, **fields)
    tamper(f"UPDATE accounts_user SET is_superuser = TRUE WHERE id = '{user.pk}'")
    user.refresh_from_db()
    return user


# In the databases of tests only.
ALLOW_TAMPERING = """
    CREATE SCHEMA IF NOT EXISTS tests;
    CREATE OR REPLACE FUNCTION tests.tamper(statement text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET session_replication_role = replica SET search_path = public AS $$
    BEGIN
        EXECUTE statement;
    END $$;
    GRANT USAGE ON SCHEMA tests TO PUBLIC;
"""
