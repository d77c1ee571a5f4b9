"""Writes exports: the database holds the work, for any worker.

One transaction, under the lock of the export's row, writes a page of rows, the start of
the next page and the points paid. So another worker continues the export of a killed
worker after its last page.
"""

import gc
import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import UUID

import orjson
from django.db import connection, transaction
from django.utils import timezone

from accounts.access import Caller
from partnerapi.core.database import execute
from partnerapi.core.errors import PartnerAPIError, RequestTimeout
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.exports.access import reader_of
from partnerapi.exports.connections import CONNECTIONS
from partnerapi.exports.models import MOST_AT_WORK, Export
from partnerapi.exports.rows import read_rows
from partnerapi.gateway import throttling
from partnerapi.gateway.bills import partner_account

KEPT = timedelta(days=1)
ROWS_PER_POINT = 20
POINTS_AT_ONCE = 400
TEXT_BYTES = 1_000_000
"""Of the lines of a member, before they are compressed, unless one line has more."""
LEVEL = 1
"""Of gzip: a tenth more bytes than at level 4, in two thirds of the time."""
LEASE = timedelta(seconds=5)
"""How long an export waits for a worker that has fallen silent."""
LONGEST_PAUSE = timedelta(minutes=1)
MOST_ATTEMPTS = 20
MOST_HOURS = 6


def write_exports(schema: Any, seconds: float) -> bool:
    """Write what is due, for so many seconds; whether there is more to write now.

    `schema` is the one that answers partners.
    """
    deadline = monotonic() + seconds
    run(FAIL, {"attempts": MOST_ATTEMPTS, "hours": MOST_HOURS})
    while True:
        begin_waiting()
        taken = run(TAKE, [LEASE])
        if not taken:
            return False
        [(pk,)] = taken
        while write_on(schema, pk):
            if monotonic() > deadline:
                Export.objects.filter(pk=pk).update(due_at=timezone.now())
                return True


def begin_waiting() -> None:
    """Start waiting exports in the free places of their partners."""
    with transaction.atomic():
        [(is_mine,)] = run(
            "SELECT pg_try_advisory_xact_lock(hashtextextended('exports', 0))", []
        )
        if is_mine:
            run(BEGIN, [MOST_AT_WORK])


