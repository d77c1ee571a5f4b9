"""Which errors of the database are outages: no caller is at fault, and they end."""

import re
from enum import StrEnum

import psycopg
from django.db import Error, InterfaceError, OperationalError
from psycopg.errors import (
    DeadlockDetected,
    Diagnostic,
    LockNotAvailable,
    QueryCanceled,
    SerializationFailure,
)


class Fault(StrEnum):
    """What is wrong with the database, and what an operator does about it."""

    BUSY = (
        "No connection to PostgreSQL became free; check for long statements, or "
        "raise PARTNER_API_DATABASE_CONNECTIONS"
    )
    AWAY = "PostgreSQL does not answer; check that it runs and can be reached"
    CROWDED = (
        "PostgreSQL has no connection left; raise max_connections, or run fewer "
        "processes"
    )
    FULL = "PostgreSQL cannot write; check its disk space and memory"
    LOCKED = (
        "A table is locked, perhaps by a migration; pg_locks shows the session that "
        "holds the lock"
    )
    READ_ONLY = (
        "PostgreSQL is read-only; check default_transaction_read_only, and that "
        "DATABASE_URL does not name a standby"
    )
    REFUSED = (
        "PostgreSQL refuses the role of DATABASE_URL; check its password, "
        "pg_hba.conf, and its rights to log in and to connect to the database"
    )
    UNGRANTED = (
        "The role of DATABASE_URL lacks a right; run manage.py grant_application_role "
        "ROLE --apply, as the owner"
    )
    INCOMPLETE = (
        "The database schema does not match this release; run manage.py migrate, "
        "then grant_application_role, as the owner, or restore the whole backup"
    )
    UNCONFIRMED = (
        "No standby has confirmed a commit in time; check that the standbys of "
        "synchronous_standby_names run and replicate"
    )


class Busy(Error):
    """All connections of this process are taken, and none came back in time."""


class OutcomeUnknown(OperationalError):
    """A commit was not confirmed: what it wrote may last, or be lost in a failover.

    Its cause is the error that ended the connection; without one, PostgreSQL gave up
    the wait for a standby.
    """


def is_unconfirmed(notice: Diagnostic) -> bool:
    """Whether a server says that it committed without waiting for a standby.

    A request to cancel the wait or to end the session causes this warning, in the
    language of lc_messages (SyncRepWaitForLSN in PostgreSQL's syncrep.c).
    """
    return (
        notice.severity_nonlocalized == "WARNING"
        and notice.sqlstate in CANCELLED_WAITS
        and notice.source_file in (None, "syncrep.c")
    )


CANCELLED_WAITS = ("01000", "57P01")


BY_STATE = {
    "08": Fault.AWAY,
    "25006": Fault.READ_ONLY,
    "25P03": Fault.AWAY,
    "3F000": Fault.INCOMPLETE,
    "42501": Fault.UNGRANTED,
    "42703": Fault.INCOMPLETE,
    "42883": Fault.INCOMPLETE,
    "42P01": Fault.INCOMPLETE,
    "53": Fault.FULL,
    "53300": Fault.CROWDED,
    "55P03": Fault.LOCKED,
    "57P": Fault.AWAY,
    "58": Fault.FULL,
}
"""By an SQLSTATE or its beginning (PostgreSQL, appendix A); the longest counts."""


NONE_LEFT = re.compile(
    "too many (clients|connections)|remaining connection slots"
    "|no more connections allowed"
)
"""What PostgreSQL and pgbouncer say in English to one connection too many."""
REFUSES = re.compile(
    "authentication failed|no password supplied|permission denied for database"
    "|no pg_hba.conf entry|pg_hba.conf rejects"
    '|role ".*" (does not exist|is not permitted to log in)'
    '|database ".*" does not exist'
)
"""What they say to a role that may not connect."""
RAISED = "exec_stmt_raise"
"""PostgreSQL's own function behind RAISE of PL/pgSQL."""
UNREACHABLE = (Fault.AWAY, Fault.CROWDED, Fault.REFUSED)
"""Faults of a connection that could not be made or has ended."""


def fault_of(error: BaseException | None) -> Fault | None:
    """The outage of which an error of Django's database layer tells, if any.

    Where no server answered, or it refused a new connection, there is no SQLSTATE.
    """
    if isinstance(error, Busy):
        return Fault.BUSY
    if not isinstance(error, Error) or took_too_long(error):
        return None
    cause = error.__cause__
    if isinstance(error, OutcomeUnknown) and cause is None:
        return Fault.UNCONFIRMED
    if not isinstance(cause, psycopg.Error) or cause.sqlstate is None:
        if not isinstance(error, OperationalError | InterfaceError):
            return None
        if NONE_LEFT.search(str(error)):
            return Fault.CROWDED
        return Fault.REFUSED if REFUSES.search(str(error)) else Fault.AWAY
    state = cause.sqlstate
    # A guard that refuses a change raises it on purpose: no right is missing.
    if state == "42501" and cause.diag.source_function == RAISED:
        return None
    known = [start for start in BY_STATE if state.startswith(start)]
    return BY_STATE[max(known, key=len)] if known else None


def took_too_long(error: BaseException | None) -> bool:
    """Whether a statement was ended because it, or a row's lock, took too long."""
    cause = error.__cause__ if isinstance(error, Error) else None
    if isinstance(cause, LockNotAvailable):
        # Of a row the server says in which relation it is, of a table nothing.
        return 'in relation "' in str(cause)
    return isinstance(cause, QueryCanceled | DeadlockDetected | SerializationFailure)
