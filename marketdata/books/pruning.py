"""Deletes old changes and trades of order books whose result a snapshot holds.

Of each log these are kept: the newest two snapshots, everything younger than asked
for, and the snapshot that the remaining changes continue.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from marketdata.models import BookSnapshot

KEEP = timedelta(hours=24)
ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class PrunableLog:
    """The part of a token's log that a snapshot covers.

    A log has no gaps: so the part has the changes from `first_change` to `sequence`,
    the trades from `first_trade` to `trade`, and the older `snapshots`.
    """

    token_id: UUID
    symbol: str
    sequence: int
    trade: int
    first_change: int
    first_trade: int
    snapshots: int

    @property
    def changes(self) -> int:
        return self.sequence + 1 - self.first_change

    @property
    def trades(self) -> int:
        return self.trade + 1 - self.first_trade

    @property
    def rows(self) -> int:
        return self.snapshots + self.changes + self.trades


def prunable_logs(before: datetime) -> list[PrunableLog]:
    """What may be deleted and is older than `before`, by the tokens' symbols."""
    with connection.cursor() as cursor:
        cursor.execute(COVERED, [before])
        found = [PrunableLog(*row) for row in cursor.fetchall()]
    return [log for log in found if log.rows]


def prune(
    logs: Iterable[PrunableLog], advance: Callable[[int], object] = lambda done: None
) -> int:
    """Delete these parts, in steps that are each committed; return how many rows.

    It may run at any time, beside writers and beside itself: a second run finds less to
    delete. `advance` is told how many rows each step deleted.
    """
    deleted = 0
    for log in logs:
        # First the snapshots: a log must continue its oldest one.
        done, _ = BookSnapshot.objects.filter(
            token=log.token_id, sequence__lt=log.sequence
        ).delete()
        advance(done)
        deleted += done
        for table, first, last in (
            ("marketdata_bookchange", log.first_change, log.sequence),
            ("marketdata_trade", log.first_trade, log.trade),
        ):
            while first <= last:
                end = min(first + ROWS_AT_ONCE, last + 1)
                done = delete(table, log.token_id, first, end)
                advance(done)
                deleted += done
                first = end
    return deleted


def delete(table: str, token_id: UUID, first: int, end: int) -> int:
    with connection.cursor() as cursor:
        # Without the lower bound each step would pass again over all dead index
        # entries that the steps before it have left.
        cursor.execute(
            f"DELETE FROM {table} "
            "WHERE token_id = %s AND sequence >= %s AND sequence < %s",
            [token_id, first, end],
        )
        return cursor.rowcount


COVERED = """
    SELECT h.token_id, t.symbol, s.sequence, s.trade_sequence,
        coalesce((
            SELECT min(c.sequence) FROM marketdata_bookchange c
            WHERE c.token_id = h.token_id AND c.sequence <= s.sequence
        ), s.sequence + 1),
        coalesce((
            SELECT min(d.sequence) FROM marketdata_trade d
            WHERE d.token_id = h.token_id AND d.sequence <= s.trade_sequence
        ), s.trade_sequence + 1),
        (
            SELECT count(*) FROM marketdata_booksnapshot o
            WHERE o.token_id = h.token_id AND o.sequence < s.sequence
        )
    FROM marketdata_orderbookhead h
    JOIN issuers_token t ON t.id = h.token_id
    CROSS JOIN LATERAL (
        SELECT o.sequence, o.trade_sequence, o.at FROM marketdata_booksnapshot o
        WHERE o.token_id = h.token_id AND o.at < %s AND o.sequence <= (
            SELECT n.sequence FROM marketdata_booksnapshot n
            WHERE n.token_id = h.token_id ORDER BY n.sequence DESC OFFSET 1 LIMIT 1
        )
        ORDER BY o.sequence DESC LIMIT 1
    ) s
    ORDER BY t.symbol
"""
