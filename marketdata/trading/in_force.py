"""The times in force, a row for each, with all that a market needs of it.

Standard library only. The matcher, the checks of an order, its expiry, the constraint
of its table, the schema and the back office read these rows. A new row needs a
migration, and a branch of `placing.expiry` where `Ending` lacks its way to end.
"""

from enum import Enum, StrEnum, auto
from typing import Any


class Stop(StrEnum):
    """Why the rest of an order does not stay in the book."""

    IMMEDIATE_OR_CANCEL = "IMMEDIATE_OR_CANCEL"
    FILL_OR_KILL = "FILL_OR_KILL"
    SELF_TRADE = "SELF_TRADE"


class Ending(Enum):
    """When a resting order expires."""

    SESSION = auto()
    LATEST = auto()
    """After the longest time that any order may rest."""
    CHOSEN = auto()
    """At the time that the order names."""


class TimeInForce(StrEnum):
    """`label` is what staff read, `meaning` what partners read.

    `ending` is the expiry of the order. If the order does not rest, `ending` is why its
    untraded units are cancelled.
    """

    label: str
    meaning: str
    ending: Ending | Stop

    def __new__(cls, value: str, *facts: Any) -> "TimeInForce":
        row = str.__new__(cls, value)
        row._value_ = value
        row.label, row.meaning, row.ending = facts
        return row

    DAY = (
        "DAY", "Until the session ends", "Until the session ends.", Ending.SESSION
    )  # fmt: skip
    GTC = (
        "GTC", "Until cancelled, 90 days at most",
        "Until it is cancelled, at most 90 days.", Ending.LATEST,
    )  # fmt: skip
    GTD = "GTD", "Until a time", "Until `expiresAt`.", Ending.CHOSEN
    IOC = (
        "IOC", "Immediate or cancel",
        "Immediate or cancel: units that do not trade immediately are cancelled.",
        Stop.IMMEDIATE_OR_CANCEL,
    )  # fmt: skip
    FOK = (
        "FOK", "Fill or kill",
        "Fill or kill: the order trades in full immediately, or not at all.",
        Stop.FILL_OR_KILL,
    )  # fmt: skip

    @property
    def rests(self) -> bool:
        return isinstance(self.ending, Ending)
