"""Price-time queues of a market, and how an order meets them; standard library only.

Prices are euro cents and quantities units, both from 1. Of two resting orders the one
with the better price trades first. At one price the earlier order trades first. Each
trades at its own price. An order that meets an order of its own user stops there: the
rest of the newer order is cancelled.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from marketdata.trading.in_force import Stop, TimeInForce

BUY, SELL = 0, 1


class RanOut(Exception):
    """The end of a queue was reached, but more orders may follow it."""


@dataclass(slots=True)
class Resting:
    """An order in a queue, with its remaining units."""

    order: Hashable
    user: Hashable
    side: int
    price: int
    quantity: int


class Fill(NamedTuple):
    """Units that a resting order sells or buys, at its price."""

    maker: Resting
    quantity: int

    @property
    def price(self) -> int:
        return self.maker.price


@dataclass(slots=True)
class Match:
    """The result of matching an order: its fills in order, and the remaining units.

    `closed` are resting orders whose due fill is forbidden. `is_outside`: the next fill
    would be at a price outside the bands, so it does not happen.
    """

    fills: list[Fill] = field(default_factory=list)
    closed: list[Resting] = field(default_factory=list)
    left: int = 0
    stop: Stop | None = None
    is_outside: bool = False


class May(Protocol):
    def __call__(self, maker: Resting, quantity: int) -> bool:
        """Whether a resting order may have this fill, after those allowed before."""


def anybody(maker: Resting, quantity: int) -> bool:
    return True


class Queues:
    """Open orders of a token, by side.

    If a side `ends_at` a price, more orders at or behind that price were not read.
    """

    def __init__(self) -> None:
        # Best last: SELL by falling prices, BUY by rising ones.
        self.prices: tuple[list[int], list[int]] = [], []
        self.levels: tuple[dict[int, dict[Hashable, Resting]], ...] = {}, {}
        self.orders: dict[Hashable, Resting] = {}
        self.ends_at: list[int | None] = [None, None]

    def add(self, resting: Resting) -> None:
        """Put an order behind all others at its price, unless it lies past the end."""
        side, price = resting.side, resting.price
        end = self.ends_at[side]
        if end is not None and (price >= end if side == SELL else price <= end):
            return
        level = self.levels[side].get(price)
        if level is None:
            level = self.levels[side][price] = {}
            insort(self.prices[side], price if side == BUY else -price)
        level[resting.order] = resting
        self.orders[resting.order] = resting

    def remove(self, order: Hashable) -> Resting:
        """Remove an order.

        Raises:
            KeyError: no such order.
        """
        resting = self.orders.pop(order)
        side, price = resting.side, resting.price
        level = self.levels[side][price]
        del level[order]
        if not level:
            del self.levels[side][price]
            key = price if side == BUY else -price
            del self.prices[side][bisect_left(self.prices[side], key)]
        return resting

    def best_first(self, side: int) -> Iterator[Resting]:
        levels = self.levels[side]
        for key in reversed(self.prices[side]):
            yield from levels[abs(key)].values()

    def match(
        self,
        taker: Resting,
        time_in_force: str,
        may: May = anybody,
        band: tuple[int, int] | None = None,
    ) -> Match:
        """The result of matching an order, without any change.

        It trades within `band`, from the lowest price to the highest.

        Raises:
            RanOut: the other side may have more orders than were read.
        """
        other = 1 - taker.side
        match = Match(left=taker.quantity)
        for maker in self.best_first(other):
            if not match.left or not crosses(taker, maker.price):
                break
            if maker.user == taker.user:
                match.stop = Stop.SELF_TRADE
                break
            if band is not None and not band[0] <= maker.price <= band[1]:
                match.is_outside = True
                break
            quantity = min(match.left, maker.quantity)
            if may(maker, quantity):
                match.fills.append(Fill(maker, quantity))
                match.left -= quantity
            else:
                match.closed.append(maker)
        else:
            if match.left and self.ends_at[other] is not None:
                raise RanOut
        ending = TimeInForce(time_in_force).ending
        if not match.left:
            match.stop = None
        elif ending is Stop.FILL_OR_KILL:
            match = Match(left=taker.quantity, stop=ending, is_outside=match.is_outside)
        elif isinstance(ending, Stop) and match.stop is None:
            match.stop = ending
        return match

    def apply(self, taker: Resting, match: Match) -> None:
        """Trade as `match` found, and add the rest to the queue, if it may rest."""
        for maker in match.closed:
            self.remove(maker.order)
        for maker, quantity in match.fills:
            maker.quantity -= quantity
            if not maker.quantity:
                self.remove(maker.order)
        taker.quantity = match.left
        if match.left and match.stop is None:
            self.add(taker)

    def place(
        self,
        taker: Resting,
        time_in_force: str,
        may: May = anybody,
        band: tuple[int, int] | None = None,
    ) -> Match:
        """Match an order against the queues, and place the rest.

        Raises:
            RanOut: nothing was changed.
        """
        match = self.match(taker, time_in_force, may, band)
        self.apply(taker, match)
        return match

    def keeps_place(self, order: Hashable, price: int, quantity: int) -> bool:
        """Whether an order keeps its place after this change: only if it shrinks."""
        resting = self.orders[order]
        return price == resting.price and quantity <= resting.quantity


def crosses(taker: Resting, price: int) -> bool:
    """Whether an order's limit reaches a price of the other side."""
    return price <= taker.price if taker.side == BUY else price >= taker.price
