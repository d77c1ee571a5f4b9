"""Removes from the logs of order books what their snapshots stand for.

Of each log the newest two snapshots are kept, all that is younger than is asked for,
and the snapshot from which what is kept leads on.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from marketdata.models import BookSnapshot

KEPT = timedelta(hours=24)
ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Covered:
    """What a snapshot of a token stands for; the first numbers are those still there.

    A log has no gaps: so what is there of it are the numbers from `first_change` to
    `sequence`, and from `first_trade` to `trade`.
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


def covered(before: datetime) -> list[Covered]:
    """What may go of each log, by the tokens' symbols, and is older than `before`."""
    with connection.cursor() as cursor:
        cursor.execute(COVERED, [before])
        found = [Covered(*row) for row in cursor.fetchall()]
    return [log for log in found if log.rows]


def prune(
    logs: Iterable[Covered], advance: Callable[[int], object] = lambda done: None
) -> int:
    """Delete what is covered, in steps that are each committed; return how many rows.

    It may run at any time, beside writers and beside itself: whoever comes second finds
    less to delete. `advance` is told how many rows each step deleted.
    """
    deleted = 0
    for log in logs:
        # First the snapshots: a log has to lead on from its oldest one.
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
        # Without the lower bound each step would pass again over all dead entries of
        # the index that the steps before it have left.
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
