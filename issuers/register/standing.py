"""Compares an entry with the constraints on its accounts; reports every breach.

The database states the constraints on an account in one place: `register_standing`. A
writer that enters a batch compares the numbers here, entry by entry; the database
compares them again when the entries are written.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from issuers.register.errors import LedgerError
from issuers.register.kinds import EntryKind, Judged
from partnerapi.core.times import from_rfc3339, to_rfc3339

OF_FORCED = {"RECEIVER_FROZEN", "RECEIVER_NOT_VERIFIED"}
"""What is asked of the receiver of a forced transfer."""


class Refusal(NamedTuple):
    """A rule that a movement breaks, with its numbers."""

    code: str
    details: dict[str, Any]

    @property
    def text(self) -> str:
        """A sentence that explains the obstacle to staff and partners."""
        told = {name: detail_text(name, value) for name, value in self.details.items()}
        return TEXTS[self.code].format_map(defaultdict(str, UNKNOWN | told))

    @property
    def until(self) -> datetime | None:
        """The time when the obstacle ends, or ended."""
        said = [self.details[name] for name in UNTIL if self.details.get(name)]
        return from_rfc3339(said[0]) if said else None


def detail_text(name: str, value: Any) -> str:
    """A detail, as written in a sentence."""
    if name in UNTIL:
        return UNTIL[name] + to_rfc3339(from_rfc3339(value))
    return f"{value:,}" if isinstance(value, int) else str(value)


UNTIL = {
    "until": " until ",
    "lockedUntil": " until ",
    "verifiedUntil": "; the verification ended at ",
}
UNKNOWN = {"country": "unknown"}
TEXTS: Mapping[str, str] = {
    "SENDER_FROZEN": "The sender is frozen{until}.",
    "RECEIVER_FROZEN": "The receiver is frozen{until}.",
    "UNITS_LOCKED": (
        "Units of the sender are locked{lockedUntil}: {available} can be moved."
    ),
    "UNITS_RESERVED": (
        "Open orders of the sender reserve {reserved} units: {available} can be "
        "moved. Cancel orders first."
    ),
    "TRANSFERS_PAUSED": "Transfers of the token are paused.",
    "RECEIVER_NOT_VERIFIED": "The receiver is not a verified investor{verifiedUntil}.",
    "COUNTRY_NOT_ALLOWED": "The token may not be acquired from the receiver's tax "
    "country: {country}.",
    "INVESTOR_CLASS_NOT_ALLOWED": "The token may not be acquired by investors of the "
    "receiver's class.",
    "HOLDER_NOT_APPROVED": "The company has not approved the receiver as a holder.",
    "MAX_HOLDERS_EXCEEDED": "The token already has the maximum of {maximum} holders.",
    "INSUFFICIENT_UNITS": "The sender has {available} units; {required} are required.",
    "MAX_BALANCE_EXCEEDED": "A holder may have {maximum} units of the token; the "
    "receiver has {held}.",
}
"""Every code, in the order in which refusals are listed."""


class TransferRefused(LedgerError):
    """A rule of the token, or a restriction of a holder, forbids the entry."""

    code = "TRANSFER_REFUSED"

    def __init__(self, symbol: str, found: Sequence[Refusal]) -> None:
        self.refusals = found
        told = " ".join(f"{refusal.text} ({refusal.code})" for refusal in found)
        super().__init__(f"{symbol}: {told}")


@dataclass(frozen=True, slots=True)
class Standing:
    """The constraints on an account in a token, for any movement.

    `sending` and `receiving`: why it may do neither. `locked` units stay. The bounds
    are the token's: of what a holder may have, in units and in basis points of the
    supply, and of the number of holders; None: no bound.
    """

    is_paused: bool = False
    sending: list[Refusal] = field(default_factory=list)
    receiving: list[Refusal] = field(default_factory=list)
    locked: int = 0
    locked_until: datetime | None = None
    most_units: int | None = None
    most_bps: int | None = None
    most_holders: int | None = None

    def most(self, supply: int) -> int | None:
        """The most units that a holder may have at this supply."""
        bounds = [] if self.most_units is None else [self.most_units]
        if self.most_bps is not None:
            bounds.append(supply * self.most_bps // 10_000)
        return min(bounds, default=None)


UNBOUND = Standing()


@dataclass(frozen=True, slots=True)
class Side:
    """A side of an entry before it: its units, those on sale, and what binds it."""

    balance: int = 0
    reserved: int = 0
    standing: Standing = UNBOUND


def standing_of(row: Sequence[Any]) -> Standing:
    """Of a row of `register_standing`, from its column `is_paused` on."""
    is_paused, sending, receiving, locked, locked_until, units, bps, holders = row
    return Standing(
        is_paused,
        refusals_in(sending),
        refusals_in(receiving),
        int(locked),
        locked_until,
        None if units is None else int(units),
        bps,
        holders,
    )


def refusals_in(text: str) -> list[Refusal]:
    """The refusals in a JSON array from the database."""
    return [Refusal(said.pop("code"), said) for said in json.loads(text)]


def refusals(
    kind: str,
    amount: int,
    gives: Side,
    takes: Side,
    supply: int,
    holders: int,
    holders_after: int,
) -> list[Refusal]:
    """Why an entry is refused that leads to this supply and number of holders."""
    judged = EntryKind(kind).judged
    found = list(gives.standing.sending) if Judged.SENDER in judged else []
    receiving = takes.standing.receiving
    if Judged.RECEIVER in judged:
        found += receiving
    elif Judged.FORCED_RECEIVER in judged:
        found += [refusal for refusal in receiving if refusal.code in OF_FORCED]
    stays = gives.standing.locked if Judged.SENDER in judged else 0
    if stays and amount > gives.balance - stays:
        details: dict[str, Any] = {"available": max(gives.balance - stays, 0)}
        if gives.standing.locked_until:
            details["lockedUntil"] = to_rfc3339(gives.standing.locked_until)
        found.append(Refusal("UNITS_LOCKED", details))
    free = gives.balance - stays - gives.reserved
    if gives.reserved and amount > free:
        details = {"available": max(free, 0), "reserved": gives.reserved}
        found.append(Refusal("UNITS_RESERVED", details))
    is_paused = gives.standing.is_paused or takes.standing.is_paused
    if Judged.PAUSE in judged and is_paused:
        found.append(Refusal("TRANSFERS_PAUSED", {}))
    if Judged.RECEIVER in judged:
        most_holders = takes.standing.most_holders
        if most_holders is not None and holders_after > max(most_holders, holders):
            found.append(Refusal("MAX_HOLDERS_EXCEEDED", {"maximum": most_holders}))
        most = takes.standing.most(supply)
        if most is not None and takes.balance + amount > most:
            details = {"maximum": most, "held": takes.balance}
            found.append(Refusal("MAX_BALANCE_EXCEEDED", details))
    return sorted(found, key=lambda refusal: ORDER[refusal.code])


ORDER = {code: place for place, code in enumerate(TEXTS)}
