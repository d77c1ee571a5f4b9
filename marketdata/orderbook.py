"""A Level-2 order book in whole numbers: price levels of two sides, absolute sizes.

Pure arithmetic over the standard library. Prices and quantities are integers of
whatever tick the caller uses (the log's are euro cents and units).
"""

from typing import NamedTuple

BID, ASK = 0, 1
"""The sides, as in MDEntryType (FIX tag 269)."""


class Change(NamedTuple):
    """A level's quantity from now on; 0 takes the level away."""

    side: int
    price: int
    quantity: int


class Level(NamedTuple):
    price: int
    quantity: int


class Ladder(NamedTuple):
    """A book's best levels, best first."""

    bids: tuple[Level, ...]
    asks: tuple[Level, ...]


class ImpossibleChange(ValueError):
    """A change that no book can make; the message names it and the rule."""


class CrossedBook(ValueError):
    """After a whole message the best bid is not below the best ask."""
