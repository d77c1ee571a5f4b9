"""The ticks of a market, by price; standard library only. Prices are euro cents."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Ticks(NamedTuple):
    """Prices are multiples of `least`, and from each of the `floors` on of its step.

    `floors` rise, and there are as many `steps`. Without any, one tick holds at every
    price.
    """

    least: int
    floors: Sequence[int] = ()
    steps: Sequence[int] = ()

    def at(self, price: int) -> int:
        """The tick of a price."""
        place = bisect_right(self.floors, price)
        return self.steps[place - 1] if place else self.least

    def has(self, price: int) -> bool:
        """Whether a price is a multiple of its tick."""
        return price % self.at(price) == 0

    @property
    def is_sound(self) -> bool:
        """Whether each floor is above the one before, and a price on both sides."""
        rows = [(0, self.least), *zip(self.floors, self.steps, strict=False)]
        return (
            len(self.floors) == len(self.steps)
            and self.least > 0
            and all(
                step > 0 and floor > below and not floor % step and not floor % before
                for (below, before), (floor, step) in pairwise(rows)
            )
        )
