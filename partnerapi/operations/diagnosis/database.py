"""The database: whether it answers, and is as this release needs it."""

from collections.abc import Iterator
from datetime import timedelta
from time import time

from django.conf import settings
from django.db import Error, connection, connections

from partnerapi.core.database import rows_of, value_of
from partnerapi.core.postgresql import lending
from partnerapi.core.version import build as build_of_code
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
    [(role, name, version, is_standby, only_reads)] = rows_of(ABOUT)
    says = f"{role} in {name}, PostgreSQL {version}"
    if lending.reads_replica():
        yield Finding(
            "database", State.WARNING,
            "The primary does not answer; queries are answered by the standby",
            "Check that the primary runs and can be reached, or promote the standby "
            "and set DATABASE_URL to it.",
        )  # fmt: skip
    elif is_standby:
        yield Finding(
            "database", State.FAILED, f"{says}: a standby, which is read-only",
            "Set DATABASE_URL to the primary.", patience=ONLY_READS_SECONDS,
        )  # fmt: skip
    elif only_reads:
        yield Finding(
            "database", State.FAILED, f"{says}: it is read-only",
            "Switch default_transaction_read_only off, also for the role.",
            patience=ONLY_READS_SECONDS,
        )  # fmt: skip
    else:
        yield Finding("database", State.OK, says)


def replica() -> Iterator[Finding]:
    """Whether REPLICA_URL names a standby that follows the primary."""
    written = value_of(WRITTEN)
    try:
        with connections[lending.REPLICA].cursor() as cursor:
            cursor.execute(FOLLOWS, [written])
            [(is_standby, receives, is_paused, delay, missing, behind)] = cursor
    except Error as error:
        yield Finding(
            "replica", State.WARNING,
            f"The standby does not answer ({' '.join(str(error).split())})",
            "Check that it runs and can be reached, and that REPLICA_URL names it.",
        )  # fmt: skip
        return
    figures = {"missingBytes": missing or 0, "behindSeconds": round(behind or 0, 1)}
    if not is_standby:
        yield Finding(
            "replica", State.FAILED, "REPLICA_URL names a server that is not a standby",
            "Set REPLICA_URL to a streaming standby of DATABASE_URL.",
        )  # fmt: skip
    elif not receives:
        yield Finding(
            "replica", State.WARNING, "The standby receives nothing: it has no WAL "
            "receiver",
            "Check primary_conninfo and the log of the standby.", figures,
        )  # fmt: skip
    elif is_paused or delay > 0:
        yield Finding(
            "replica", State.WARNING,
            "Its replay is paused" if is_paused else f"It replays {delay} ms late",
            "On the standby, SELECT pg_wal_replay_resume(), and set "
            "recovery_min_apply_delay to 0.", figures,
        )  # fmt: skip
    elif missing > 0 and behind > settings.PARTNER_API_REPLICA_LAG:
        yield Finding(
            "replica", State.WARNING,
            f"The standby is {timedelta(seconds=int(behind))} and {missing} bytes "
            "behind",
            "Check its disk, its processors and the network, and end long queries "
            "there.",
            figures,
        )  # fmt: skip
    else:
        yield Finding("replica", State.OK, "The standby keeps up", "", figures)


WRITTEN = """
    SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn()::text END
"""
# An idle primary writes nothing for a while, and the standby misses nothing then.
FOLLOWS = """
    SELECT pg_is_in_recovery(), EXISTS (SELECT FROM pg_stat_wal_receiver),
        CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() END,
        (SELECT setting::bigint FROM pg_settings
            WHERE name = 'recovery_min_apply_delay'),
        coalesce(pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn()), 0)::bigint,
        extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float
"""


def versions() -> Iterator[Finding]:
    """Whether processes of different builds are at work, by their sessions' names."""
    rows = rows_of(BUILDS)
    named = {build or "an older one": parts for build, parts in rows}
    figures = {"builds": len({*named, build_of_code()})}
    if {*named} - {build_of_code()}:
        says = "; ".join(f"{', '.join(parts)} of {n}" for n, parts in named.items())
        yield Finding(
            "versions", State.WARNING,
            f"This is build {build_of_code()}, but other builds are connected: {says}",
            "Restart the processes of the old release one after the other; web "
            "servers lose no request.",
            figures,
        )  # fmt: skip
    else:
        says = f"All processes run build {build_of_code()}"
        yield Finding("versions", State.OK, says, "", figures)


# A release that named no build called its sessions by their part alone.
BUILDS = r"""
    SELECT (named)[3], array_agg(DISTINCT (named)[1] ORDER BY (named)[1]) FROM (
        SELECT regexp_match(application_name,
            '^(web|worker|run_fix_acceptor|run_market_clock|run_webhooks|simulate_market|serve_metrics)'
            '(@(\w+))?( |$)'
        ) AS named
        FROM pg_stat_activity WHERE datname = current_database()
    ) AS sessions
    WHERE named IS NOT NULL GROUP BY 1 ORDER BY 1
"""


def migrations() -> Iterator[Finding]:
    missing = unapplied_migrations()
    figures = {"unapplied": len(missing)}
    if missing:
        says = f"{len(missing)} migrations are not applied: {some(missing, MOST_NAMED)}"
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
                "The role of DATABASE_URL owns the tables: the database cannot "
                "protect them from it",
                "Create a role for serving, run grant_application_role ROLE "
                "--apply, and set it in DATABASE_URL.",
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
        says = f"The role of DATABASE_URL has more rights than it needs: {named}"
        yield Finding("grants", State.WARNING, says, remedy, figures)
    else:
        yield Finding(
            "grants", State.OK, "The role has exactly its rights", "", figures
        )


def clock() -> Iterator[Finding]:
    """Compares the database's clock with this machine's."""
    before = time()
    theirs = value_of("SELECT extract(epoch FROM clock_timestamp())")
    after = time()
    # It was read somewhere between.
    apart = max(float(theirs) - after, before - float(theirs), 0.0)
    figures = {"seconds": round(apart, 3)}
    if apart > CLOCK_SECONDS:
        yield Finding(
            "clock", State.FAILED,
            f"This machine's clock and the database's are {apart:.1f} s apart",
            "Synchronise both machines with the same NTP servers (chronyc tracking).",
            figures,
        )  # fmt: skip
    else:
        says = f"This machine's clock and the database's are {apart:.3f} s apart"
        yield Finding("clock", State.OK, says, "", figures)
