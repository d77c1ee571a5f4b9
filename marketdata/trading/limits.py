"""Limits that staff set for a partner: orders a second, and the value that is open.

They are exact: orders of a partner that has one wait for each other, in all markets.
Other partners' orders pay nothing for it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from accounts.access import Caller
from partnerapi.core.database import fetch
from partnerapi.core.locks import lock


class Limits(NamedTuple):
    """What a partner may: orders a second, euro cents that are open; None: no limit."""

    partner_id: UUID
    orders_per_second: int | None
    open_value: int | None


@dataclass(slots=True)
class Taken:
    """How far a partner has come: orders of the last second, open cents."""

    limits: Limits
    orders: int
    open_value: int


def limits_of(caller: Caller) -> list[Limits]:
    """Of a caller's partner; none where staff have set none."""
    found = Limits(
        UUID(caller.partner_id), caller.orders_per_second, caller.open_value_limit
    )
    return [] if found[1:] == (None, None) else [found]


def taken(limits: Collection[Limits], holds: bool) -> dict[UUID, Taken]:
    """Read what limited partners have taken; `holds` locks that, before any book."""
    found = {}
    for each in sorted(limits, key=attrgetter("partner_id")):
        read = lock if holds else fetch
        [(orders, value)] = read(TAKEN, [each.partner_id, holds], tuple)
        found[each.partner_id] = Taken(each, orders, int(value))
    return found


TAKEN = "SELECT orders, open_value FROM trading_limited(%s, %s)"
