"""Versions of books that sessions are sent, and the texts that lead to each.

Conflation decides when a book's state becomes a version, for all sessions at once. So
all sessions are sent the same text but for MDReqID(262), and it is made once.
"""

from collections.abc import Collection, Hashable, Sequence
from threading import Event, Lock
from typing import NamedTuple, Protocol

from marketdata.books.feed import LiveBook
from marketdata.books.livebook import TradeRow
from marketdata.books.orderbook import (
    ASK,
    BID,
    CHANGE,
    DELETE,
    NEW,
    Change,
    Ladder,
    Level,
    Update,
    difference,
)
from marketdata.fix.protocol.messages import (
    ASKS,
    BIDS,
    identity,
    increment,
    level_entries,
    snapshot,
    trade_entries,
)
from marketdata.fix.protocol.rules import DEEPEST, TRADES_IN_A_MESSAGE

MOST_BEHIND = 4_000
"""A session that is further behind skips to the newest version: of versions that are
one message each, it is sent as many one by one."""
EMPTY = Ladder((), ())
SIDES = (BIDS, ASKS)


class TradesLost(Exception):
    """Trades that were not sent are no longer kept."""


class History(NamedTuple):
    """Where a version's numbers count: numbers of another history mean nothing in it.

    `identity` is how a W names the book, `symbol` how an X does.
    """

    book: LiveBook
    rebuilt: int
    symbol: str
    identity: str


class BookVersion:
    """A book's state: its best levels, and its last trade.

    Where each message is a version, `next` is the following version and `updates` are
    what the message did. It then has a `ladder` only where a subscription needs one, or
    where it was the newest.
    """

    __slots__ = ("history", "ladder", "last_trade", "next", "number", "sequence",
                 "texts", "updates", "watched")  # fmt: skip

    def __init__(
        self,
        watched: "WatchedBook",
        sequence: int,
        last_trade: int,
        ladder: Ladder | None,
        updates: Sequence[Update] = (),
    ) -> None:
        self.watched = watched
        self.number = watched.number
        self.history = watched.history
        self.sequence = sequence
        self.last_trade = last_trade
        self.ladder = ladder
        self.updates = updates
        self.next: BookVersion | None = None
        self.texts: dict[Hashable, str] = {}

    def best(self, depth: int) -> Ladder:
        assert self.ladder is not None
        if depth == DEEPEST:
            return self.ladder
        return Ladder(self.ladder.bids[:depth], self.ladder.asks[:depth])

    def follows(self, before: "BookVersion") -> bool:
        """Whether an X leads here; else a W is needed."""
        if before.next is self:
            return True
        return (
            before.ladder is not None
            and self.ladder is not None
            and before.history.identity == self.history.identity
        )

    def snapshot(self, depth: int, entry_types: Collection[str]) -> str:
        """Of W, what follows MDReqID(262)."""
        key = depth, entry_types
        text = self.texts.get(key)
        if text is None:
            with self.watched.lock:
                if key not in self.texts:
                    self.texts[key] = snapshot(
                        self.history.identity, self.best(depth), entry_types
                    )
                text = self.texts[key]
        return text

    def increment(
        self,
        before: "BookVersion",
        trades: tuple[TradeRow, ...],
        depth: int,
        entry_types: Collection[str],
    ) -> str:
        """Of X, what follows MDReqID(262): levels since a version, and these trades.

        "" where there is nothing to say.
        """
        key = before.number, trades and trades[0].number, depth, entry_types
        text = self.texts.get(key)
        if text is None:
            with self.watched.lock:
                # The last holder of the lock may have made it.
                if key not in self.texts:
                    updates = self.updates_since(before, depth)
                    self.texts[key] = self.increment_text(updates, trades, entry_types)
                text = self.texts[key]
        return text

    def increment_text(
        self,
        updates: Sequence[Update],
        trades: Sequence[TradeRow],
        entry_types: Collection[str],
    ) -> str:
        symbol = self.history.symbol
        wanted = [one for one in updates if SIDES[one.side] in entry_types]
        entries = level_entries(symbol, wanted)
        if trades:
            entries += trade_entries(symbol, trades)
        return increment(entries) if entries else ""

    def updates_since(self, before: "BookVersion", depth: int) -> Sequence[Update]:
        if before is self:
            return ()
        if before.next is self and depth == DEEPEST:
            return self.updates
        return difference(before.best(depth), self.best(depth))

    def trades_after(self, number: int) -> tuple[TradeRow, ...]:
        """The trades that follow one, as many as a message holds.

        Raises:
            TradesLost: the book no longer keeps them.
        """
        if number == self.last_trade:
            return ()
        book = self.history.book
        trades = book.trades_since(number)
        if trades is None:
            if book.rebuilt != self.history.rebuilt:
                # The next version tells which trades there still are.
                return ()
            raise TradesLost
        return tuple(trades[: min(self.last_trade - number, TRADES_IN_A_MESSAGE)])


