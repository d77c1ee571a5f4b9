"""Price-time queues of a market, how an order meets them, and how a call auction ends.

Standard library only.

Prices are euro cents and quantities units, both from 1. Of two resting orders the one
with the better price trades first. At one price the earlier order trades first. Each
trades at its own price. An order that meets an order of its own user stops there: the
rest of the newer order is cancelled.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
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

    `closed` are resting orders whose due fill is forbidden.
    """

    fills: list[Fill] = field(default_factory=list)
    closed: list[Resting] = field(default_factory=list)
    left: int = 0
    stop: Stop | None = None


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

    def match(self, taker: Resting, time_in_force: str, may: May = anybody) -> Match:
        """The result of matching an order, without any change.

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
            match = Match(left=taker.quantity, stop=ending)
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

    def place(self, taker: Resting, time_in_force: str, may: May = anybody) -> Match:
        """Match an order against the queues, and place the rest.

        Raises:
            RanOut: nothing was changed.
        """
        match = self.match(taker, time_in_force, may)
        self.apply(taker, match)
        return match

    def keeps_place(self, order: Hashable, price: int, quantity: int) -> bool:
        """Whether an order keeps its place after this change: only if it shrinks."""
        resting = self.orders[order]
        return price == resting.price and quantity <= resting.quantity


def crosses(taker: Resting, price: int) -> bool:
    """Whether an order's limit reaches a price of the other side."""
    return price <= taker.price if taker.side == BUY else price >= taker.price


class AuctionFill(NamedTuple):
    """Units that a buy order takes of a sell order at the price of the auction."""

    buy: Resting
    sell: Resting
    quantity: int


class Uncrossed(NamedTuple):
    """The result of an auction: nothing trades where `price` is None.

    `surplus` is how many units more are bid than offered at the price, below 0 where
    more are offered. `removed` are orders that met an older one of their own user.
    """

    price: int | None
    volume: int
    surplus: int
    fills: list[AuctionFill]
    removed: list[Resting]


class Span(NamedTuple):
    """Prices from `low` to `high` at which as many units are bid, and offered."""

    low: int
    high: int
    bid: int
    offered: int

    @property
    def surplus(self) -> int:
        return self.bid - self.offered


def uncross(orders: Sequence[Resting], reference: int, tick: int = 1) -> Uncrossed:
    """The price at which most units of a book trade, and its fills; changes no order.

    The orders come oldest first, and their limits are multiples of the tick. Of the
    prices with most volume, those with the least surplus stay. If only a surplus of
    bids is left, the highest price holds, and of offers the lowest. Of what is left the
    price nearest to the reference holds, and of two the higher. At the price, better
    limits trade first, and older orders at one limit.

    Of two orders of one user that would both trade, on two sides, the younger is
    removed. Whoever is removed is looked for from the oldest order on, and then the
    price is found anew.
    """
    left = list(orders)
    removed: list[Resting] = []
    while True:
        price, volume, surplus = auction_price(left, reference, tick)
        if price is None:
            return Uncrossed(None, 0, 0, [], removed)
        buys = filled(left, BUY, price, volume)
        sells = filled(left, SELL, price, volume)
        met = met_by_own(left, {id(order) for order, _ in (*buys, *sells)})
        if not met:
            return Uncrossed(price, volume, surplus, paired(buys, sells), removed)
        removed += met
        gone = {id(order) for order in met}
        left = [order for order in left if id(order) not in gone]


def auction_price(
    orders: Sequence[Resting], reference: int, tick: int
) -> tuple[int | None, int, int]:
    """The price, the units that trade at it, and the surplus of bids."""
    best = [span for span in spans(orders, tick) if span.bid and span.offered]
    if not best:
        return None, 0, 0
    volume = max(min(span.bid, span.offered) for span in best)
    best = [span for span in best if min(span.bid, span.offered) == volume]
    least = min(abs(span.surplus) for span in best)
    best = [span for span in best if abs(span.surplus) == least]
    candidates = [price for span in best for price in nearest(span, reference, tick)]
    if least:
        bids = [span.high for span in best if span.surplus > 0]
        offers = [span.low for span in best if span.surplus < 0]
        candidates = [
            *([max(bids)] if bids else ()),
            *([min(offers)] if offers else ()),
        ]
    price = min(candidates, key=lambda price: (abs(price - reference), -price))
    is_offered = any(s.surplus < 0 and s.low <= price <= s.high for s in best)
    return price, volume, -least if is_offered else least


def spans(orders: Sequence[Resting], tick: int) -> Iterator[Span]:
    """Each limit of the book, and the prices between it and the next one."""
    units: tuple[dict[int, int], dict[int, int]] = {}, {}
    for order in orders:
        of_side = units[order.side]
        of_side[order.price] = of_side.get(order.price, 0) + order.quantity
    limits = sorted(units[BUY].keys() | units[SELL].keys())
    bid, offered = sum(units[BUY].values()), 0
    points = []
    for limit in limits:
        offered += units[SELL].get(limit, 0)
        points.append(Span(limit, limit, bid, offered))
        bid -= units[BUY].get(limit, 0)
    yield from points
    for below, above in pairwise(points):
        if above.low - below.low > tick:
            yield Span(below.low + tick, above.low - tick, above.bid, below.offered)


def nearest(span: Span, reference: int, tick: int) -> tuple[int, int]:
    """The prices of a span next to the reference, at or below it and above it."""
    steps = (min(max(reference, span.low), span.high) - span.low) // tick
    below = span.low + steps * tick
    return below, min(below + tick, span.high)


def filled(
    orders: Sequence[Resting], side: int, price: int, volume: int
) -> list[tuple[Resting, int]]:
    """The orders of a side that trade at the price, in their order, with the units."""
    sign = -1 if side == BUY else 1
    may = [o for o in orders if o.side == side and sign * o.price <= sign * price]
    found = []
    for order in sorted(may, key=lambda order: sign * order.price):
        if not volume:
            break
        units = min(volume, order.quantity)
        found.append((order, units))
        volume -= units
    return found


def met_by_own(orders: Sequence[Resting], trading: set[int]) -> list[Resting]:
    """Of the orders that trade, those that meet an older one of their own user."""
    sides: dict[Hashable, int] = {}
    met = []
    for order in orders:
        if (
            id(order) in trading
            and sides.setdefault(order.user, order.side) != order.side
        ):
            met.append(order)
    return met


def paired(
    buys: list[tuple[Resting, int]], sells: list[tuple[Resting, int]]
) -> list[AuctionFill]:
    """As many units on both sides, as fills."""
    fills = []
    sellers = iter(sells)
    sell, offered = next(sellers)
    for buy, wanted in buys:
        while wanted:
            if not offered:
                sell, offered = next(sellers)
            units = min(wanted, offered)
            fills.append(AuctionFill(buy, sell, units))
            wanted -= units
            offered -= units
    return fills
