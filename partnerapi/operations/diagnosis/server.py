"""PostgreSQL as its administrator set it up, and what goes on in it.

Each check reads what the server tells any role. Of sessions of other roles that is when
they began only where `pg_read_all_stats` was granted.
"""

import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings

from partnerapi.core.database import rows_of
from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.release import some

IDLE_SECONDS = 15.0
"""The longest that a transaction may wait for its client."""
OLD_SECONDS = 600.0
"""The oldest transaction that a job leaves: it is ended sooner."""
OLD_TRANSACTIONS = 10_000
"""So many have begun since the start of one whose age is not shown."""
WAIT_SECONDS = 1.0
SEGMENTS = 16
"""The most of the log that may wait for the archive, in segments."""
CONNECTIONS_SHARE = 0.8
FREEZE_TIMES = 2
"""A database that is so many times as old as autovacuum lets it become."""
OLDEST = 1_000_000_000
"""Transactions. PostgreSQL takes no more of them after twice as many."""
MOST_NAMED = 3


def server() -> Iterator[Finding]:
    """All of them; on a standby, which has nothing of the kind, none."""
    if query_rows("SELECT pg_is_in_recovery()") == [(True,)]:
        return
    for look in (
        durability, archive, synchronous, standbys, slots, vacuum, transactions,
        prepared_transactions, connections, locks, checksums,
    ):  # fmt: skip
        yield from look()


def query_rows(statement: str, *arguments: Any) -> list[Any]:
    return rows_of(statement, arguments)


def durability() -> Iterator[Finding]:
    """Whether what was acknowledged outlives a crash."""
    off = [name for (name,) in query_rows(SWITCHED_OFF)]
    if off:
        yield Finding(
            "durability", State.WARNING,
            f"{', '.join(off)} off: a crash of the machine loses acknowledged changes, "
            "or damages the tables",
            "Switch fsync, full_page_writes and synchronous_commit on, also for the "
            "role and the database.",
        )  # fmt: skip
    else:
        yield Finding("durability", State.OK, "Acknowledged changes survive a crash")


SWITCHED_OFF = """
    SELECT name FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')
        AND setting = 'off'
    ORDER BY name
"""


def archive() -> Iterator[Finding]:
    """Whether the log reaches the archive, without which no point in time is left."""
    [(mode, command, failed, segments)] = query_rows(ARCHIVED)
    figures = {"segmentsWaiting": int(segments or 0)}
    remedy = (
        "Read PostgreSQL's log, and repair archive_command or its target; until "
        "then pg_wal fills the disk."
    )
    if mode == "off":
        says = "archive_mode is off: a backup can only be restored as of its own time"
        yield Finding("archive", State.OK, says)
    elif not command:
        says = "archive_mode is on, but archive_command is empty"
        yield Finding("archive", State.WARNING, says, remedy, figures)
    elif failed:
        says = f"The last attempt to archive failed: {failed}"
        yield Finding("archive", State.WARNING, says, remedy, figures)
    elif figures["segmentsWaiting"] > SEGMENTS:
        says = f"{segments} segments of the log wait for archive_command"
        yield Finding("archive", State.WARNING, says, remedy, figures)
    else:
        yield Finding("archive", State.OK, "The log reaches its archive", "", figures)


# A segment's name ends with the number of its 4 GB and its number in them.
ARCHIVED = """
    WITH size AS (
        SELECT setting::bigint AS bytes FROM pg_settings
        WHERE name = 'wal_segment_size'
    )
    SELECT current_setting('archive_mode'),
        nullif(current_setting('archive_command'), '(disabled)')
            || current_setting('archive_library'),
        CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity') THEN
            last_failed_wal || ' at ' || date_trunc('second', last_failed_time) END,
        (SELECT div(pg_current_wal_lsn() - '0/0', bytes)
            - ('x0' || substr(last_archived_wal, 9, 8))::bit(36)::bigint
                * (4294967296 / bytes)
            - ('x0' || substr(last_archived_wal, 17, 8))::bit(36)::bigint - 1
            FROM size)
    FROM pg_stat_archiver
"""


