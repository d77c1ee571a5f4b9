"""Versions of books that sessions get, and the texts that lead to each.

Conflation decides when a book's state becomes a version, for all sessions at once. So
all sessions get the same text except MDReqID(262), and it is built once.
"""

from collections.abc import Collection, Hashable, Iterator, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple, Protocol

from marketdata.books.feed import LiveBook
from marketdata.books.livebook import NumberedLadder, Tape, TradeRow
from marketdata.books.orderbook import CHANGE, NEW, Ladder, Update, difference
from marketdata.fix.acceptor.outbound import NOTHING, Text, as_text
from marketdata.fix.protocol.instruments import identity
from marketdata.fix.protocol.messages import (
    ASKS,
    BIDS,
    CLOSING,
    FIGURES,
    HIGH,
    LOW,
    OPENING,
    TRADES,
    VOLUME,
    VWAP,
    figure_entry,
    figure_update,
    full_refresh,
    incremental_refresh,
    last_trade_entry,
    level_entries,
    numbering,
    trade_entries,
)
from marketdata.fix.protocol.rules import DEEPEST, TRADES_IN_A_MESSAGE

EMPTY = Ladder((), ())
SIDES = (BIDS, ASKS)


class TradesLost(Exception):
    """Unsent trades are no longer kept."""


class History(NamedTuple):
    """The scope of a version's numbers: those of another history mean nothing in it.

    `identity` is how a W names the book, `symbol` how an X does.
    """

    book: LiveBook
    rebuilt: int
    symbol: str
    identity: str


class Figure(NamedTuple):
    """A figure of a trading day, and the time of the last trade in it."""

    day: date
    value: int
    at: datetime


def figures_of(tape: Tape) -> dict[str, Figure]:
    """The figures of the last day with a trade, and the close of the last that ended.

    By MDEntryType(269).
    """
    found = {}
    if day := tape.day:
        values = zip(
            (OPENING, HIGH, LOW, VWAP, VOLUME),
            (day.open, day.high, day.low, day.vwap, day.volume),
            strict=True,
        )
        found = {type_: Figure(day.day, value, day.at) for type_, value in values}
    if closed := tape.closed:
        found[CLOSING] = Figure(closed.day, closed.close, closed.at)
    return found


