"""What only the owner of the tables can do, for tests.

Tests run as the application's role. The owner makes and empties their databases, and
tampers where a test asks whether that is found.
"""

import contextlib
import io
from collections.abc import Iterator

from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from accounts.approvals.models import ApprovalDecision, ApprovalOutcome, ApprovalRequest
from accounts.history.models import RowChange, StaffChange, StaffNotice
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from accounts.totals import Total
from partnerapi.core.owner import NAMED, OWNER
from partnerapi.gateway.counts import RequestCount
from partnerapi.sandbox.data.approvals import STAFF


def become_owner() -> None:
    """Make the usual connection the owner's."""
    take(OWNER)


def become_application(application: dict[str, str]) -> None:
    """Give the application its rights, and let the usual connection be its again."""
    allow_tampering(connection)
    if OWNER in connections.settings:
        role = application["USER"]
        call_command("grant_application_role", role, "--apply", stdout=io.StringIO())
    connection.close()
    connection.settings_dict |= application


def allow_tampering(owner: BaseDatabaseWrapper) -> None:
    """Permit `tamper` in the owner's database."""
    with owner.cursor() as cursor:
        cursor.execute(ALLOW_TAMPERING)


def take(alias: str) -> None:
    if alias in connections.settings:
        connection.close()
        connection.settings_dict |= credentials(alias)


def credentials(alias: str) -> dict[str, str]:
    return {name: connections.settings[alias][name] for name in NAMED}


@contextlib.contextmanager
def as_owner() -> Iterator[None]:
    """Use an owner's connection, which bypasses the triggers, in this thread.

    It does not see uncommitted changes.
    """
    usual = connections["default"]
    own = connections["default"] = usual.copy()
    if OWNER in connections.settings:
        own.settings_dict |= credentials(OWNER)
    try:
        with own.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
        yield
    finally:
        own.close()
        connections["default"] = usual


def remove_keys(*partners: Partner) -> None:
    """Remove keys that a test has committed, inside `as_owner`, and the totals of their
    partners, whose accounts are gone.

    A server that counts their requests waits for the lock, and finds none of them.
    """
    with transaction.atomic():
        keys = list(ApiKey.objects.select_for_update().filter(partner__in=partners))
        RequestCount.objects.filter(key__in=keys).delete()
        ApiKey.objects.filter(partner__in=partners).delete()
    Total.objects.filter(key__in=[partner.pk for partner in partners]).delete()


def remove_approvals() -> None:
    """Remove what `approved_key` has committed, and what its history says of it.

    Only for a test that keeps rows, inside `as_owner`.
    """
    for model in (
        ApprovalOutcome, ApprovalDecision, ApprovalRequest, StaffNotice, StaffChange,
        RowChange,
    ):  # fmt: skip
        model.objects.all().delete()
    User.objects.filter(email__in=STAFF).delete()


def tamper(*statements: str, guarded: bool = False) -> int:
    """Run statements as the owner, past the triggers, in the test's transaction.

    `guarded`: not past the triggers. Returns how many rows the last one has changed.
    """
    # Checks that wait for the end of the transaction would hold the tables.
    as_committed()
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute("SELECT tests.tamper(%s, %s)", [statement, guarded])
        [(rows,)] = cursor.fetchall()
    return rows


def break_table(name: str) -> None:
    """Make each statement that reads a table fail, as a fault of the code would."""
    tamper(
        f"ALTER TABLE {name} RENAME TO whole",
        f"CREATE VIEW {name} AS SELECT * FROM whole WHERE 1 / 0 = 1",
    )


def as_committed() -> None:
    """Run the triggers that wait for the commit now."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def superuser(email: str, password: str | None = None, **fields: object) -> User:
    """Staff that may do everything, as the owner's command makes them."""
    user = User.objects.create_user(email, password, **{"is_staff": True} | fields)
    tamper(f"UPDATE accounts_user SET is_superuser = TRUE WHERE id = '{user.pk}'")
    user.refresh_from_db()
    appoint(user)
    return user


def appoint(user: User) -> None:
    """Permit new staff to decide at once, as the owner does."""
    with connection.cursor() as cursor:
        statement = f"SELECT accounts_appoint('{user.pk}')"
        cursor.execute("SELECT tests.tamper(%s, FALSE)", [statement])


# In the databases of tests only.
ALLOW_TAMPERING = """
    CREATE SCHEMA IF NOT EXISTS tests;
    CREATE OR REPLACE FUNCTION tests.tamper(statement text, guarded boolean)
    RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
    SET session_replication_role = replica SET search_path = public AS $$
    DECLARE
        rows bigint;
    BEGIN
        IF guarded THEN
            SET LOCAL session_replication_role = origin;
        END IF;
        EXECUTE statement;
        GET DIAGNOSTICS rows = ROW_COUNT;
        RETURN rows;
    END $$;
    GRANT USAGE ON SCHEMA tests TO PUBLIC;
"""
