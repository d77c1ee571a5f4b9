"""A book as a partner rebuilds it from the feed: W, then every X, by side and price.

Shares no arithmetic with the book that it is compared with.
"""

from collections import deque
from datetime import datetime
from typing import NamedTuple

from marketdata.books.orderbook import ASK, BID, Ladder, Level
from marketdata.fix.protocol.wire import Message, read_timestamp

SIDES = {"0": BID, "1": ASK}
TRADE = "2"
FIGURES = "45789B"
"""MDEntryType(269) of a trading day's figures."""
VOLUME = "B"
NEW, CHANGE, DELETE = "0", "1", "2"
TRADES_KEPT = 2_000


class Inconsistent(ValueError):
    """A message does not fit the book made by the earlier messages."""


class TradeSeen(NamedTuple):
    """Price in cents, quantity in units."""

    id: str
    price: int
    quantity: int
    at: datetime | None


def cents(text: str) -> int:
    """Price(270) in cents, exactly.

    Raises:
        Inconsistent: it is not an amount in whole cents.
    """
    whole, _, fraction = text.partition(".")
    if not (whole + fraction).isdecimal() or fraction[2:].strip("0"):
        raise Inconsistent(f"270={text[:30]} is not a whole number of cents")
    return int(whole) * 100 + int(fraction[:2].ljust(2, "0"))


def units(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise Inconsistent(f"271={text[:30]} is not a positive number of units")
    return int(text)


class Replica:
    """One instrument's book; `updates` counts the messages that made it.

    `figures` are those of the trading day, by MDEntryType(269), in cents or units.
    `sent_at` is SendingTime(52) of the last of them, as it stood there.
    """

    def __init__(self, symbol: str) -> None:
        self.symbol = symbol
        self.levels: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self.trades: deque[TradeSeen] = deque(maxlen=TRADES_KEPT)
        self.figures: dict[str, int] = {}
        self.updates = 0
        self.sent_at = ""

    def take(self, message: Message, entries: list[dict[int, str]]) -> None:
        """Apply a W, or the entries of an X that are of this instrument.

        Raises:
            Inconsistent: a new level that exists, a change or deletion of one that does
                not, a book that is crossed after the message, a field that is missing.
        """
        if message.type == "W":
            for side in self.levels:
                side.clear()
        for entry in entries:
            type_ = entry.get(269, "")
            if type_ not in (*SIDES, TRADE, *FIGURES) or (
                270 not in entry and type_ != VOLUME
            ):
                raise Inconsistent(
                    f"{self.symbol}: an entry without a known 269 and 270"
                )
            if type_ in FIGURES:
                self.figures[type_] = (
                    units(entry.get(271, "")) if type_ == VOLUME else cents(entry[270])
                )
            elif type_ == TRADE and entry.get(279) == DELETE:
                undone = entry.get(278, "")
                kept = [one for one in self.trades if one.id != undone]
                self.trades = deque(kept, maxlen=TRADES_KEPT)
            elif type_ == TRADE:
                self.take_trade(trade(entry))
            else:
                self.change(entry)
        self.updates += 1
        self.sent_at = message.get(52)
        bids, asks = self.levels
        if bids and asks and max(bids) >= min(asks):
            raise Inconsistent(
                f"{self.symbol}: crossed: best bid {max(bids)}, best ask {min(asks)} "
                "cents"
            )

    def take_trade(self, one: TradeSeen) -> None:
        """Take a trade; after a gap, trades are repeated from an earlier one."""
        while one.id and self.trades and int(self.trades[-1].id or 0) >= int(one.id):
            self.trades.pop()
        self.trades.append(one)

    def change(self, entry: dict[int, str]) -> None:
        action = entry.get(279, NEW)
        price = cents(entry[270])
        side = self.levels[SIDES[entry[269]]]
        if (price in side) == (action == NEW):
            problem = "the level already exists" if action == NEW else "no such level"
            shown = f"279={action} 269={entry[269]} 270={entry[270]}"
            raise Inconsistent(f"{self.symbol}: {shown}: {problem}")
        if action == DELETE:
            del side[price]
        else:
            side[price] = units(entry.get(271, ""))

    def ladder(self, depth: int = 0) -> Ladder:
        """The best levels, best first; depth 0: all."""
        bids, asks = self.levels
        best_bids = sorted(bids.items(), reverse=True)[: depth or None]
        best_asks = sorted(asks.items())[: depth or None]
        return Ladder(
            tuple(Level(*level) for level in best_bids),
            tuple(Level(*level) for level in best_asks),
        )


def trade(entry: dict[int, str]) -> TradeSeen:
    at = None
    if 272 in entry and 273 in entry:
        at = read_timestamp(f"{entry[272]}-{entry[273]}")
    return TradeSeen(
        entry.get(278, ""), cents(entry[270]), units(entry.get(271, "")), at
    )