class Watcher(Protocol):
    """Advances from version to version; `wake` is set when there is a new one.

    `needs_ladders`: it needs the ladder of each version, not only its updates.
    """

    wake: Event
    needs_ladders: bool


class WatchedBook:
    """A book that sessions watch, and its newest version."""

    def __init__(self, book: LiveBook) -> None:
        self.book = book
        self.watchers: set[Watcher] = set()
        self.ladders_needed = 0
        self.due = 0
        self.number = 0
        # Held while a text is made, so that the other sessions find it.
        self.lock = Lock()
        self.version = self.current_version()

    def current_version(self) -> BookVersion:
        """A version of the book as it stands."""
        # Trades first: a trade that comes meanwhile belongs to the next version.
        last_trade = self.read_history()
        sequence, ladder = self.ladder(DEEPEST)
        return BookVersion(self, sequence, last_trade, ladder)

    def read_history(self) -> int:
        """Note the history of the book; the number of its last trade."""
        book = self.book
        self.history = History(book, book.rebuilt, book.symbol, identity(book))
        return book.last_trade

    def ladder(self, depth: int) -> tuple[int, Ladder]:
        sequence, ladder = self.book.numbered_ladder(depth)
        # A book whose token left the market, or whose log has a hole, is not followed.
        return sequence, ladder if self.book.live else EMPTY

    def publish(self) -> None:
        self.number += 1
        self.version = self.current_version()

    def after(self, version: BookVersion) -> BookVersion:
        """The version that a session which has this one is sent next."""
        if version.next and self.number - version.number <= MOST_BEHIND:
            return version.next
        return self.version


class BookByMessage(WatchedBook):
    """A book of which each message is a version."""

    def current_version(self) -> BookVersion:
        last_trade = self.read_history()
        sequence, ladder = self.ladder(0)
        self.levels: list[dict[int, int]] = [dict(ladder.bids), dict(ladder.asks)]
        return BookVersion(self, sequence, last_trade, self.best())

    def best(self) -> Ladder:
        bids, asks = self.levels
        return Ladder(
            tuple(Level(p, bids[p]) for p in sorted(bids, reverse=True)[:DEEPEST]),
            tuple(Level(p, asks[p]) for p in sorted(asks)[:DEEPEST]),
        )

    def publish(self) -> None:
        before, history = self.version, self.history
        last_trade = self.read_history()
        messages = None
        if self.book.live and self.history == history:
            messages = self.book.since(before.sequence)
        if not messages:
            super().publish()
            return
        newest = messages[-1][0]
        for sequence, changes in messages:
            updates = self.apply(changes)
            self.number += 1
            if sequence == newest:
                version = BookVersion(self, sequence, last_trade, self.best(), updates)
            else:
                best = self.best() if self.ladders_needed else None
                version = BookVersion(self, sequence, before.last_trade, best, updates)
            before.next = version
            before = version
        self.version = before

    def apply(self, changes: Sequence[Change]) -> Sequence[Update]:
        """Apply a message; its updates of the best levels, deletions first."""
        deepest = max(len(self.levels[BID]), len(self.levels[ASK]))
        if len(changes) == 1 and deepest < DEEPEST:
            side, price, quantity = changes[0]
            levels = self.levels[side]
            if quantity == 0:
                del levels[price]
                return (Update(DELETE, side, price, 0),)
            resting = levels.get(price)
            levels[price] = quantity
            if resting == quantity:
                return ()
            action = NEW if resting is None else CHANGE
            return (Update(action, side, price, quantity),)
        # Levels may come and go within a message, and may leave or enter the depth.
        before = self.best()
        for side, price, quantity in changes:
            if quantity:
                self.levels[side][price] = quantity
            else:
                del self.levels[side][price]
        return difference(before, self.best())