def synchronous() -> Iterator[Finding]:
    """Whether commits wait for standbys that are not there."""
    [(named, senders, waiting)] = query_rows(SYNCHRONOUS, WAIT_SECONDS)
    if not named:
        return
    wanted = int((re.match(r"(?:FIRST |ANY )?(\d+) *\(", named, re.I) or [0, 1])[1])
    listed = {
        name.strip(' "').casefold()
        for name in re.sub(r"^.*\(|\).*$", "", named).split(",")
    }
    present = [
        name for name in senders or [] if "*" in listed or name.casefold() in listed
    ]
    figures = {"standbys": len(present), "wanted": wanted, "waiting": waiting}
    if len(present) < wanted or waiting:
        yield Finding(
            "synchronous standbys", State.WARNING,
            f"synchronous_standby_names = {named}: {len(present)} of {wanted} are "
            f"connected, and {waiting} commits are waiting: changes are not "
            "acknowledged",
            "Start the standby again, and check primary_conninfo and its log; if "
            "there is none, remove its name from synchronous_standby_names and "
            "reload.",
            figures,
        )  # fmt: skip
    else:
        says = f"{len(present)} of {wanted} are connected"
        yield Finding("synchronous standbys", State.OK, says, "", figures)


SYNCHRONOUS = """
    SELECT current_setting('synchronous_standby_names'),
        (SELECT array_agg(application_name) FROM pg_stat_replication),
        (SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'
            AND query_start < clock_timestamp() - make_interval(secs => %s))
"""


def standbys() -> Iterator[Finding]:
    """Whether each standby that is connected keeps up.

    Where the role may not see that, it is known of the one of REPLICA_URL alone.
    """
    [(names, late, is_shown)] = query_rows(STANDBYS, LATE_SECONDS)
    if late:
        yield Finding(
            "standbys", State.WARNING, f"Standbys are behind: {some(late, MOST_NAMED)}",
            "Check the standby's disk and processors, recovery_min_apply_delay, and "
            "whether its replay is paused.",
        )  # fmt: skip
    elif not is_shown and len(names) > bool(settings.REPLICA_URL):
        yield Finding(
            "standbys", State.UNKNOWN,
            f"The role may not see the lag of standbys: {some(names, MOST_NAMED)}",
            "As a superuser, GRANT pg_read_all_stats TO ROLE; of a single standby it "
            "is enough that REPLICA_URL names it.",
        )  # fmt: skip


LATE_SECONDS = 60.0
# A backup that is made, and a program that collects the log, replay nothing.
STANDBYS = """
    SELECT coalesce(array_agg(application_name ORDER BY application_name), '{}'),
        coalesce(array_agg(
            application_name || ' by ' || date_trunc('second', replay_lag)
            ORDER BY application_name) FILTER (
            WHERE replay_lag > make_interval(secs => %s)), '{}'),
        pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
    FROM pg_stat_replication
    WHERE application_name NOT IN ('pg_basebackup', 'pg_receivewal')
"""


def slots() -> Iterator[Finding]:
    """Whether the server keeps its log for a follower that is gone."""
    idle = query_rows(IDLE_SLOTS)
    figures = {"idle": len(idle), "keptBytes": max((b for _, _, b in idle), default=0)}
    if idle:
        named = ", ".join(
            f"{name} ({status or 'unused'}, {kept / 2**20:.0f} MiB)"
            for name, status, kept in idle[:MOST_NAMED]
        )
        yield Finding(
            "slots", State.WARNING,
            f"No standby uses these replication slots: {named}; pg_wal grows until "
            "the disk is full",
            "Start the standby again, or SELECT pg_drop_replication_slot(NAME), and "
            "set max_slot_wal_keep_size.",
            figures,
        )  # fmt: skip
    else:
        yield Finding("slots", State.OK, "Each slot is in use", "", figures)


IDLE_SLOTS = """
    SELECT slot_name, wal_status,
        coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint
    FROM pg_replication_slots WHERE NOT active ORDER BY 3 DESC
"""


def vacuum() -> Iterator[Finding]:
    """Whether tables are vacuumed, before transaction ids run out."""
    [(off, tables)] = query_rows(AUTOVACUUM_OFF)
    [(database, age, limit)] = query_rows(AGE)
    figures = {"oldestTransactions": age}
    if off or tables:
        where = ", ".join([*(off or []), *(tables or [])[:MOST_NAMED]])
        yield Finding(
            "vacuum", State.WARNING, f"Autovacuum is switched off: {where}",
            "Switch autovacuum and track_counts on and reload; ALTER TABLE … RESET "
            "(autovacuum_enabled) where a table has it off.",
            figures,
        )  # fmt: skip
    if age > min(FREEZE_TIMES * limit, OLDEST):
        yield Finding(
            "wraparound", State.WARNING,
            f"{database} has transaction ids {age:,} transactions old; at "
            "2,100,000,000 PostgreSQL accepts no more changes",
            "End old transactions, drop idle replication slots and prepared "
            "transactions, then run vacuumdb --all --freeze.",
            figures,
        )  # fmt: skip
    elif not (off or tables):
        yield Finding("vacuum", State.OK, "Autovacuum keeps up", "", figures)


