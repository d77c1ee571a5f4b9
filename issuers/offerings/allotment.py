"""The units of each subscription to an offering; standard library only.

Bids stand in the order of time. Quantities are units, prices euro cents.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

FIRST_COME, PRO_RATA, BOOK = "FIRST_COME", "PRO_RATA", "BOOK"
MAX_HOLDERS, MAX_BALANCE = "MAX_HOLDERS_EXCEEDED", "MAX_BALANCE_EXCEEDED"
BPS = 10_000


class Bid(NamedTuple):
    """A subscription that no rule refuses by itself; `holder` is a ledger account."""

    id: UUID
    holder: int
    units: int
    limit: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a token, None: none, and what its holders have before.

    `supply` is that before; `is_made`: the units are new and add to it.
    """

    most_holders: int | None = None
    most_units: int | None = None
    most_bps: int | None = None
    holders: int = 0
    supply: int = 0
    is_made: bool = False
    balances: Mapping[int, int] = field(default_factory=dict)

    def most(self, total: int) -> int | None:
        """What a holder may have at most, once `total` units are allotted."""
        bounds = [] if self.most_units is None else [self.most_units]
        if self.most_bps is not None:
            supply = self.supply + total * self.is_made
            bounds.append(supply * self.most_bps // BPS)
        return min(bounds, default=None)


@dataclass(slots=True)
class Allotment:
    """The units of each bid, and by which bound a bid got fewer than its share."""

    units: dict[UUID, int]
    refused: dict[UUID, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.units.values())


def allot(
    rule: str, offered: int, bids: Sequence[Bid], price: int, bounds: Bounds
) -> Allotment:
    """Share units at a price and judge the bounds in the order of time; units that
    they refuse are shared in a second round, by the same rule.

    The bound of a holder may follow from the supply, and that from what is allotted:
    the shares are computed for fewer units until both agree.
    """
    bids = [bid for bid in bids if bid.limit >= price]
    total = offered
    while True:
        found = within(rule, offered, bids, bounds, bounds.most(total))
        if bounds.most_bps is None or not bounds.is_made or found.total >= total:
            return found
        total = found.total


def within(
    rule: str, offered: int, bids: Sequence[Bid], bounds: Bounds, most: int | None
) -> Allotment:
    have = defaultdict(int, bounds.balances)
    found = Allotment(dict.fromkeys((bid.id for bid in bids), 0))
    holders = bounds.holders
    left = offered
    for _ in range(2):
        wanted = [
            (bid, bid.units - found.units[bid.id])
            for bid in bids
            if bid.id not in found.refused
        ]
        shares = share(rule, left, wanted)
        left = 0
        for bid, units in zip((bid for bid, _ in wanted), shares, strict=True):
            if not units:
                continue
            is_new = not have[bid.holder]
            if (
                is_new
                and bounds.most_holders is not None
                and (holders >= bounds.most_holders)
            ):
                given, found.refused[bid.id] = 0, MAX_HOLDERS
            elif most is not None and have[bid.holder] + units > most:
                given = max(most - have[bid.holder], 0)
                found.refused[bid.id] = MAX_BALANCE
            else:
                given = units
            left += units - given
            holders += is_new and given > 0
            have[bid.holder] += given
            found.units[bid.id] += given
    return found


def share(rule: str, units: int, wanted: Sequence[tuple[Bid, int]]) -> list[int]:
    """The share of each bid, by a rule, of what it wants."""
    if rule == FIRST_COME:
        return in_turn(units, [want for _, want in wanted])
    if rule == PRO_RATA:
        return pro_rata(units, [want for _, want in wanted])
    shares = [0] * len(wanted)
    places = sorted(range(len(wanted)), key=lambda place: -wanted[place][0].limit)
    for _, level in groupby(places, key=lambda place: wanted[place][0].limit):
        at_level = [*level]
        given = pro_rata(units, [wanted[place][1] for place in at_level])
        for place, share_of in zip(at_level, given, strict=True):
            shares[place] = share_of
        units -= sum(given)
    return shares


def in_turn(units: int, wants: Iterable[int]) -> list[int]:
    shares = []
    for want in wants:
        shares.append(min(units, want))
        units -= shares[-1]
    return shares


def pro_rata(units: int, wants: Sequence[int]) -> list[int]:
    """Shares in proportion; units that are left go to the largest remainders, of equal
    ones to the earlier."""
    total = sum(wants)
    if total <= units:
        return [*wants]
    shares = [units * want // total for want in wants]
    by_remainder = sorted(
        range(len(wants)), key=lambda place: -(units * wants[place] % total)
    )
    for place in by_remainder[: units - sum(shares)]:
        shares[place] += 1
    return shares


def clearing_price(offered: int, bids: Sequence[Bid]) -> int | None:
    """The price at which most units are sold, of several the highest; None: no bid."""
    best, volume, demand = None, 0, 0
    ordered = sorted(bids, key=lambda bid: -bid.limit)
    for limit, level in groupby(ordered, key=lambda bid: bid.limit):
        demand += sum(bid.units for bid in level)
        if min(demand, offered) > volume:
            best, volume = limit, min(demand, offered)
    return best
