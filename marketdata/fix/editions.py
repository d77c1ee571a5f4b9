"""The states of books that sessions are led to, and the text that leads there.

A book's state becomes an edition when the pace says so, for all sessions at once; so
what one session is sent is, but for MDReqID(262), what all are sent, and made once.
"""

import math
from collections.abc import Collection, Hashable
from threading import Event, Lock, Thread
from time import monotonic
from typing import Protocol
from uuid import UUID

from marketdata.feed import Feed, LiveBook
from marketdata.fix.messages import (
    identity,
    increment,
    level_entries,
    snapshot,
    trade_entries,
)
from marketdata.fix.rules import DEEPEST, TRADES_IN_A_MESSAGE
from marketdata.livebook import TradeRow
from marketdata.orderbook import Change, Ladder, OrderBook, difference

STEPS = 5
"""Moments in an interval at which books may be published: what falls together is sent
together, and none waits long for its moment."""
MOST_BEHIND = 1_000
"""Editions of one message each that a session may still be sent one by one."""
EMPTY = Ladder((), ())


class TradesLost(Exception):
    """Trades that were not sent are no longer kept."""


class Edition:
    """A book's state: its best levels, and its last trade.

    `next` is the edition of the following message where each message has one.
    """

    __slots__ = ("book", "history", "identity", "ladder", "last_trade", "lock", "next",
                 "number", "sequence", "symbol", "texts")  # fmt: skip

    def __init__(
        self,
        book: LiveBook,
        number: int,
        sequence: int,
        ladder: Ladder,
        last_trade: int,
    ) -> None:
        self.book = book
        self.number = number
        self.sequence = sequence
        self.ladder = ladder
        self.last_trade = last_trade
        # Numbers of one history say nothing of another.
        self.history = book, book.rebuilt
        self.symbol = book.symbol
        self.identity = identity(book)
        self.next: Edition | None = None
        self.texts: dict[Hashable, str] = {}
        self.lock = Lock()

    def best(self, depth: int) -> Ladder:
        if depth == DEEPEST:
            return self.ladder
        return Ladder(self.ladder.bids[:depth], self.ladder.asks[:depth])

    def snapshot(self, depth: int, entry_types: Collection[str]) -> str:
        """Of W, what follows MDReqID(262)."""
        key = depth, entry_types
        with self.lock:
            text = self.texts.get(key)
            if text is None:
                text = snapshot(self.identity, self.best(depth), entry_types)
                self.texts[key] = text
        return text

    def increment(
        self,
        before: "Edition",
        trades: tuple[TradeRow, ...],
        depth: int,
        entry_types: Collection[str],
    ) -> str:
        """Of X, what follows MDReqID(262): levels since an edition, and these trades.

        "" where there is nothing to say.
        """
        key = before.number, trades and trades[0].number, depth, entry_types
        with self.lock:
            text = self.texts.get(key)
            if text is None:
                updates = [
                    update
                    for update in difference(before.best(depth), self.best(depth))
                    if str(update.side) in entry_types
                ]
                text = ""
                if updates or trades:
                    text = increment(
                        level_entries(self.symbol, updates),
                        trade_entries(self.symbol, trades),
                    )
                self.texts[key] = text
        return text

    def trades_after(self, number: int) -> tuple[TradeRow, ...]:
        """The trades that follow one, as many as a message holds.

        Raises:
            TradesLost: the book keeps them no longer.
        """
        if number == self.last_trade:
            return ()
        trades = self.book.trades_since(number)
        if trades is None:
            raise TradesLost
        return tuple(trades[: min(self.last_trade - number, TRADES_IN_A_MESSAGE)])


class Watcher(Protocol):
    """A session, which is woken when a book that it watches has a new edition."""

    wake: Event


