"""The database: whether it answers, and is as this release needs it."""

from collections.abc import Iterator
from time import time

from django.db import connection, connections

from partnerapi.core.postgresql import lending
from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.release import compare_rights, some, unapplied_migrations

MOST_NAMED = 5
CLOCK_SECONDS = 1.0
ONLY_READS_SECONDS = 30.0
"""For so long queries are still sent here: a fail-over takes less."""

ABOUT = """
    SELECT current_user, current_database(), current_setting('server_version'),
        pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'
"""


def database() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(ABOUT)
        [(role, name, version, is_standby, only_reads)] = cursor.fetchall()
    says = f"{role} in {name}, PostgreSQL {version}"
    if lending.reads_replica():
        yield Finding(
            "database", State.WARNING,
            "The primary does not answer; queries are answered by the standby",
            "See whether the primary runs and can be reached, or promote the standby "
            "and let DATABASE_URL name it.",
        )  # fmt: skip
    elif is_standby:
        yield Finding(
            "database", State.FAILED, f"{says}: a standby, which only reads",
            "Let DATABASE_URL name the primary.", patience=ONLY_READS_SECONDS,
        )  # fmt: skip
    elif only_reads:
        yield Finding(
            "database", State.FAILED, f"{says}: it only reads",
            "Switch default_transaction_read_only off, for the role, too.",
            patience=ONLY_READS_SECONDS,
        )  # fmt: skip
    else:
        yield Finding("database", State.OK, says)


def replica() -> Iterator[Finding]:
    """Whether REPLICA_URL names a standby that follows the primary."""
    with connections[lending.REPLICA].cursor() as cursor:
        cursor.execute(
            "SELECT pg_is_in_recovery(), EXISTS (SELECT FROM pg_stat_wal_receiver)"
        )
        [(is_standby, receives)] = cursor.fetchall()
    if not is_standby:
        yield Finding(
            "replica", State.FAILED, "REPLICA_URL names a server that is no standby",
            "Let REPLICA_URL name a streaming standby of DATABASE_URL.",
        )  # fmt: skip
    elif not receives:
        yield Finding(
            "replica", State.WARNING, "The standby receives nothing",
            "See primary_conninfo and the log of the standby.",
        )  # fmt: skip
    else:
        yield Finding("replica", State.OK, "The standby follows the primary")


def migrations() -> Iterator[Finding]:
    missing = unapplied_migrations()
    figures = {"unapplied": len(missing)}
    if missing:
        says = f"{len(missing)} are not applied: {some(missing, MOST_NAMED)}"
        remedy = "Run manage.py migrate, then grant_application_role, as the owner."
        yield Finding("migrations", State.FAILED, says, remedy, figures)
    else:
        yield Finding("migrations", State.OK, "All are applied", "", figures)


IS_OWNER = """
    SELECT pg_has_role(current_user, relowner, 'MEMBER') FROM pg_class
    WHERE oid = to_regclass('public.issuers_token')
"""


def grants() -> Iterator[Finding]:
    """Compares the role's rights with those of an application."""
    with connection.cursor() as cursor:
        cursor.execute(IS_OWNER)
        is_owner = [row[0] for row in cursor.fetchall()]
        if is_owner == [True]:
            yield Finding(
                "grants", State.WARNING,
                "The role of DATABASE_URL owns the tables: the database keeps nothing "
                "from it",
                "Make a role that serves, run grant_application_role ROLE --apply, and "
                "name it in DATABASE_URL.",
            )  # fmt: skip
            return
    _, lacking, spare = compare_rights()
    figures = {"missing": len(lacking), "tooMany": len(spare)}
    remedy = "Run manage.py grant_application_role ROLE --apply, as the owner."
    if lacking:
        named = some([*map(" ".join, lacking)], MOST_NAMED)
        says = f"The role of DATABASE_URL lacks {named}"
        yield Finding("grants", State.FAILED, says, remedy, figures)
    elif spare:
        named = some([*map(" ".join, spare)], MOST_NAMED)
        says = f"The role of DATABASE_URL has more than it needs: {named}"
        yield Finding("grants", State.WARNING, says, remedy, figures)
    else:
        yield Finding("grants", State.OK, "The role has its rights", "", figures)


def clock() -> Iterator[Finding]:
    """Compares the database's clock with this machine's."""
    before = time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        [(theirs,)] = cursor.fetchall()
    after = time()
    # It was read somewhere between.
    apart = max(float(theirs) - after, before - float(theirs), 0.0)
    figures = {"seconds": round(apart, 3)}
    if apart > CLOCK_SECONDS:
        yield Finding(
            "clock", State.FAILED,
            f"This machine's clock and the database's are {apart:.1f} s apart",
            "Have both machines follow the same NTP servers (chronyc tracking).",
            figures,
        )  # fmt: skip
    else:
        says = f"This machine's clock and the database's are {apart:.3f} s apart"
        yield Finding("clock", State.OK, says, "", figures)
