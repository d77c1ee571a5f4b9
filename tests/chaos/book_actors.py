"""The actors in histories of order books: writers, a feed, and their end.

To be imported before Django is set up; each runs in a process that is forked then.
"""

import contextlib
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterable
from multiprocessing.connection import Connection as Pipe
from threading import Lock
from typing import Any, NamedTuple
from uuid import UUID

from tests.chaos.book_logs import prune

SNAPSHOT_EVERY = 5
"""Changes; in earnest more, so that these histories would have none."""
REACH_SECONDS = 150.0
NARROW = 6
"""Prices of a side, for books of which every level is often seen at the top."""

fork = multiprocessing.get_context("fork")


class Attempt(NamedTuple):
    """A call of a writer, whose messages are put together here."""

    token_id: UUID
    changes: list[tuple[int, int, int]]
    deals: list[tuple[int, int]]


class Acknowledged(NamedTuple):
    """One that was answered with the log's last numbers after it."""

    sequence: int
    trade: int
    attempt: Attempt


class Seen(NamedTuple):
    """A book as the feed has it, and as a reader of its journal has."""

    sequence: int
    last_trade: int
    book: dict[tuple[int, int], int]
    kept: dict[tuple[int, int], int]
    trades: list[tuple[int, int, int]]
    rebuilt: int


def write(pipe: Pipe) -> None:
    """Write random changes to the named tokens; to be run in a process.

    Reports each call before it is made, and its result.
    """
    import marketdata.books.log
    from marketdata.books.log import record
    from marketdata.books.orderbook import CrossedBook, ImpossibleChange

    marketdata.books.log.SNAPSHOT_EVERY = SNAPSHOT_EVERY
    while True:
        token_ids, seed, records, width = pipe.recv()
        dice = random.Random(seed)
        for _ in range(records):
            token_id = dice.choice(token_ids)
            messages = [throw(dice, width) for _ in range(dice.choice((1, 1, 1, 5)))]
            changes = [tuple(c) for message in messages for c in message.changes]
            deals = [tuple(d) for message in messages for d in message.deals]
            pipe.send(Attempt(token_id, changes, deals))
            try:
                recorded = record(token_id, messages, "storm")
            except (ImpossibleChange, CrossedBook):
                pipe.send(None)
            else:
                pipe.send((recorded.sequence, recorded.trade))


def throw(dice: random.Random, width: int) -> Any:
    """A message that most books can make: few cross, few take away what is not there.

    Each side has `width` prices. Another writer's changes are not known, so that some
    are refused.
    """
    from marketdata.books.log import Deal, Message
    from marketdata.books.orderbook import Change

    changes = []
    for _ in range(dice.choice((0, 1, 1, 2, 4))):
        side = dice.randrange(2)
        # The sides meet in one price; books of few levels have a snapshot sooner.
        price = 100 + (dice.randrange(width) if side else -dice.randrange(width))
        changes.append(Change(side, price, dice.choice((0, 1, 2, 3, 4, 5, 6, 7))))
    # Never an empty change: it would have the numbers of the previous call.
    least = 0 if changes else 1
    deals = [Deal(100, dice.randrange(1, 9)) for _ in range(dice.randrange(least, 2))]
    return Message(changes, deals)