AUTOVACUUM_OFF = """
    SELECT
        (SELECT array_agg(name) FROM pg_settings
            WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off'),
        (SELECT array_agg(relname::text ORDER BY relname) FROM pg_class
            WHERE relnamespace = to_regnamespace('public')
                AND EXISTS (SELECT FROM unnest(reloptions) AS option
                    WHERE option ~ '^autovacuum_enabled=(false|off|no|0|f|n)'))
"""
AGE = """
    SELECT datname,
        greatest(age(datfrozenxid), mxid_age(datminmxid))::bigint AS age,
        current_setting('autovacuum_freeze_max_age')::bigint
    FROM pg_database ORDER BY 2 DESC LIMIT 1
"""


def transactions() -> Iterator[Finding]:
    """Whether a transaction has been open for long, which holds up much."""
    found = query_rows(OLD, IDLE_SECONDS, OLD_SECONDS, OLD_TRANSACTIONS)
    remedy = (
        "See pg_stat_activity, and end it: SELECT pg_terminate_backend(PID). Rows that "
        "it holds wait, nothing that it may still see is vacuumed, and "
        "viewer.settledAt stands still."
    )
    if found:
        named = "; ".join(
            f"{pid} ({role}, {name or 'unnamed'}) {state}"
            for pid, role, name, state in found[:MOST_NAMED]
        )
        figures = {"old": len(found)}
        says = f"Long-running transactions: {named}"
        yield Finding("transactions", State.WARNING, says, remedy, figures)
    else:
        yield Finding(
            "transactions", State.OK, "No transaction is long-running", "", {"old": 0}
        )


# Of a session of another role its state is not shown; its ids are.
OLD = """
    SELECT a.pid, a.usename, a.application_name, CASE
        WHEN a.backend_start IS NULL THEN format('is %%s transactions old',
            greatest(age(a.backend_xmin), age(a.backend_xid)))
        ELSE format('%%s since %%s', a.state, date_trunc('second', a.xact_start)) END
    FROM pg_stat_activity a
    WHERE a.pid <> pg_backend_pid() AND a.usesysid IS NOT NULL
        AND a.datname = current_database() AND CASE
        WHEN a.backend_start IS NOT NULL THEN
            a.state LIKE 'idle in transaction%%' AND a.state_change
                < clock_timestamp() - make_interval(secs => %s)
            OR a.xact_start < clock_timestamp() - make_interval(secs => %s)
        ELSE greatest(age(a.backend_xmin), age(a.backend_xid)) > %s
            OR a.backend_xid IS NOT NULL
                AND a.pid NOT IN (SELECT pid FROM accounts_own_writers())
        END
    ORDER BY a.pid
"""


def prepared_transactions() -> Iterator[Finding]:
    """Whether transactions may be prepared, which stay invisible until they commit."""
    [(most, waiting)] = query_rows(PREPARED)
    figures = {"prepared": waiting}
    if most or waiting:
        yield Finding(
            "prepared transactions", State.WARNING,
            f"max_prepared_transactions is {most}, and {waiting} are prepared: "
            "settled entries cannot be determined while one waits",
            "End each of pg_prepared_xacts (COMMIT PREPARED or ROLLBACK PREPARED), set "
            "max_prepared_transactions = 0 and restart PostgreSQL.",
            figures,
        )  # fmt: skip
    else:
        says = "No transaction can be prepared"
        yield Finding("prepared transactions", State.OK, says, "", figures)


PREPARED = """
    SELECT current_setting('max_prepared_transactions')::integer,
        (SELECT count(*) FROM pg_prepared_xacts)
"""


