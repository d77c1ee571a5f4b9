"""What an order pays in fees, by the tariff of its acceptance; standard library only.

Amounts are euro cents; rates, and that of value added tax, are basis points.
`trading_charge` of the database computes the same from the market's events alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

BPS = 10_000


class Terms(NamedTuple):
    """Those of a tariff; `minimum` and `maximum` are of an order, None: no maximum."""

    maker: int
    taker: int
    minimum: int
    maximum: int | None
    vat: int


class Fee(NamedTuple):
    """A fee and its value added tax."""

    net: int
    vat: int

    @property
    def total(self) -> int:
        return self.net + self.vat


NO_FEE = Fee(0, 0)


def half_up(amount: int, divisor: int) -> int:
    """An amount that is not negative, divided and rounded; a half goes up."""
    return (2 * amount + divisor) // (2 * divisor)


def total_of(terms: Terms, weighted: int) -> int:
    """The fee of an order that has traded, tax included.

    `weighted` is the sum of the values of its fills, each times its rate.
    """
    net = max(terms.minimum, half_up(weighted, BPS))
    if terms.maximum is not None:
        net = min(terms.maximum, net)
    return net + half_up(net * terms.vat, BPS)


def parts_of(total: int, vat: int) -> Fee:
    """The fee and the tax of what was paid: exact, except where proceeds bound it."""
    net = half_up(total * BPS, BPS + vat)
    return Fee(net, total - net)


@dataclass(slots=True)
class OrderFees:
    """An order's fees so far: the values of its fills, what it paid and reserves."""

    terms: Terms
    maker_value: int = 0
    taker_value: int = 0
    paid: int = 0
    reserved: int = 0

    def due(self, rest: int = 0) -> int:
        """The fee of the fills, and of a rest of this value at the higher rate."""
        if not self.maker_value + self.taker_value + rest:
            return 0
        terms = self.terms
        weighted = self.maker_value * terms.maker + self.taker_value * terms.taker
        return total_of(terms, weighted + rest * max(terms.maker, terms.taker))

    def fill(self, value: int, takes: bool, sells: bool) -> Fee:
        """Pay for a fill. A sell pays no more than the fill's proceeds: what these do
        not cover is paid with its next fills."""
        if takes:
            self.taker_value += value
        else:
            self.maker_value += value
        before, due = self.paid, self.due()
        self.paid = min(due, before + value) if sells else due
        return self.parts_since(before)

    def bust(self, value: int, took: bool, sells: bool) -> Fee:
        """What comes back, as a positive fee, once a fill was busted."""
        if took:
            self.taker_value -= value
        else:
            self.maker_value -= value
        before = self.paid
        self.paid = min(before, self.due())
        if sells:
            self.paid = min(self.paid, self.maker_value + self.taker_value)
        back = self.parts_since(before)
        return Fee(-back.net, -back.vat)

    def parts_since(self, before: int) -> Fee:
        now, then = (parts_of(paid, self.terms.vat) for paid in (self.paid, before))
        return Fee(now.net - then.net, now.vat - then.vat)

    def held(self, rest: int) -> int:
        """What a buy reserves for fees while a rest of this value is open."""
        return self.due(rest) - self.paid if rest else 0
