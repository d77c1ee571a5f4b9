"""One token's book as a feed keeps it: the feed's thread writes, any thread reads."""

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import takewhile
from threading import Lock
from typing import Any, NamedTuple
from uuid import UUID

from marketdata.books.collar import collar
from marketdata.books.days import DayFigures, day_of, first_trade
from marketdata.books.orderbook import Change, Ladder, OrderBook

JOURNAL_CHANGES = 4_000
KEPT_TRADES = 2_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ChangeRow = tuple[int, int, int, int, bool, int]
"""Sequence, side, price in cents, quantity, ends_message, microseconds since 1970."""


class Facts(NamedTuple):
    """The names of a token and its issuer, and the facts of the share class.

    `is_primary`: the issuer still sells it, and there is no order book.
    `phase` is the internal market's phase, with the reason of a halt. None: the book is
    fed from outside. `busts` are its busted trades, each with number and price, in the
    order of the busts. Prices are multiples of `tick_cents`, or from each price of the
    `tick_table` on of the tick beside it, and quantities multiples of `lot_units`.
    Limits lie within `collar_bps` of `reference_price`, cents. `indication` has the
    price at which a call would end, and the units bid and offered there.
    """

    symbol: str
    isin: str | None
    name: str
    issuer_id: str
    is_public: bool
    issuer_name: str = ""
    class_type: str | None = None
    votes_per_share: int | None = None
    authorized_units: int | None = None
    country: str | None = None
    phase: str | None = None
    halt_reason: str | None = None
    busts: list[list[int]] | None = None
    tick_cents: int = 1
    tick_table: list[list[int]] | None = None
    lot_units: int = 1
    reference_price: int | None = None
    collar_bps: int | None = None
    indication: list[int] | None = None
    is_primary: bool = False


class BrokenLog(ValueError):
    """The log does not continue a book. The message says where."""


class PrunedLog(BrokenLog):
    """The changes after the book's last were deleted before they were read."""


class TradeRow(NamedTuple):
    """A trade; price in euro cents, quantity in units."""

    number: int
    price: int
    quantity: int
    at: datetime


class NumberedLadder(NamedTuple):
    """A ladder, with the number and the time of its last change."""

    sequence: int
    ladder: Ladder
    at: datetime | None


class Tape(NamedTuple):
    """The last trade of a book, and the figures of its days.

    `number` is the last trade's. `day` is the last day with a trade. `closed` is the
    last day that has ended: the same day, or the one before.
    """

    number: int
    trade: TradeRow | None
    day: DayFigures | None
    closed: DayFigures | None


