"""Call auctions against all prices one by one, and worked by hand."""

import random

import pytest

from marketdata.trading.auctions import uncross
from marketdata.trading.queues import BUY, SELL, Resting
from marketdata.trading.ticks import Ticks
from tests.sampling import seed

HIGHEST = 14


def volume_at(orders: list[Resting], price: int) -> tuple[int, int]:
    """The units that trade at a price, and the surplus of bids."""
    bid = sum(o.quantity for o in orders if o.side == BUY and o.price >= price)
    offered = sum(o.quantity for o in orders if o.side == SELL and o.price <= price)
    return min(bid, offered), bid - offered


def best_price(orders: list[Resting], reference: int, tick: int) -> int | None:
    """The rules of the price one after the other, over all prices."""
    at = {p: volume_at(orders, p) for p in range(tick, HIGHEST + 1, tick)}
    most = max(volume for volume, _ in at.values())
    if not most:
        return None
    at = {p: found for p, found in at.items() if found[0] == most}
    least = min(abs(surplus) for _, surplus in at.values())
    at = {p: found for p, found in at.items() if abs(found[1]) == least}
    if least:
        bids = [p for p, (_, surplus) in at.items() if surplus > 0]
        offers = [p for p, (_, surplus) in at.items() if surplus < 0]
        left = bids[-1:] + offers[:1]
    else:
        left = [*at]
    return sorted(left, key=lambda p: (abs(p - reference), -p))[0]


def units_traded(orders: list[Resting], price: int) -> dict[int, int]:
    """By the order's number, what it trades at the price, unit by unit."""
    volume, _ = volume_at(orders, price)
    traded: dict[int, int] = {}
    for side in (BUY, SELL):
        for _ in range(volume):
            waiting = [
                (o.price if side == SELL else -o.price, number)
                for number, o in enumerate(orders)
                if o.side == side and traded.get(number, 0) < o.quantity
            ]
            best = min(waiting)[1]
            traded[best] = traded.get(best, 0) + 1
    return traded


def by_hand(
    orders: list[Resting], reference: int, tick: int
) -> tuple[int | None, list[Resting], list[Resting], dict[int, int]]:
    """The price, the orders that stay, those removed, and what the first trade."""
    stay = list(orders)
    removed: list[Resting] = []
    while True:
        price = best_price(stay, reference, tick)
        if price is None:
            return None, stay, removed, {}
        traded = units_traded(stay, price)
        met: list[Resting] = []
        kept: list[Resting] = []
        for number in sorted(traded):
            one = stay[number]
            own = [k for k in kept if k.user == one.user and k.side != one.side]
            (met if own else kept).append(one)
        if not met:
            return price, stay, removed, traded
        removed += met
        stay = [o for o in stay if all(o is not m for m in met)]


