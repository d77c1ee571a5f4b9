"""How a call auction ends: its price and its fills; standard library only.

Prices are euro cents and quantities units, both from 1.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from marketdata.trading.queues import BUY, SELL, Resting
from marketdata.trading.ticks import Ticks

ONE_CENT = Ticks(1)


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


def uncross(
    orders: Sequence[Resting], reference: int, ticks: Ticks = ONE_CENT
) -> Uncrossed:
    """The price at which most units of a book trade, and its fills; changes no order.

    The orders come oldest first, and their limits are multiples of their tick. Of the
    prices with most volume, those with the least surplus stay. If only a surplus of
    bids is left, the highest price holds, and of offers the lowest. Of what is left the
    price nearest to the reference holds, and of two the higher. At the price, better
    limits trade first, and older orders at one limit.

    Of two orders of one user that would both trade, on two sides, the younger is
    removed. The search for them begins with the oldest order. After a removal the
    price is computed anew.
    """
    left = list(orders)
    removed: list[Resting] = []
    while True:
        price, volume, surplus = auction_price(left, reference, ticks)
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
    orders: Sequence[Resting], reference: int, ticks: Ticks
) -> tuple[int | None, int, int]:
    """The price, the units that trade at it, and the surplus of bids."""
    best = [span for span in spans(orders, ticks) if span.bid and span.offered]
    if not best:
        return None, 0, 0
    volume = max(min(span.bid, span.offered) for span in best)
    best = [span for span in best if min(span.bid, span.offered) == volume]
    least = min(abs(span.surplus) for span in best)
    best = [span for span in best if abs(span.surplus) == least]
    if least:
        bids = sorted((span.high, least) for span in best if span.surplus > 0)
        offers = sorted((span.low, -least) for span in best if span.surplus < 0)
        candidates = bids[-1:] + offers[:1]
    else:
        candidates = [(p, 0) for span in best for p in nearest(span, reference, ticks)]
    price, surplus = min(candidates, key=lambda at: (abs(at[0] - reference), -at[0]))
    return price, volume, surplus


def spans(orders: Sequence[Resting], ticks: Ticks) -> Iterator[Span]:
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
        lowest = below.low + ticks.at(below.low)
        if lowest < above.low:
            highest = above.low - ticks.at(above.low - 1)
            yield Span(lowest, highest, above.bid, below.offered)


def nearest(span: Span, reference: int, ticks: Ticks) -> tuple[int, int]:
    """The prices of a span next to the reference, at or below it and above it."""
    price = min(max(reference, span.low), span.high)
    below = price - price % ticks.at(price)
    return below, min(below + ticks.at(below), span.high)


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