class LiveBook:
    """A book after change `sequence`, made at `at`, with trades to `last_trade`.

    Only a feed writes it. All its numbers belong to one history. `rebuilt` counts how
    often the log was pruned before it was read. `live` is False once the feed no longer
    follows it: its token is gone, its log has a hole, or its log has taken another
    course (another LiveBook then replaces it). `is_silent`: the book's writer no longer
    reports that it follows its venue.
    """

    symbol: str
    isin: str | None
    name: str
    issuer_id: str
    is_public: bool
    issuer_name: str
    class_type: str | None
    votes_per_share: int | None
    authorized_units: int | None
    country: str | None
    phase: str | None
    halt_reason: str | None
    busts: list[list[int]] | None
    tick_cents: int
    tick_table: list[list[int]] | None
    lot_units: int
    reference_price: int | None
    collar_bps: int | None
    indication: list[int] | None
    is_primary: bool

    def __init__(self, token_id: UUID, *facts: Any) -> None:
        self.token_id = token_id
        self.facts: Facts | None = None
        self.describe(*facts)
        self.live = True
        self.is_silent = False
        self.rebuilt = 0
        self.lock = Lock()
        self.stand_at(0, None, ())

    def __repr__(self) -> str:
        return f"<LiveBook {self.symbol} at {self.sequence}>"

    def ladder(self, depth: int) -> Ladder:
        """The `depth` best levels of each side, 0: all. Built once for all readers."""
        return self.numbered_ladder(depth).ladder

    def numbered_ladder(self, depth: int) -> NumberedLadder:
        """The ladder with the number from which `since` continues it."""
        found = self.ladders.get(depth)
        if found is None:
            with self.lock:
                # The last holder of the lock may have built it, or changed the book.
                found = self.ladders.get(depth)
                if found is None:
                    found = NumberedLadder(
                        self.sequence, self.book.ladder(depth), self.at
                    )
                    self.ladders[depth] = found
        return found

    def since(self, sequence: int) -> list[tuple[int, list[Change]]] | None:
        """Each message after a change, in order: its last number and its changes.

        None if they are no longer kept, or if no message ended at that number. Then
        only a whole ladder continues the book.
        """
        with self.lock:
            if not self.journal_begin <= sequence <= self.sequence:
                return None
            newest = reversed(self.journal)
            messages = list(takewhile(lambda message: message[0] > sequence, newest))
        messages.reverse()
        if messages and messages[0][0] - len(messages[0][1]) != sequence:
            return None
        return messages

    def trades_since(self, number: int) -> list[TradeRow] | None:
        """Each trade after this one, in order. None if some are no longer kept."""
        with self.lock:
            if not self.last_trade - len(self.trades) <= number <= self.last_trade:
                return None
            newest = reversed(self.trades)
            trades = list(takewhile(lambda trade: trade.number > number, newest))
        trades.reverse()
        return trades

    @property
    def trades_gone(self) -> int:
        """The last trade that is no longer kept. 0: all are kept."""
        with self.lock:
            return self.last_trade - len(self.trades)

    @property
    def limits(self) -> tuple[int, int] | None:
        """The lowest and the highest price of an order, cents. None: no limits."""
        if self.reference_price is None or self.collar_bps is None:
            return None
        return collar(self.reference_price, self.collar_bps)

    @property
    def tape(self) -> Tape:
        with self.lock:
            trade = self.trades[-1] if self.trades else None
            return Tape(self.last_trade, trade, self.day, self.closed)

    # Only the feed's thread calls these.

    def describe(self, *facts: Any) -> bool:
        """Set the Facts; returns whether one of them is new."""
        described = Facts(*facts)
        if described == self.facts:
            return False
        self.facts = described
        vars(self).update(described._asdict())
        return True

    def stand_at(
        self, sequence: int, at: datetime | None, levels: Iterable[Change]
    ) -> None:
        """Begin at a snapshot. Its levels count as one message."""
        self.book = OrderBook(levels)
        self.sequence = sequence
        self.at = at
        self.ladders: dict[int, NumberedLadder] = {}
        self.journal: deque[tuple[int, list[Change]]] = deque()
        self.journal_begin = sequence
        # The last row read, and its message: a page of rows may end within a message.
        self.read = sequence
        self.last_row: ChangeRow | None = None
        self.pending: list[Change] = []
        self.trades: deque[TradeRow] = deque(maxlen=KEPT_TRADES)
        self.last_trade = 0
        self.day: DayFigures | None = None
        self.closed: DayFigures | None = None

    def adopt(self, other: "LiveBook") -> None:
        """Go on from a later book of the same token."""
        with self.lock:
            self.book, self.sequence, self.at = other.book, other.sequence, other.at
            self.ladders = {}
            self.journal, self.journal_begin = other.journal, other.journal_begin
            self.read, self.last_row = other.read, other.last_row
            self.pending = other.pending
            self.trades, self.last_trade = other.trades, other.last_trade
            self.day, self.closed = other.day, other.closed
            self.rebuilt += 1

    def extend(self, rows: Sequence[ChangeRow]) -> bool:
        """Apply the messages that end in these rows; returns whether there was one.

        The rows begin with the last row read before, if the log still has it.

        Raises:
            BrokenLog: they do not continue it.
            ImpossibleChange, CrossedBook: the book cannot make a message.
        """
        if rows[0][0] == self.read:
            if self.last_row not in (None, rows[0]):
                raise BrokenLog(
                    f"change {self.read} differs from the one that was read"
                )
            rows = rows[1:]
        before = self.sequence
        for row in rows:
            sequence, side, price, quantity, ends_message, at = row
            if sequence != self.read + 1:
                raise PrunedLog(
                    f"change {self.read + 1} is missing; the next one is {sequence}"
                )
            self.read = sequence
            self.last_row = row
            self.pending.append(Change(side, price, quantity))
            if ends_message:
                changes, self.pending = self.pending, []
                self.apply(changes, EPOCH + timedelta(microseconds=at))
        return self.sequence != before

    def apply(self, changes: list[Change], at: datetime) -> None:
        with self.lock:
            self.book.apply(changes)
            self.sequence = self.read
            self.at = at
            self.ladders = {}
            self.journal.append((self.sequence, changes))
            while self.sequence - self.journal_begin > JOURNAL_CHANGES:
                self.journal_begin, _ = self.journal.popleft()

    def extend_trades(self, trades: Sequence[TradeRow]) -> None:
        """Append trades.

        Raises:
            PrunedLog: they do not follow the last one.
        """
        if trades[0].number != self.last_trade + 1:
            raise PrunedLog(
                f"trade {self.last_trade + 1} is missing; the next one is "
                f"{trades[0].number}"
            )
        with self.lock:
            self.trades.extend(trades)
            self.last_trade = trades[-1].number
            for trade in trades:
                self.count(trade)

    def count(self, trade: TradeRow) -> None:
        before = self.day
        if before is None:
            self.day = first_trade(day_of(trade.at), *trade)
            return
        if trade.number <= before.through:
            return
        self.day = before.followed_by(*trade)
        if self.day.day != before.day:
            self.closed = before

    def count_anew(self, days: Sequence[DayFigures]) -> None:
        """Set the figures of the last days with a trade, the latest first.

        The latest day counts as unfinished until `end_day` reports its end.
        """
        with self.lock:
            self.day, self.closed, *_ = *days, None, None

    def end_day(self, today: date) -> bool:
        """Whether the day of the last trade has newly ended."""
        if self.day is None or self.day.day >= today or self.closed == self.day:
            return False
        with self.lock:
            self.closed = self.day
        return True