class WatchedBook:
    """A book that sessions watch, and its newest edition."""

    def __init__(self, book: LiveBook, *, each_message: bool) -> None:
        self.book = book
        self.watchers: dict[Watcher, int] = {}
        self.due = 0
        # Where each message has an edition: the book, led on message by message.
        self.own = OrderBook() if each_message else None
        self.number = 0
        self.edition = self.now()

    def now(self) -> Edition:
        """An edition of the book as it stands."""
        depth = DEEPEST if self.own is None else 0
        # Trades first: one that comes meanwhile is left to the next edition.
        last_trade = self.book.last_trade
        sequence, ladder = self.book.numbered_ladder(depth)
        if not self.book.live:
            # The token left the market, or its log has a hole: nothing can be had.
            ladder = EMPTY
        if self.own is not None:
            self.own = OrderBook(
                Change(side, *level) for side in (0, 1) for level in ladder[side]
            )
            ladder = self.own.ladder(DEEPEST)
        return Edition(self.book, self.number, sequence, ladder, last_trade)

    def publish(self) -> None:
        before = self.edition
        messages = None
        if self.own is not None and self.book.live:
            is_same = before.history == (self.book, self.book.rebuilt)
            messages = self.book.since(before.sequence) if is_same else None
        if not messages or self.own is None:
            self.number += 1
            self.edition = self.now()
            return
        last_trade = self.book.last_trade
        for sequence, changes in messages:
            self.number += 1
            self.own.apply(changes)
            edition = Edition(
                self.book, self.number, sequence, self.own.ladder(DEEPEST),
                last_trade if sequence == messages[-1][0] else before.last_trade,
            )  # fmt: skip
            before.next = edition
            before = edition
        self.edition = before

    def after(self, edition: Edition) -> Edition:
        """What a session that was shown this edition is to be shown next."""
        if edition.next and self.number - edition.number <= MOST_BEHIND:
            return edition.next
        return self.edition


class Pace:
    """Publishes what the feed changed: a book at most once in `interval` seconds.

    With an interval of 0 every message of a log is an edition. The moments of a book
    follow its first change, not the clock: one that changes as often as it may be
    published is published as often, and soon.
    """

    def __init__(self, feed: Feed, interval: float) -> None:
        self.feed = feed
        self.step = interval / STEPS
        self.watched: dict[UUID, WatchedBook] = {}
        self.changed: set[WatchedBook] = set()
        self.has_changes = Event()
        self.stopping = Event()
        self.lock = Lock()
        self.thread = Thread(target=self.run, name="FIX pace", daemon=True)

    def start(self) -> None:
        self.feed.listen(self.heard)
        self.thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self.has_changes.set()
        self.thread.join()

    def watch(self, book: LiveBook, watcher: Watcher) -> WatchedBook:
        with self.lock:
            watched = self.watched.get(book.token_id)
            if watched is None:
                watched = WatchedBook(book, each_message=not self.step)
                self.watched[book.token_id] = watched
            watched.watchers[watcher] = watched.watchers.get(watcher, 0) + 1
        return watched

    def unwatch(self, watched: WatchedBook, watcher: Watcher) -> None:
        with self.lock:
            watched.watchers[watcher] -= 1
            if not watched.watchers[watcher]:
                del watched.watchers[watcher]
            if not watched.watchers:
                self.watched.pop(watched.book.token_id)
                self.changed.discard(watched)

    def heard(self, books: Collection[LiveBook]) -> None:
        """Called on the feed's thread."""
        with self.lock:
            for book in books:
                watched = self.watched.get(book.token_id)
                # A token that came back has another book; the old one may be last
                # heard of together with it.
                if watched and (book.live or book is watched.book):
                    watched.book = book
                    self.changed.add(watched)
            if self.changed:
                self.has_changes.set()

    def run(self) -> None:
        while True:
            self.has_changes.wait()
            if self.stopping.is_set():
                return
            moment = 0
            if self.step:
                moment = math.ceil(monotonic() / self.step)
                self.stopping.wait(moment * self.step - monotonic())
            self.publish(moment)

    def publish(self, moment: int) -> None:
        """Make editions of the changed books that are due, and wake who watches."""
        watchers: set[Watcher] = set()
        with self.lock:
            due = [watched for watched in self.changed if watched.due <= moment]
            self.changed.difference_update(due)
            if not self.changed:
                self.has_changes.clear()
            for watched in due:
                watched.publish()
                watched.due = moment + STEPS
                watchers.update(watched.watchers)
        for watcher in watchers:
            watcher.wake.set()
