"""The states of books that sessions are led to, and the text that leads there.

A book's state becomes an edition when the pace says so, for all sessions at once; so
what one session is sent is, but for MDReqID(262), what all are sent, and made once.
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
"""Editions of one message each that a session may still be sent one by one."""
EMPTY = Ladder((), ())
SIDES = (BIDS, ASKS)


class TradesLost(Exception):
    """Trades that were not sent are no longer kept."""


class History(NamedTuple):
    """What an edition's numbers are of: those of another say nothing of them.

    `identity` is how a W names the book, `symbol` how an X does.
    """

    book: LiveBook
    rebuilt: int
    symbol: str
    identity: str


class Edition:
    """A book's state: its best levels, and its last trade.

    Where each message has an edition, `next` is the following one and `updates` what
    its message did; it has a `ladder` only if somebody needs it, or it was the last.
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
        self.next: Edition | None = None
        self.texts: dict[Hashable, str] = {}

    def best(self, depth: int) -> Ladder:
        assert self.ladder is not None
        if depth == DEEPEST:
            return self.ladder
        return Ladder(self.ladder.bids[:depth], self.ladder.asks[:depth])

    def follows(self, before: "Edition") -> bool:
        """Whether an X can lead here; else it takes a W."""
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
        before: "Edition",
        trades: tuple[TradeRow, ...],
        depth: int,
        entry_types: Collection[str],
    ) -> str:
        """Of X, what follows MDReqID(262): levels since an edition, and these trades.

        "" where there is nothing to say.
        """
        key = before.number, trades and trades[0].number, depth, entry_types
        text = self.texts.get(key)
        if text is None:
            with self.watched.lock:
                # Whoever had the lock before may have made it.
                if key not in self.texts:
                    updates = self.updates_since(before, depth)
                    self.texts[key] = self.told(updates, trades, entry_types)
                text = self.texts[key]
        return text

    def told(
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

    def updates_since(self, before: "Edition", depth: int) -> Sequence[Update]:
        if before is self:
            return ()
        if before.next is self and depth == DEEPEST:
            return self.updates
        return difference(before.best(depth), self.best(depth))

    def trades_after(self, number: int) -> tuple[TradeRow, ...]:
        """The trades that follow one, as many as a message holds.

        Raises:
            TradesLost: the book keeps them no longer.
        """
        if number == self.last_trade:
            return ()
        book = self.history.book
        trades = book.trades_since(number)
        if trades is None:
            if book.rebuilt != self.history.rebuilt:
                # The next edition tells what there still is.
                return ()
            raise TradesLost
        return tuple(trades[: min(self.last_trade - number, TRADES_IN_A_MESSAGE)])


class Watcher(Protocol):
    """Who is led from edition to edition; `wake` is set when there is a new one.

    `needs_ladders`: of each edition, not only what its message did.
    """

    wake: Event
    needs_ladders: bool


class WatchedBook:
    """A book that sessions watch, and its newest edition."""

    def __init__(self, book: LiveBook) -> None:
        self.book = book
        self.watchers: set[Watcher] = set()
        self.ladders_needed = 0
        self.due = 0
        self.number = 0
        # Held while a text is made, so that the others find it.
        self.lock = Lock()
        self.edition = self.now()

    def now(self) -> Edition:
        """An edition of the book as it stands."""
        # Trades first: one that comes meanwhile is left to the next edition.
        last_trade = self.look()
        sequence, ladder = self.ladder(DEEPEST)
        return Edition(self, sequence, last_trade, ladder)

    def look(self) -> int:
        """Note which history the book has; the number of its last trade."""
        book = self.book
        self.history = History(book, book.rebuilt, book.symbol, identity(book))
        return book.last_trade

    def ladder(self, depth: int) -> tuple[int, Ladder]:
        sequence, ladder = self.book.numbered_ladder(depth)
        # Nobody follows a book whose token left the market, or whose log has a hole.
        return sequence, ladder if self.book.live else EMPTY

    def publish(self) -> None:
        self.number += 1
        self.edition = self.now()

    def after(self, edition: Edition) -> Edition:
        """What a session that was shown this edition is to be shown next."""
        if edition.next and self.number - edition.number <= MOST_BEHIND:
            return edition.next
        return self.edition


class BookByMessage(WatchedBook):
    """One of which each message is an edition."""

    def now(self) -> Edition:
        last_trade = self.look()
        sequence, ladder = self.ladder(0)
        self.levels: list[dict[int, int]] = [dict(ladder.bids), dict(ladder.asks)]
        return Edition(self, sequence, last_trade, self.best())

    def best(self) -> Ladder:
        bids, asks = self.levels
        return Ladder(
            tuple(Level(p, bids[p]) for p in sorted(bids, reverse=True)[:DEEPEST]),
            tuple(Level(p, asks[p]) for p in sorted(asks)[:DEEPEST]),
        )

    def publish(self) -> None:
        before, history = self.edition, self.history
        last_trade = self.look()
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
                edition = Edition(self, sequence, last_trade, self.best(), updates)
            else:
                best = self.best() if self.ladders_needed else None
                edition = Edition(self, sequence, before.last_trade, best, updates)
            before.next = edition
            before = edition
        self.edition = before

    def apply(self, changes: Sequence[Change]) -> Sequence[Update]:
        """Apply a message; what becomes of the best levels, deletions first."""
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
        # Levels may come and go within a message, fall out of sight or come into it.
        before = self.best()
        for side, price, quantity in changes:
            if quantity:
                self.levels[side][price] = quantity
            else:
                del self.levels[side][price]
        return difference(before, self.best())
