"""Deletes old changes and trades of order books that a snapshot covers.

Each log keeps its newest two snapshots, all changes younger than the given age, and the
snapshot that the remaining changes continue. Trades are kept permanently. The database
refuses to remove what is younger than KEEP.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from partnerapi.core.database import rows_of, value_of

KEEP = timedelta(hours=24)
ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class PrunableLog:
    """The part of a token's log that a snapshot covers.

    A log has no gaps. So the part consists of the changes from `first_change` to
    `sequence`, and the older `snapshots`.
    """

    token_id: UUID
    symbol: str
    sequence: int
    first_change: int
    snapshots: int

    @property
    def changes(self) -> int:
        return self.sequence + 1 - self.first_change

    @property
    def rows(self) -> int:
        return self.snapshots + self.changes


def prunable_logs(before: datetime) -> list[PrunableLog]:
    """The prunable parts older than `before`, by the tokens' symbols."""
    found = [PrunableLog(*row) for row in rows_of(COVERED, [before])]
    return [log for log in found if log.rows]


def prune(
    logs: Iterable[PrunableLog], advance: Callable[[int], object] = lambda done: None
) -> int:
    """Delete these parts, committing each step; return the number of rows.

    It may run at any time, beside writers and other runs: a second run finds less to
    delete. `advance` receives the number of rows that each step deleted.
    """
    deleted = 0
    for log in logs:
        # Snapshots go first: a log must continue its oldest snapshot.
        done = delete(log.token_id, log.sequence, first=1, last=0)
        advance(done)
        deleted += done
        for first in range(log.first_change, log.sequence + 1, ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE - 1, log.sequence)
            done = delete(log.token_id, 0, first, last)
            advance(done)
            deleted += done
    return deleted


def delete(token_id: UUID, snapshots_before: int, first: int, last: int) -> int:
    """Delete snapshots before a change, and the changes `first` to `last`."""
    return value_of(PRUNE, [token_id, snapshots_before, first, last])


PRUNE = "SELECT marketdata_prune(%s, %s, %s, %s)"
COVERED = """
    SELECT h.token_id, t.symbol, s.sequence,
        coalesce((
            SELECT min(c.sequence) FROM marketdata_bookchange c
            WHERE c.token_id = h.token_id AND c.sequence <= s.sequence
        ), s.sequence + 1),
        (
            SELECT count(*) FROM marketdata_booksnapshot o
            WHERE o.token_id = h.token_id AND o.sequence < s.sequence
        )
    FROM marketdata_orderbookhead h
    JOIN issuers_token t ON t.id = h.token_id
    CROSS JOIN LATERAL (
        SELECT o.sequence, o.at FROM marketdata_booksnapshot o
        WHERE o.token_id = h.token_id AND o.at < %s AND o.sequence <= (
            SELECT n.sequence FROM marketdata_booksnapshot n
            WHERE n.token_id = h.token_id ORDER BY n.sequence DESC OFFSET 1 LIMIT 1
        )
        ORDER BY o.sequence DESC LIMIT 1
    ) s
    ORDER BY t.symbol
"""
