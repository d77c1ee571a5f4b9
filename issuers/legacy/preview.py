"""The effect that a delivery would have, by line and by token."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from issuers.legacy.delivery import DryRun, Outcome
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.register.writer import LockedLedger

LINES_AT_ONCE = 1_000
"""Tried in one transaction."""


class Line(NamedTuple):
    id: UUID
    status: str
    shares: int
    user_id: UUID
    token_id: UUID | None
    symbol: str | None
    issuer: str


@dataclass(slots=True)
class Part:
    """The lines of a token, with its ledger before and after."""

    issuer: str
    token_id: UUID | None
    symbol: str | None
    lines: int = 0
    shares: int = 0
    refused: int = 0
    skipped: int = 0
    treasury: tuple[int, int] | None = None
    supply: tuple[int, int] | None = None

    def add(self, line: Line, outcome: Outcome) -> None:
        self.refused += bool(outcome.refusal)
        self.skipped += outcome.is_skipped
        if outcome.is_delivered:
            self.lines += 1
            self.shares += line.shares

    def compare(self, ledger: LockedLedger, source: str) -> None:
        """Compare with the ledger as the lines would leave it."""
        supply, treasury = ledger.supply, ledger.supply - ledger.held
        is_made = source == DeliveryJob.Source.MINT
        self.supply = (supply - is_made * self.shares, supply)
        self.treasury = (treasury + (not is_made) * self.shares, treasury)


@dataclass(frozen=True, slots=True)
class Preview:
    """`shares`: of all lines, as a policy counts them. `refusals`: by a line's id.

    Equal checksums mean equal previews.
    """

    source: str
    ids: list[UUID]
    shares: int
    parts: list[Part]
    refusals: dict[UUID, str]
    checksum: str

    @property
    def delivered(self) -> int:
        return sum(part.lines for part in self.parts)

    @property
    def skipped(self) -> int:
        return sum(part.skipped for part in self.parts)


def preview(source: str, chosen: Sequence[UUID]) -> Preview:
    """Try the lines in id order, as a delivery takes them.

    Raises:
        LockTimeout: a ledger stayed locked for too long.
    """
    rows = LegacyShareholder.objects.filter(pk__in=chosen).order_by("pk")
    lines = [Line(*values) for values in rows.values_list(*COLUMNS)]
    dry_run = DryRun(source)
    ids = [line.id for line in lines]
    refusals: dict[UUID, str] = {}
    digest = hashlib.sha256(source.encode())
    parts: dict[tuple[str, UUID | None], Part] = {}
    for line, outcome in zip(lines, outcomes(dry_run, ids), strict=True):
        key = line.issuer, line.token_id
        part = parts.setdefault(key, Part(line.issuer, line.token_id, line.symbol))
        part.add(line, outcome)
        if outcome.refusal:
            refusals[line.id] = outcome.refusal
        digest.update(repr((*map(str, line), outcome.refusal)).encode())
    ledgers = dry_run.register.writer.ledgers
    for part in parts.values():
        if part.token_id in ledgers:
            part.compare(ledgers[part.token_id], source)
    told = sorted(parts.values(), key=lambda part: (part.issuer, part.symbol or ""))
    digest.update(repr(told).encode())
    shares = sum(line.shares for line in lines)
    return Preview(source, ids, shares, told, refusals, digest.hexdigest())


COLUMNS = (
    "pk", "status", "number_of_shares", "user_id", "token_id", "token__symbol",
    "issuer__trading_name",
)  # fmt: skip


def outcomes(dry_run: DryRun, ids: Sequence[UUID]) -> Iterator[Outcome]:
    for first in range(0, len(ids), LINES_AT_ONCE):
        yield from dry_run.deliver(ids[first : first + LINES_AT_ONCE])