class BookVersion:
    """A book's state: its best levels, its last trade, the figures of its days."""

    __slots__ = ("at", "figures", "history", "ladder", "last_trade", "number",
                 "sequence", "texts", "trade", "watched")  # fmt: skip

    def __init__(
        self, watched: "WatchedBook", book: NumberedLadder, tape: Tape
    ) -> None:
        self.watched = watched
        self.number = watched.number
        self.history = watched.history
        self.sequence, self.ladder, self.at = book
        self.last_trade, self.trade = tape.number, tape.trade
        self.figures = figures_of(tape)
        self.texts: dict[Hashable, Text] = {}

    def best(self, depth: int) -> Ladder:
        if depth == DEEPEST:
            return self.ladder
        return Ladder(self.ladder.bids[:depth], self.ladder.asks[:depth])

    def follows(self, before: "BookVersion") -> bool:
        """Whether an X leads here; otherwise a W is needed."""
        return before.history.identity == self.history.identity

    def shows_what(
        self, before: "BookVersion", depth: int, entry_types: Collection[str]
    ) -> bool:
        """Whether its W would equal one of `before`, apart from times."""
        return not self.updates_since(before, depth, entry_types) and not any(
            self.figure_updates(before, entry_types)
        )

    def full_refresh(
        self,
        depth: int,
        entry_types: Collection[str],
        with_trade: bool,
        is_numbered: bool,
    ) -> Text:
        """Of W, what follows MDReqID(262); `with_trade`: and the last trade."""
        key = depth, entry_types, with_trade, is_numbered
        text = self.texts.get(key)
        if text is None:
            entries = full_refresh(
                self.history.identity,
                self.best(depth),
                self.at,
                entry_types,
                self.entries_after_levels(entry_types, with_trade),
            )
            text = self.texts[key] = self.text(entries, is_numbered)
        return text

    def text(self, entries: str, is_numbered: bool) -> Text:
        return as_text(entries + numbering(self.sequence) if is_numbered else entries)

    def entries_after_levels(
        self, entry_types: Collection[str], with_trade: bool
    ) -> Iterator[str]:
        if with_trade and self.trade and TRADES in entry_types:
            yield last_trade_entry(self.trade)
        for type_ in FIGURES:
            if type_ in entry_types and (figure := self.figures.get(type_)):
                yield figure_entry(type_, figure.value, figure.at)

    def incremental_refresh(
        self,
        before: "BookVersion",
        trades: tuple[TradeRow, ...],
        depth: int,
        entry_types: Collection[str],
        is_numbered: bool,
    ) -> Text:
        """Of X, what follows MDReqID(262): levels since a version, and these trades.

        NOTHING: nothing has changed.
        """
        key = (
            before.number,
            trades and trades[0].number,
            depth,
            entry_types,
            is_numbered,
        )
        text = self.texts.get(key)
        if text is None:
            entries = self.entries_since(before, trades, depth, entry_types)
            text = self.texts[key] = (
                self.text(incremental_refresh(entries), is_numbered)
                if entries
                else NOTHING
            )
        return text

    def entries_since(
        self,
        before: "BookVersion",
        trades: Sequence[TradeRow],
        depth: int,
        entry_types: Collection[str],
    ) -> list[str]:
        symbol = self.history.symbol
        updates = self.updates_since(before, depth, entry_types)
        entries = level_entries(symbol, updates, self.at)
        if trades:
            entries += trade_entries(symbol, trades)
        entries += self.figure_updates(before, entry_types)
        return entries

    def updates_since(
        self, before: "BookVersion", depth: int, entry_types: Collection[str]
    ) -> Sequence[Update]:
        if before is self:
            return ()
        updates = difference(before.best(depth), self.best(depth))
        return [one for one in updates if SIDES[one.side] in entry_types]

    def figure_updates(
        self, before: "BookVersion", entry_types: Collection[str]
    ) -> Iterator[str]:
        """The updates of figures; a figure of another day is new."""
        if before is self:
            return
        for type_ in FIGURES:
            now, was = self.figures.get(type_), before.figures.get(type_)
            if type_ not in entry_types or now is None:
                continue
            if was is None or was[:2] != now[:2]:
                action = CHANGE if was and was.day == now.day else NEW
                symbol = self.history.symbol
                yield figure_update(symbol, action, type_, now.value, now.at)

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
                # The next version knows which trades are still kept.
                return ()
            raise TradesLost
        return tuple(trades[: min(self.last_trade - number, TRADES_IN_A_MESSAGE)])


class Owner(Protocol):
    """A session."""

    def on_publication(self, watchers: Any) -> object: ...


class Watcher(Protocol):
    """A session's interest in a book; its owner sends what leads to a new version."""

    owner: "Owner"


class WatchedBook:
    """A book that sessions watch, and its newest version."""

    def __init__(self, book: LiveBook) -> None:
        self.book = book
        self.watchers: dict[Watcher, None] = {}
        self.due = 0
        self.number = 0
        self.version = self.current_version()

    def current_version(self) -> BookVersion:
        """A version of the book as it stands."""
        book = self.book
        self.history = History(book, book.rebuilt, book.symbol, identity(book))
        # Trades first: a trade that arrives meanwhile belongs to the next version.
        tape = book.tape
        ladder = book.numbered_ladder(DEEPEST)
        if not book.live:
            # Its token left the market, or its log has a hole: the feed does not follow
            # it.
            ladder = ladder._replace(ladder=EMPTY)
        return BookVersion(self, ladder, tape)

    def publish(self) -> None:
        self.number += 1
        self.version = self.current_version()
