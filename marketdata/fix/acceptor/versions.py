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
    Ladder,
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
    """A book's state: its best levels, and its last trade."""

    __slots__ = ("history", "ladder", "last_trade", "number", "sequence", "texts",
                 "watched")  # fmt: skip

    def __init__(
        self, watched: "WatchedBook", sequence: int, last_trade: int, ladder: Ladder
    ) -> None:
        self.watched = watched
        self.number = watched.number
        self.history = watched.history
        self.sequence = sequence
        self.last_trade = last_trade
        self.ladder = ladder
        self.texts: dict[Hashable, str] = {}

    def best(self, depth: int) -> Ladder:
        if depth == DEEPEST:
            return self.ladder
        return Ladder(self.ladder.bids[:depth], self.ladder.asks[:depth])

    def follows(self, before: "BookVersion") -> bool:
        """Whether an X leads here; else a W is needed."""
        return before.history.identity == self.history.identity

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
    """Advances from version to version; `wake` is set when there is a new one."""

    wake: Event


class WatchedBook:
    """A book that sessions watch, and its newest version."""

    def __init__(self, book: LiveBook) -> None:
        self.book = book
        self.watchers: set[Watcher] = set()
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