def follow(pipe: Pipe) -> None:
    """Run a feed, and answer with its books once they stand at given numbers."""
    from marketdata.books.feed import Feed, LiveBook
    from marketdata.books.orderbook import OrderBook

    feed = Feed()
    lock = Lock()
    kept: dict[UUID, tuple[LiveBook, int, OrderBook]] = {}

    def keep(books: Iterable[LiveBook]) -> None:
        """Go by the journal wherever it leads on, as one who sends every change."""
        with lock:
            for book in books:
                keep_one(book)

    def keep_one(book: LiveBook) -> None:
        known, sequence, mine = kept.get(book.token_id, (None, 0, OrderBook()))
        messages = book.since(sequence) if known is book else None
        if messages is None:
            sequence, ladder, _ = book.numbered_ladder(0)
            mine = OrderBook(
                (side, *level) for side in (0, 1) for level in ladder[side]
            )
        else:
            for _, changes in messages:
                mine.apply(changes)
            if messages:
                sequence, _ = messages[-1]
        kept[book.token_id] = book, sequence, mine

    def stands(token_id: UUID, sequence: int, trade: int) -> bool:
        book = feed.books.get(token_id)
        if book is None or book.sequence < sequence or book.last_trade < trade:
            return False
        with lock:
            known, kept_to, _ = kept.get(token_id, (None, 0, None))
            return known is book and kept_to >= sequence

    feed.subscribe(keep)
    feed.start()
    keep(feed.books.values())
    while True:
        wanted: dict[UUID, tuple[int, int]] = pipe.recv()
        deadline = time.monotonic() + REACH_SECONDS
        while time.monotonic() < deadline and not all(
            stands(token_id, *numbers) for token_id, numbers in wanted.items()
        ):
            time.sleep(0.005)
        seen = {}
        for token_id in wanted.keys() & kept.keys():
            book = feed.books[token_id]
            seen[token_id] = Seen(
                book.sequence,
                book.last_trade,
                as_dictionary(book.ladder(0)),
                as_dictionary(kept[token_id][2].ladder()),
                [trade[:3] for trade in book.trades],
                book.rebuilt,
            )
        pipe.send(seen)


def as_dictionary(ladder: Any) -> dict[tuple[int, int], int]:
    return {
        (side, price): quantity for side in (0, 1) for price, quantity in ladder[side]
    }


class Writer:
    """A process that writes; its last call before a kill has an unknown outcome."""

    def __init__(self) -> None:
        self.kills = self.refused = 0
        self.acknowledged: list[Acknowledged] = []
        self.unknown: list[Attempt] = []
        self.attempt: Attempt | None = None
        self.left = 0
        self.start()

    def start(self) -> None:
        self.pipe, child = multiprocessing.Pipe()
        self.process = fork.Process(target=write, args=(child,), daemon=True)
        self.process.start()
        child.close()

    def begin(
        self, token_ids: list[UUID], seed: float, records: int, width: int
    ) -> None:
        """Have it write so many calls, on prices of so many levels a side."""
        self.acknowledged, self.unknown, self.left = [], [], records
        self.width = width
        self.pipe.send((token_ids, seed, records, width))

    def read(self) -> None:
        """Read its reports.

        Raises:
            EOFError: it was killed, and nothing more is there.
        """
        while self.pipe.poll():
            told = self.pipe.recv()
            if isinstance(told, Attempt):
                self.attempt = told
                continue
            assert self.attempt is not None
            if told is None:
                self.refused += 1
            else:
                sequence, trade = told
                self.acknowledged.append(Acknowledged(sequence, trade, self.attempt))
            self.attempt = None
            self.left -= 1

    def kill(self, token_ids: list[UUID], seed: float) -> None:
        """Kill it, and have another one write the rest."""
        self.process.kill()
        self.process.join()
        with contextlib.suppress(EOFError, ConnectionResetError):
            self.read()
            self.pipe.recv()
        if self.attempt is not None:
            self.unknown.append(self.attempt)
            self.attempt = None
            self.left -= 1
        self.pipe.close()
        self.kills += 1
        self.start()
        self.pipe.send((token_ids, seed, self.left, self.width))


class FeedProcess:
    """A feed in a process of its own, killed and put to sleep."""

    def __init__(self) -> None:
        self.kills = self.sleeps = 0
        self.start()

    def start(self) -> None:
        self.pipe, child = multiprocessing.Pipe()
        self.process = fork.Process(target=follow, args=(child,), daemon=True)
        self.process.start()
        child.close()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def kill(self) -> None:
        self.end()
        self.start()
        self.kills += 1

    def sleep(self, seconds: float, token_ids: list[UUID]) -> None:
        """Suspend it while the log is pruned, so that it misses changes."""
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
            prune(token_ids)
        finally:
            os.kill(self.process.pid, signal.SIGCONT)
        self.sleeps += 1

    def books(self, wanted: dict[UUID, tuple[int, int]]) -> dict[UUID, Seen]:
        self.pipe.send(wanted)
        seen: dict[UUID, Seen] = self.pipe.recv()
        return seen
