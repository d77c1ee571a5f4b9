"""A Level-2 order book in whole numbers: price levels of two sides, absolute sizes.

Pure arithmetic over the standard library. Prices and quantities are integers in the
caller's tick. The log uses euro cents and units.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

BID, ASK = 0, 1
"""The sides, as in MDEntryType (FIX tag 269)."""

NEW, CHANGE, DELETE = 0, 1, 2
"""What becomes of a level, as in MDUpdateAction (FIX tag 279)."""


class Change(NamedTuple):
    """A level's quantity from now on; 0 takes the level away."""

    side: int
    price: int
    quantity: int


class Level(NamedTuple):
    price: int
    quantity: int


class Ladder(NamedTuple):
    """A book's best levels, best first."""

    bids: tuple[Level, ...]
    asks: tuple[Level, ...]


class Update(NamedTuple):
    """A client's update of a level; a deleted level's quantity is 0."""

    action: int
    side: int
    price: int
    quantity: int


class ImpossibleChange(ValueError):
    """A book cannot make this change. The message names it and the rule."""


class CrossedBook(ValueError):
    """After a whole message the best bid is not below the best ask."""


class OrderBook:
    """The levels of one instrument; begins with `changes` as its first message."""

    # A dictionary finds levels by price, a sorted list by rank. A change costs a
    # lookup, and a bisection only if a level appears or disappears. The lowest price
    # comes first on both sides.
    __slots__ = ("_ask_prices", "_asks", "_bid_prices", "_bids")

    def __init__(self, changes: Iterable[tuple[int, int, int]] = ()) -> None:
        self._bids: dict[int, int] = {}
        self._asks: dict[int, int] = {}
        self._bid_prices: list[int] = []
        self._ask_prices: list[int] = []
        self.apply(changes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OrderBook):
            return NotImplemented
        return self._bids == other._bids and self._asks == other._asks

    def __repr__(self) -> str:
        return f"<OrderBook {self.ladder()}>"

    def apply(self, changes: Iterable[tuple[int, int, int]]) -> None:
        """Make the changes (side, price, quantity afterwards) of one whole message.

        Between two changes the book may be crossed. After an error the book is as it
        was before the message.

        Raises:
            ImpossibleChange: an unknown side; a price or quantity that is no integer;
                a quantity below 0, or of 0 where there is no level.
            CrossedBook: after the message.
        """
        message = tuple(changes)
        bids, bid_prices = self._bids, self._bid_prices
        asks, ask_prices = self._asks, self._ask_prices
        before: list[int] = []
        try:
            for side, price, quantity in message:
                if side == BID:
                    levels, prices = bids, bid_prices
                elif side == ASK:
                    levels, prices = asks, ask_prices
                else:
                    raise ImpossibleChange(
                        f"{_text_of(side, price, quantity)}: the side must be {BID} "
                        f"(bid) or {ASK} (ask)."
                    )
                resting = levels.get(price, 0)
                before.append(resting)
                if type(quantity) is not int or quantity < 0:
                    raise ImpossibleChange(
                        f"{_text_of(side, price, quantity)}: the quantity must be an "
                        "integer, 0 or more."
                    )
                if quantity:
                    if not resting:
                        if type(price) is not int:
                            raise ImpossibleChange(
                                f"{_text_of(side, price, quantity)}: the price must be "
                                "an integer."
                            )
                        insort(prices, price)
                    levels[price] = quantity
                elif resting:
                    del levels[price]
                    del prices[bisect_left(prices, price)]
                else:
                    raise ImpossibleChange(
                        f"{_text_of(side, price, quantity)}: there is no level at this "
                        "price to remove."
                    )
            if bid_prices and ask_prices and bid_prices[-1] >= ask_prices[0]:
                raise CrossedBook(
                    f"After the message the best bid {bid_prices[-1]} is not below the "
                    f"best ask {ask_prices[0]}."
                )
        except (TypeError, ValueError):
            self._undo(message, before)
            raise

    def _undo(
        self, message: Sequence[tuple[int, int, int]], before: Sequence[int]
    ) -> None:
        for i in reversed(range(len(before))):
            side, price, _ = message[i]
            levels = self._asks if side else self._bids
            if before[i]:
                levels[price] = before[i]
            else:
                levels.pop(price, None)
        self._bid_prices[:] = sorted(self._bids)
        self._ask_prices[:] = sorted(self._asks)

    def quantity(self, side: int, price: int) -> int:
        """The quantity of a level. 0: no such level."""
        return (self._asks if side else self._bids).get(price, 0)

    def best(self, side: int) -> Level | None:
        """The highest bid or the lowest ask; None: the side is empty."""
        if side:
            price = self._ask_prices[0] if self._ask_prices else None
        else:
            price = self._bid_prices[-1] if self._bid_prices else None
        return None if price is None else Level(price, self.quantity(side, price))

    def ladder(self, depth: int = 0) -> Ladder:
        """The `depth` best levels of each side; 0: all of them."""
        # A slice [-0:] takes all prices.
        bid_prices = self._bid_prices[-depth:]
        ask_prices = self._ask_prices[: depth or None]
        return Ladder(
            tuple(Level(price, self._bids[price]) for price in reversed(bid_prices)),
            tuple(Level(price, self._asks[price]) for price in ask_prices),
        )


def _text_of(side: object, price: object, quantity: object) -> str:
    return f"Change of side {side!r}, price {price!r}, quantity {quantity!r}"


def difference(before: Ladder, after: Ladder) -> list[Update]:
    """The updates that turn one ladder into another: deletions, then best first.

    A client that applies them in this order never holds more levels than a ladder has.
    """
    deleted, rest = [], []
    for side in (BID, ASK):
        was, now = dict(before[side]), dict(after[side])
        deleted += [Update(DELETE, side, price, 0) for price in was if price not in now]
        for price, quantity in now.items():
            if price not in was:
                rest.append(Update(NEW, side, price, quantity))
            elif was[price] != quantity:
                rest.append(Update(CHANGE, side, price, quantity))
    return deleted + rest
