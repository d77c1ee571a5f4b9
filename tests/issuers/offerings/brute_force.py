"""The allotment of an offering, unit by unit: slow, and independent of the code."""

from fractions import Fraction
from typing import Any

from issuers.offerings.allotment import Bid, Bounds


def allotted(
    rule: str, offered: int, bids: list[Bid], price: int, bounds: Bounds
) -> dict[Any, int]:
    """The units of each bid at or above a price."""
    bids = [bid for bid in bids if bid.limit >= price]
    assumed = offered
    while True:
        given = at_supply(rule, offered, bids, bounds, assumed)
        total = sum(given.values())
        if not bounds.is_made or bounds.most_bps is None or total >= assumed:
            return given
        assumed = total


def at_supply(
    rule: str, offered: int, bids: list[Bid], bounds: Bounds, total: int
) -> dict[Any, int]:
    have = dict(bounds.balances)
    got = {bid.id: 0 for bid in bids}
    out: set[Any] = set()
    number = bounds.holders
    pool = offered
    for _ in range(2):
        open_bids = [bid for bid in bids if bid.id not in out]
        wants = {bid.id: bid.units - got[bid.id] for bid in open_bids}
        shares = SHARES[rule](pool, open_bids, wants)
        pool = 0
        for bid in open_bids:
            for _ in range(shares[bid.id]):
                mine = have.get(bid.holder, 0)
                full = bounds.most_holders is not None and (
                    mine == 0 and number >= bounds.most_holders
                )
                if full or exceeds(mine + 1, total, bounds):
                    out.add(bid.id)
                    pool += 1
                    continue
                number += mine == 0
                have[bid.holder] = mine + 1
                got[bid.id] += 1
    return got


def exceeds(units: int, total: int, bounds: Bounds) -> bool:
    if bounds.most_units is not None and units > bounds.most_units:
        return True
    supply = bounds.supply + (total if bounds.is_made else 0)
    return bounds.most_bps is not None and (
        Fraction(units) > Fraction(supply * bounds.most_bps // 10_000)
    )


def by_time(pool: int, bids: list[Bid], wants: dict[Any, int]) -> dict[Any, int]:
    got = dict.fromkeys(wants, 0)
    for bid in bids:
        while pool and got[bid.id] < wants[bid.id]:
            got[bid.id] += 1
            pool -= 1
    return got


def in_proportion(pool: int, bids: list[Bid], wants: dict[Any, int]) -> dict[Any, int]:
    """Hamilton's method with fractions."""
    wanted = sum(wants.values())
    if wanted <= pool:
        return dict(wants)
    exact = {bid.id: Fraction(pool * wants[bid.id], wanted) for bid in bids}
    got = {id: int(quota) for id, quota in exact.items()}
    while sum(got.values()) < pool:
        # `max` takes the first of equal ones.
        waiting = [bid.id for bid in bids if got[bid.id] == int(exact[bid.id])]
        best = max(waiting, key=lambda id: exact[id] - int(exact[id]))
        got[best] += 1
    return got


def by_limit(pool: int, bids: list[Bid], wants: dict[Any, int]) -> dict[Any, int]:
    got = dict.fromkeys(wants, 0)
    for limit in sorted({bid.limit for bid in bids}, reverse=True):
        level = [bid for bid in bids if bid.limit == limit]
        given = in_proportion(pool, level, {bid.id: wants[bid.id] for bid in level})
        got |= given
        pool -= sum(given.values())
    return got


SHARES = {"FIRST_COME": by_time, "PRO_RATA": in_proportion, "BOOK": by_limit}


def best_price(offered: int, bids: list[Bid]) -> int | None:
    """Of all limits, the one that sells most; of several, the highest."""
    sold = {
        price: min(offered, sum(bid.units for bid in bids if bid.limit >= price))
        for price in {bid.limit for bid in bids}
    }
    return max(sold, key=lambda price: (sold[price], price), default=None)