def connections() -> Iterator[Finding]:
    """Whether the server, the database or the role is near its limit."""
    near = []
    most = 0.0
    for name, taken, limit in query_rows(CONNECTIONS):
        share = taken / limit if limit > 0 else 0.0
        most = max(most, share)
        if share >= CONNECTIONS_SHARE:
            near.append(f"{taken} of {limit} of the {name}")
    figures = {"share": round(most, 2)}
    if near:
        yield Finding(
            "connections", State.WARNING, f"In use: {', '.join(near)}",
            "Raise max_connections (or the limit of the role or the database), run "
            "fewer processes, or use a pooler.",
            figures,
        )  # fmt: skip
    else:
        says = f"At most {most:.0%} of them are in use"
        yield Finding("connections", State.OK, says, "", figures)


CONNECTIONS = """
    WITH clients AS (
        SELECT usesysid, datname FROM pg_stat_activity
        WHERE usesysid IS NOT NULL AND datname IS NOT NULL
    )
    SELECT 'server', count(*), current_setting('max_connections')::bigint
        - current_setting('superuser_reserved_connections')::bigint
        - coalesce(current_setting('reserved_connections', TRUE), '0')::bigint
    FROM clients
    UNION ALL
    SELECT 'database', count(*), (
        SELECT datconnlimit FROM pg_database WHERE datname = current_database())
    FROM clients WHERE datname = current_database()
    UNION ALL
    SELECT 'role', count(*), (
        SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user)
    FROM clients WHERE usesysid = (
        SELECT oid FROM pg_roles WHERE rolname = current_user)
"""


def locks() -> Iterator[Finding]:
    """Whether a table is locked, or someone has waited for a lock for long."""
    held = query_rows(LOCKED, WAIT_SECONDS)
    if held:
        named = "; ".join(
            f"{pid} ({name or 'unnamed'}) holds {what}, and {waiting} wait"
            for pid, name, what, waiting in held[:MOST_NAMED]
        )
        yield Finding(
            "locks", State.WARNING, f"Requests wait for locks: {named}",
            "Wait for the migration or the change end, or end it: SELECT "
            "pg_terminate_backend(PID).",
            {"waiting": sum(waiting for *_, waiting in held)},
        )  # fmt: skip
    else:
        says = "No session waits for a lock, and no table is locked"
        yield Finding("locks", State.OK, says, "", {"waiting": 0})


LOCKED = """
    WITH blocked AS (
        SELECT DISTINCT l.pid, unnest(pg_blocking_pids(l.pid)) AS holder
        FROM pg_locks l
        WHERE NOT l.granted AND l.waitstart
            < clock_timestamp() - make_interval(secs => %s)
    ), holders AS (
        SELECT holder AS pid, count(*) AS waiting FROM blocked
        WHERE holder NOT IN (SELECT pid FROM blocked) GROUP BY holder
        UNION ALL
        SELECT pid, 0 FROM pg_locks
        WHERE granted AND mode = 'AccessExclusiveLock' AND locktype = 'relation'
            AND pid <> pg_backend_pid() AND pid NOT IN (SELECT holder FROM blocked)
            AND database = (
                SELECT oid FROM pg_database WHERE datname = current_database())
            AND relation IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p')
                AND relnamespace = to_regnamespace('public'))
    )
    SELECT DISTINCT h.pid, a.application_name, coalesce((
            SELECT string_agg(DISTINCT c.relname::text, ', ') FROM pg_locks l
            JOIN pg_class c ON c.oid = l.relation
            WHERE l.pid = h.pid AND l.granted AND l.mode = 'AccessExclusiveLock'
                AND c.relkind IN ('r', 'p')), 'rows'), h.waiting
    FROM holders h JOIN pg_stat_activity a ON a.pid = h.pid
    WHERE a.usesysid IS NOT NULL
    ORDER BY h.waiting DESC, h.pid
"""


def checksums() -> Iterator[Finding]:
    """Whether the server has read a page that its disk had changed."""
    broken = query_rows(CHECKSUMS)
    if broken:
        named = ", ".join(f"{count} in {name}" for name, count in broken[:MOST_NAMED])
        yield Finding(
            "checksums", State.WARNING, f"Pages are damaged: {named}",
            "Move to a standby or another disk, restore damaged data from a backup, "
            "and run manage.py doctor --deep; then pg_stat_reset().",
            {"damaged": sum(count for _, count in broken)},
        )  # fmt: skip
    else:
        yield Finding("checksums", State.OK, "No damaged page was found")


CHECKSUMS = """
    SELECT coalesce(datname, 'shared tables'), checksum_failures
    FROM pg_stat_database WHERE checksum_failures > 0 ORDER BY 1
"""
