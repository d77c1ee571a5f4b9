"""The resulting order books, compared with what their writers know."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

from tests.chaos.book_actors import Acknowledged, Attempt, FeedProcess, Writer
from tests.chaos.book_logs import ends_of


@dataclass
class Report:
    """The work done, and how many histories ended otherwise than acknowledged."""

    histories: int
    calls: int = 0
    changes: int = 0
    trades: int = 0
    refused: int = 0
    other_numbers: int = 0
    other_books: int = 0
    other_journals: int = 0
    other_trades: int = 0
    writers_killed: int = 0
    feeds_killed: int = 0
    feeds_put_to_sleep: int = 0
    redis_killed: int = 0
    pruned: int = 0
    rebuilt: int = 0
    seconds: float = 0

    @property
    def passed(self) -> bool:
        return not (
            self.other_numbers
            or self.other_books
            or self.other_journals
            or self.other_trades
        )


def in_order(
    acknowledged: list[Acknowledged], unknown: list[Attempt], end: tuple[int, int]
) -> Iterator[Attempt]:
    """A log's calls by their numbers; where some are missing, the killed writer's.

    Numbers that no call explains are passed over: the examination finds them.
    """
    at = (0, 0)
    for sequence, trade, attempt in sorted(acknowledged, key=itemgetter(0, 1)):
        before = (sequence - len(attempt.changes), trade - len(attempt.deals))
        if before != at:
            yield from unknown
        yield attempt
        at = (sequence, trade)
    if end != at:
        yield from unknown


class Truth(NamedTuple):
    """A log as its writers know it: its last change, its book, and its trades."""

    calls: int
    sequence: int
    book: dict[tuple[int, int], int]
    trades: list[tuple[int, int, int]]


def truth(token_id: UUID, writers: list[Writer], end: tuple[int, int]) -> Truth:
    acknowledged = [
        call
        for writer in writers
        for call in writer.acknowledged
        if call.attempt.token_id == token_id
    ]
    unknown = [
        attempt
        for writer in writers
        for attempt in writer.unknown
        if attempt.token_id == token_id
    ]
    book: dict[tuple[int, int], int] = {}
    trades: list[tuple[int, int, int]] = []
    sequence = 0
    for attempt in in_order(acknowledged, unknown, end):
        sequence += len(attempt.changes)
        for deal in attempt.deals:
            trades.append((len(trades) + 1, *deal))
        for side, price, quantity in attempt.changes:
            book.pop((side, price), None)
            if quantity:
                book[side, price] = quantity
    return Truth(len(acknowledged), sequence, book, trades)


def examine(
    token_ids: list[UUID], writers: list[Writer], feed: FeedProcess, report: Report
) -> None:
    """Compare the feed's books with those of what was acknowledged."""
    ends = ends_of(token_ids)
    seen = feed.books({one: end[:2] for one, end in ends.items()})
    for token_id, end in ends.items():
        calls, sequence, book, trades = truth(token_id, writers, end[:2])
        report.calls += calls
        report.changes += sequence
        report.trades += len(trades)
        report.other_numbers += (sequence, len(trades)) != end[:2]
        found = seen.get(token_id)
        if found is None:
            report.other_books += 1
            continue
        report.other_books += (found.sequence, found.book) != (sequence, book)
        report.other_journals += found.kept != book
        # What was pruned before the feed's start is not there; all else is.
        last = trades[len(trades) - len(found.trades) :]
        report.other_trades += not (
            found.last_trade == len(trades)
            and found.trades == last
            and len(last) >= end.trades_left
        )
        report.rebuilt += found.rebuilt
