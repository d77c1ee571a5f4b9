"""The kinds of entries of the register, a row for each.

Python reads everything about a kind here. `migrate` makes the rows of
`issuers_entrykind` the same, by which the database judges: a new kind needs no change
of SQL.
"""

from collections.abc import Collection
from enum import Flag, StrEnum, auto
from typing import Any

from accounts.approvals.models import ApprovalKind

HOLDER, TREASURY = "HOLDER", "TREASURY"
MADE = DESTROYED = None


class Judged(Flag):
    """What decides about an entry, in addition to its numbers."""

    PAUSE = auto()
    """A pause of the token stops it."""
    SENDER = auto()
    """A freeze of the sender, or units that must stay, forbid it."""
    RECEIVER = auto()
    """Its receiver must be allowed to hold the token."""
    FORCED_RECEIVER = auto()
    """Its receiver must be verified and not frozen, whatever the token's rules."""


class EntryKind(StrEnum):
    """`label` is what staff read, `meaning` what partners read.

    Units move from an account of one of the `sources`, or are made, to one of the
    `targets`, or are destroyed. `approval` is the kind under which a policy may ask
    for a second person; None: no policy may.
    """

    label: str
    meaning: str
    sources: Collection[str | None]
    targets: Collection[str | None]
    judged: Judged
    approval: ApprovalKind | None

    def __new__(cls, value: str, *facts: Any) -> "EntryKind":
        row = str.__new__(cls, value)
        row._value_ = value
        row.label, row.meaning, row.sources, row.targets, row.judged, row.approval = (
            facts
        )
        return row

    MINT = (
        "MINT", "Mint", "Units are created.",
        {MADE}, {TREASURY, HOLDER}, Judged.RECEIVER, ApprovalKind.MINT,
    )  # fmt: skip
    ALLOCATE = (
        "ALLOCATE", "Allocation", "Units move from the treasury to a holder.",
        {TREASURY}, {HOLDER}, Judged.RECEIVER, ApprovalKind.TRANSFER,
    )  # fmt: skip
    TRANSFER = (
        "TRANSFER", "Transfer", "Units move from one holder to another.",
        {HOLDER}, {HOLDER}, Judged.PAUSE | Judged.SENDER | Judged.RECEIVER,
        ApprovalKind.TRANSFER,
    )  # fmt: skip
    RETURN = (
        "RETURN", "Return", "Units move from a holder to the treasury.",
        {HOLDER}, {TREASURY}, Judged.SENDER, ApprovalKind.TRANSFER,
    )  # fmt: skip
    BURN = (
        "BURN", "Burn", "Units are destroyed.",
        {TREASURY, HOLDER}, {DESTROYED}, Judged.SENDER, ApprovalKind.BURN,
    )  # fmt: skip
    FORCED_TRANSFER = (
        "FORCED_TRANSFER", "Forced transfer",
        "Units move to another holder without the first holder's consent, for example "
        "by court order.",
        {HOLDER}, {HOLDER}, Judged.FORCED_RECEIVER, ApprovalKind.FORCED_TRANSFER,
    )  # fmt: skip
    LEGACY_DELIVERY = (
        "LEGACY_DELIVERY", "Legacy delivery", "Legacy shares are delivered as units.",
        {TREASURY, MADE}, {HOLDER}, Judged.RECEIVER, None,
    )  # fmt: skip
    REVERSAL = (
        "REVERSAL", "Reversal", "An earlier entry is reversed.",
        {TREASURY, HOLDER, MADE}, {TREASURY, HOLDER, DESTROYED}, Judged(0),
        ApprovalKind.REVERSAL,
    )  # fmt: skip
    TRADE = (
        "TRADE", "Trade", "Units move from a seller to a buyer on the market.",
        {HOLDER}, {HOLDER}, Judged.PAUSE | Judged.SENDER | Judged.RECEIVER, None,
    )  # fmt: skip


def kind_rows() -> list[dict[str, Any]]:
    """The rows of `issuers_entrykind`."""
    return [
        {
            "name": kind.value,
            "sources": sorted(kind.sources, key=str),
            "targets": sorted(kind.targets, key=str),
            "is_paused": Judged.PAUSE in kind.judged,
            "is_taken": Judged.SENDER in kind.judged,
            "is_given": Judged.RECEIVER in kind.judged,
            "is_forced": Judged.FORCED_RECEIVER in kind.judged,
            "approval": kind.approval,
        }
        for kind in EntryKind
    ]