def random_book(chance: random.Random, tick: int) -> list[Resting]:
    users = chance.choice([2, 4, 50])
    return [
        Resting(
            number,
            chance.randrange(users),
            chance.choice([BUY, SELL]),
            tick * chance.randint(1, HIGHEST // tick),
            chance.randint(1, 6),
        )
        for number in range(chance.randint(0, 14))
    ]


def test_an_auction_is_as_over_all_prices():
    """test_model.py tries twenty times as many in a long run."""
    compare_books(1_000)


def compare_books(books: int) -> None:
    chance = random.Random(f"{seed()} uncross")  # noqa: S311
    seen = {"traded": 0, "removed": 0, "between": 0}
    for _ in range(books):
        tick = chance.choice([1, 1, 2, 3])
        orders, reference = random_book(chance, tick), chance.randint(1, HIGHEST)
        before = [(o.order, o.quantity) for o in orders]
        found = uncross(orders, reference, Ticks(tick))
        price, stay, removed, traded = by_hand(orders, reference, tick)
        assert [(o.order, o.quantity) for o in orders] == before
        assert found.price == price
        assert [o.order for o in found.removed] == [o.order for o in removed]
        units: dict[object, int] = {}
        for buy, sell, quantity in found.fills:
            assert buy.user != sell.user
            assert (buy.side, sell.side) == (BUY, SELL)
            assert quantity > 0
            for order in (buy, sell):
                units[order.order] = units.get(order.order, 0) + quantity
        assert units == {stay[n].order: q for n, q in traded.items()}
        if price is not None:
            assert (found.volume, found.surplus) == volume_at(stay, price)
            seen["traded"] += 1
            seen["removed"] += bool(removed)
            seen["between"] += price not in {o.price for o in orders}
    assert min(seen.values()) > books / 100, seen


def book(text: str) -> list[Resting]:
    """Orders of users of their own, oldest first: `B10@100 S5@99`; `B1@9/u` is of u."""
    orders = []
    for number, word in enumerate(text.split()):
        word, _, user = word.partition("/")
        units, _, price = word[1:].partition("@")
        side = BUY if word[0] == "B" else SELL
        orders.append(Resting(number, user or number, side, int(price), int(units)))
    return orders


WORKED = {
    "no order, no price": ("", 100, None, 0, 0, []),
    "nothing crosses": ("B10@99 S10@100", 100, None, 0, 0, []),
    # 10 trade at 98, at 99 and at 100, without surplus: the reference decides.
    "a book that meets": ("B10@100 S10@98", 99, 99, 10, 0, [(0, 1, 10)]),
    # At 101: 5 of 5. At 100: 10 of 15 bids. At 99: 5 are offered.
    "most volume": (
        "B5@101 B10@100 S5@99 S5@100", 90, 100, 10, 5, [(0, 2, 5), (1, 3, 5)],
    ),
    # 10 trade from 90 to 100: 5 bids more at 90, no more above it.
    "least surplus": ("B10@100 B5@90 S10@90", 80, 91, 10, 0, [(0, 2, 10)]),
    # 10 trade at 98 to 100, 5 bids are left over: the highest of these prices.
    "pressure of bids": ("B15@100 S10@98", 90, 100, 10, 5, [(0, 1, 10)]),
    # 10 trade at 98 to 100, 5 offers are left over: the lowest.
    "pressure of offers": ("B10@100 S15@98", 110, 98, 10, -5, [(0, 1, 10)]),
    # 10 trade: at 100 with 5 bids more, at 101 with 5 offers more.
    "bids and offers: nearest": (
        "B10@101 B5@100 S10@100 S5@101", 105, 101, 10, -5, [(0, 2, 10)],
    ),
    # Without surplus from 98 to 101; the reference lies below.
    "reference below": ("B10@101 S10@98", 90, 98, 10, 0, [(0, 1, 10)]),
    # Better limits first, and of one limit the older.
    "who trades": (
        "B4@100 B4@100 B4@101 S6@99", 100, 100, 6, 6, [(2, 3, 4), (0, 3, 2)],
    ),
    # The user's sale is younger and goes; without it 5 trade at 102 without surplus.
    "own orders": (
        "B5@105/u S5@95/u B5@101 S5@99", 100, 102, 5, 0, [(0, 3, 5)],
    ),
    # The user's buy at 97 does not trade at the price, and both orders stay.
    "own orders that do not meet": (
        "B5@97/u S5@95/u B5@101", 100, 100, 5, 0, [(2, 1, 5)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKED)
def test_auctions_worked_by_hand(name: str):
    text, reference, price, volume, surplus, fills = WORKED[name]
    found = uncross(book(text), reference)
    assert (found.price, found.volume, found.surplus) == (price, volume, surplus)
    assert [(f.buy.order, f.sell.order, f.quantity) for f in found.fills] == fills


def test_of_two_prices_as_near_the_higher_holds():
    # Multiples of 2 between 98 and 102, around a reference of 101.
    assert uncross(book("B1@102 S1@98"), 101, Ticks(2)).price == 102


def test_a_removed_order_makes_room_for_one_that_did_not_trade():
    # The sale of u would have met its own bid; the sale at 102 trades in its place.
    found = uncross(book("B5@105/u S5@95/u S5@102"), 100)
    assert [order.order for order in found.removed] == [1]
    assert [(f.buy.order, f.sell.order) for f in found.fills] == [(0, 2)]
