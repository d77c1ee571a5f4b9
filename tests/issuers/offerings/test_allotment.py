"""Allotments against brute force, on random books."""

import random
from dataclasses import replace

import pytest

from issuers.offerings.allotment import (
    MAX_BALANCE,
    MAX_HOLDERS,
    Bid,
    Bounds,
    allot,
    clearing_price,
    pro_rata,
)
from tests.issuers.offerings import brute_force
from tests.tiers import count

RULES = ("FIRST_COME", "PRO_RATA", "BOOK")


def random_book(chance: random.Random) -> tuple[str, int, list[Bid], Bounds]:
    holders = chance.randint(1, 8)
    bids = [
        Bid(number, chance.randint(1, holders), chance.randint(1, 12), chance.choice(
            (5, 6, 7, 8)
        ))
        for number in range(chance.randint(0, 10))
    ]  # fmt: skip
    balances = {
        holder: chance.randint(1, 6)
        for holder in range(1, holders + 1)
        if chance.random() < 0.3
    }
    held = sum(balances.values())
    bounds = Bounds(
        most_holders=chance.choice((None, len(balances), len(balances) + 2)),
        most_units=chance.choice((None, None, 3, 9)),
        most_bps=chance.choice((None, None, 1_000, 2_500)),
        holders=len(balances),
        supply=held + chance.randint(0, 40),
        is_made=chance.random() < 0.5,
        balances=balances,
    )
    return chance.choice(RULES), chance.randint(1, 50), bids, bounds


def test_random_books_are_allotted_as_by_brute_force():
    chance = random.Random("offerings")  # noqa: S311
    seen = set()
    for _ in range(count(1_000, 20_000)):
        rule, offered, bids, bounds = random_book(chance)
        assert clearing_price(offered, bids) == brute_force.best_price(offered, bids)
        price = clearing_price(offered, bids) or 5 if rule == "BOOK" else 5
        found = allot(rule, offered, bids, price, bounds)
        expected = brute_force.allotted(rule, offered, bids, price, bounds)
        assert found.units == expected, (rule, offered, bids, price, bounds)
        assert found.total <= offered
        seen |= set(found.refused.values())
    assert seen == {MAX_HOLDERS, MAX_BALANCE}


@pytest.mark.parametrize(
    ("units", "wants", "shares"),
    [
        (10, [4, 3], [4, 3]),
        (10, [10, 10, 10], [4, 3, 3]),
        (1, [1, 2, 2], [0, 1, 0]),
        (7, [5, 5, 4], [3, 2, 2]),
        (0, [5], [0]),
    ],
)
def test_units_that_are_left_go_to_the_largest_remainders(
    units: int, wants: list[int], shares: list[int]
):
    assert pro_rata(units, wants) == shares


def test_what_a_bound_refuses_is_shared_once_more():
    bids = [Bid(1, 1, 10, 5), Bid(2, 2, 10, 5), Bid(3, 3, 10, 5)]
    bounds = Bounds(most_units=4)
    found = allot("FIRST_COME", 15, bids, 5, bounds)
    # 6 and 1 units of the first two are refused; the third gets as many as it may.
    assert found.units == {1: 4, 2: 4, 3: 4}
    assert found.refused == {1: MAX_BALANCE, 2: MAX_BALANCE, 3: MAX_BALANCE}


def test_a_bound_of_holders_counts_in_the_order_of_time():
    bids = [Bid(1, 1, 4, 5), Bid(2, 2, 4, 5), Bid(3, 1, 4, 5)]
    found = allot("PRO_RATA", 12, bids, 5, Bounds(most_holders=1))
    assert found.units == {1: 4, 2: 0, 3: 4}
    assert found.refused == {2: MAX_HOLDERS}


def test_new_units_count_in_the_bound_of_a_share_only_if_they_are_allotted():
    bids = [Bid(number, number, 100, 5) for number in range(5)]
    bounds = Bounds(most_bps=1_000, supply=100, is_made=True)
    found = allot("PRO_RATA", 500, bids, 5, bounds)
    # Each may have a tenth of what there is then: 5 × 20 + 100 = 200.
    assert max(found.units.values()) * 10 <= 100 + found.total
    fixed = replace(bounds, is_made=False, supply=600)
    assert max(allot("PRO_RATA", 500, bids, 5, fixed).units.values()) == 60
