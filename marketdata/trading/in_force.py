"""The times in force, and the reasons why orders end, a row for each.

Standard library only. The matcher, the checks of an order, its expiry, the constraint
of its table, the schema and the back office read these rows. A new row needs a
migration, and a branch of `placing.expiry` where `Ending` lacks its way to end, or of
`Queues.match` where `Stop` does.
"""

from enum import Enum, StrEnum, auto
from typing import Any


class OrderStatusReason(StrEnum):
    """Why an order ended before it was filled.

    `label` is what staff read, `meaning` what partners read.
    """

    label: str
    meaning: str

    def __new__(cls, value: str, *texts: str) -> "OrderStatusReason":
        row = str.__new__(cls, value)
        row._value_ = value
        row.label, row.meaning = texts
        return row

    BY_PARTNER = "BY_PARTNER", "Cancelled by the partner", "You cancelled it."
    BY_STAFF = "BY_STAFF", "Cancelled by staff", "Staff cancelled it."
    CANCEL_TIMER = (
        "CANCEL_TIMER", "The partner's timer ran out",
        "Your timer of `cancelOrdersAfter` ran out.",
    )  # fmt: skip
    IMMEDIATE_OR_CANCEL = (
        "IMMEDIATE_OR_CANCEL", "What did not trade at once",
        "It was IOC, and these units did not trade immediately.",
    )  # fmt: skip
    FILL_OR_KILL = (
        "FILL_OR_KILL", "It could not trade whole",
        "It was FOK, and could not trade in full.",
    )  # fmt: skip
    SELF_TRADE = (
        "SELF_TRADE", "It met an order of its own user",
        "It would have traded with an order of the same user.",
    )  # fmt: skip
    ACCOUNT_NOT_ACTIVE = (
        "ACCOUNT_NOT_ACTIVE", "The account left ACTIVE",
        "Its account is no longer ACTIVE.",
    )  # fmt: skip
    HOLDER_FROZEN = "HOLDER_FROZEN", "The holder was frozen", "Its holder was frozen."
    UNITS_LOCKED = (
        "UNITS_LOCKED", "The holder's units were locked",
        "Its holder's units were locked.",
    )  # fmt: skip
    NOT_ELIGIBLE = (
        "NOT_ELIGIBLE", "A rule refused the fill that it was due",
        "A rule of the token refused the trade, or refuses the holder since the "
        "investor profile changed.",
    )  # fmt: skip
    RULE_CHANGED = (
        "RULE_CHANGED", "A new rule refuses it",
        "The token's rules changed and now refuse it.",
    )  # fmt: skip
    PARAMETERS_CHANGED = (
        "PARAMETERS_CHANGED", "New parameters no longer admit it",
        "Its limit or its units do not fit the market's new parameters.",
    )  # fmt: skip
    END_OF_SESSION = "END_OF_SESSION", "The session ended", "The session ended."
    TIME_IN_FORCE = "TIME_IN_FORCE", "Its time was over", "It reached its expiry."


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
