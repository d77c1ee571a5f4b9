"""The kinds of entries of the register, a row for each.

Python reads everything about a kind here. The database judges by lists of its own:
`register_follow_transactions`, `register_judge`, `register_judge_entries` and the
triggers `approvals_of_…`, whose texts are in `issuers/sql`. A new row needs a migration
and its word in these lists: `tests/issuers/test_entry_kinds.py` names the list that
lacks it.
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
        "ALLOCATE", "Allocate", "Units move from the treasury to a holder.",
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