def run(statement: str, arguments: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return cursor.fetchall() if cursor.description else []


def write_on(schema: Any, pk: UUID) -> bool:
    """Take an export a step further; whether there is another step to take now.

    Raises:
        RequestTimeout, OperationalError: it cannot be written now.
    """
    try:
        with without_collections():
            return step(schema, pk)
    except RequestTimeout:
        raise
    except PartnerAPIError as error:
        with transaction.atomic():
            export = Export.objects.select_for_update().get(pk=pk)
            if export.status == Export.Status.RUNNING:
                end(export, Export.Status.FAILED, str(error)[:REASON_LENGTH])
        return False


@contextmanager
def without_collections() -> Iterator[None]:
    """Switch off the cycle collector: rows form no cycles, and it doubles the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def step(schema: Any, pk: UUID) -> bool:
    export = Export.objects.get(pk=pk)
    # A connection whose past is not kept is read in one transaction.
    of_instant = CONNECTIONS[export.connection].of_instant
    is_snapshot = not of_instant and not export.is_written
    settled_at = None
    if is_snapshot:
        # Before the snapshot is taken: what is settled now is in it.
        [(settled_at,)] = run("SELECT accounts_settled_at()", [])
    with transaction.atomic():
        if is_snapshot:
            run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", [])
        export = Export.objects.select_for_update().get(pk=pk)
        if export.status != Export.Status.RUNNING:
            return False
        caller = reader_of(export)
        if caller is None:
            end(export, Export.Status.FAILED, NO_READER)
            return False
        if not export.is_written and not points_owed(export):
            is_last = write_page(schema, export, caller)
            while is_snapshot and not is_last:
                is_last = write_page(schema, export, caller)
            if is_snapshot:
                export.date = settled_at
        pause = pay(export, caller)
        export.attempts = 0
        export.due_at = timezone.now() + (pause or LEASE)
        if export.is_written and not points_owed(export):
            end(export, Export.Status.READY)
            return False
        export.save(update_fields=WRITTEN)
    return pause is None


def points_owed(export: Export) -> int:
    """Points for the rows that are written and not paid."""
    return -(-export.rows // ROWS_PER_POINT) - export.charged


def pay(export: Export, caller: Caller) -> timedelta | None:
    """Pay for the rows of a page; how long to wait where the budget cannot."""
    name, limit, refill = partner_account(caller)
    points = min(points_owed(export), POINTS_AT_ONCE, limit)
    if not points:
        return None
    budget = throttling.take(name, limit, refill, points)
    if not budget.taken:
        return min(timedelta(seconds=budget.retry_after), LONGEST_PAUSE)
    export.charged += points
    return None


def write_page(schema: Any, export: Export, caller: Caller) -> bool:
    """Write the next rows of the connection; whether they are the last."""
    page = read_rows(schema, export, caller)
    for count, text in texts(page.rows):
        write_member(export, count, text)
    if page.is_last and not export.members:
        # No bytes at all would be no gzip file.
        write_member(export, 0, b"")
    export.cursor = page.cursor
    export.is_written = page.is_last
    return page.is_last


def write_member(export: Export, rows: int, text: bytes) -> None:
    data = gzip.compress(text, LEVEL, mtime=0)
    export.members += 1
    execute(APPEND, [export.pk, export.members, export.size_bytes, rows, data])
    export.rows += rows
    export.size_bytes += len(data)


APPEND = "SELECT exports_append(%s, %s, %s, %s, %s)"


def texts(rows: list[dict[str, Any]]) -> Iterator[tuple[int, bytes]]:
    """The rows as JSON lines, in texts of whole lines; with each, how many they are."""
    lines: list[bytes] = []
    length = 0
    for row in rows:
        line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        if lines and length + len(line) > TEXT_BYTES:
            yield len(lines), b"".join(lines)
            lines, length = [], 0
        lines.append(line)
        length += len(line)
    if lines:
        yield len(lines), b"".join(lines)


def end(export: Export, status: str, reason: str | None = None) -> None:
    now = timezone.now()
    export.status, export.reason, export.place = status, reason, None
    export.ended_at = now
    if status == Export.Status.READY:
        export.expires_at = now + KEPT
    export.save(update_fields=[*WRITTEN, *ENDED])


WRITTEN = ["attempts", "charged", "cursor", "date", "due_at", "is_written"]
ENDED = ["ended_at", "expires_at", "place", "reason", "status"]
NO_READER = (
    "You no longer have a live key with the scope that the connection needs, or a "
    "grant for the issuer."
)
# Does not wait where another worker does the same, or holds the row.
FAIL = """
    UPDATE partnerapi_export SET status = 'FAILED', place = NULL,
        ended_at = clock_timestamp(), reason = CASE WHEN attempts >= %(attempts)s
            THEN 'An internal error prevented writing it; request it again.'
            ELSE 'Your budget, or your other exports, left it no time within '
                || %(hours)s || ' hours.' END
    WHERE id IN (
        SELECT id FROM partnerapi_export
        WHERE status IN ('WAITING', 'RUNNING') AND due_at <= clock_timestamp()
            AND (attempts >= %(attempts)s
                OR created_at < clock_timestamp() - %(hours)s * interval '1 hour')
        FOR UPDATE SKIP LOCKED
    )
"""
# Those that were asked for first get the free places of their partner.
BEGIN = """
    UPDATE partnerapi_export e SET status = 'RUNNING', place = f.place,
        due_at = clock_timestamp()
    FROM (
        SELECT id, partner_id,
            row_number() OVER (PARTITION BY partner_id ORDER BY created_at, id) AS n
        FROM partnerapi_export WHERE status = 'WAITING'
    ) w
    JOIN (
        SELECT p.partner_id, place,
            row_number() OVER (PARTITION BY p.partner_id ORDER BY place) AS n
        FROM (
            SELECT DISTINCT partner_id FROM partnerapi_export WHERE status = 'WAITING'
        ) p
        CROSS JOIN generate_series(1, %s) AS place
        WHERE NOT EXISTS (
            SELECT FROM partnerapi_export r
            WHERE r.partner_id = p.partner_id AND r.place = place
        )
    ) f USING (partner_id, n)
    WHERE e.id = w.id
"""
TAKE = """
    UPDATE partnerapi_export SET attempts = attempts + 1,
        due_at = clock_timestamp() + %s
    WHERE id = (
        SELECT id FROM partnerapi_export
        WHERE status = 'RUNNING' AND due_at <= clock_timestamp()
        ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING id
"""
