"""Files that staff import: checked first, written when they confirm.

Only previewed changes are written: where the stored rows have changed meanwhile,
nothing is written, and the page shows a new preview.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db import DataError, IntegrityError, transaction

from accounts.approvals.four_eyes import NotApproved, carrying, file_request, is_needed
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.cash.bank_statements import (
    MOST_TOLD,
    OtherBalance,
    book_statement,
    moves,
    statement_title,
)
from accounts.people.imports import import_holders
from accounts.people.models import User
from issuers.imports.issuers import import_issuers
from issuers.imports.publications import import_financial_data
from issuers.legacy.imports import import_legacy_shareholders
from issuers.models import Issuer
from partnerapi.core import lock_waits
from partnerapi.core.money import euros
from partnerapi.core.problems import Problem, WrongFileError
from partnerapi.core.progress import Advance, Begin


@dataclass(frozen=True, slots=True)
class Upload:
    kind: str
    file_name: str
    content: bytes
    issuer_id: UUID | None
    creates_holders: bool
    closing_balance: int | None
    """The bank's balance after the last line, euro cents; None where none was given."""

    @property
    def checksum(self) -> str:
        """Of the file, and of what was chosen for it."""
        chosen = self.kind, self.issuer_id, self.creates_holders, self.closing_balance
        return hashlib.sha256(f"{chosen} ".encode() + self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an import does; with a `problem` or `problems` it does nothing.

    `moves` are clients' accounts and what they have before and after. What needs a
    second person `asks`: the content of the request, and its title.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    notes: tuple[str, ...] = ()
    moves: tuple[tuple[str, str, str], ...] = ()
    asks: tuple[dict[str, Any], str] | None = None
    keeps: bool = False
    """Whether the file itself is kept, though it changes nothing."""
    problem: str = ""
    problems: tuple[tuple[int, str, str, str], ...] = ()
    problem_count: int = 0

    @property
    def changes_something(self) -> bool:
        return bool(self.created or self.updated or self.keeps)


@dataclass(frozen=True, slots=True)
class Kind:
    title: str
    columns: str
    permissions: tuple[str, ...]
    run: Callable[[Upload, str, bool, Begin], Outcome]
    """Gets the file, the importer, whether it is a dry run, and what it reports to."""
    of_issuer: bool = False


def unseen(work: str, total: int) -> Advance:
    return lambda done: None


def as_json(found: Outcome) -> dict[str, Any]:
    """An outcome as a table keeps it; equal outcomes are equal."""
    kept: dict[str, Any] = json.loads(json.dumps(asdict(found)))
    return kept


def outcome(changes: Any, *notes: str) -> Outcome:
    if getattr(changes, "was_imported", False):
        return Outcome(problem="This file has already been imported.")
    if changes.ignored_columns:
        notes += (f"Columns ignored: {', '.join(changes.ignored_columns)}.",)
    updated = changes.updated if hasattr(changes, "updated") else changes.completed
    return Outcome(changes.created, updated, changes.unchanged, notes)


def legacy(upload: Upload, actor: str, dry_run: bool, begin: Begin) -> Outcome:
    assert upload.issuer_id
    changes = import_legacy_shareholders(
        Issuer.objects.get(pk=upload.issuer_id),
        upload.file_name,
        upload.content,
        actor,
        begin,
        create_holders=upload.creates_holders,
        dry_run=dry_run,
    )
    if not (made := changes.holders):
        return outcome(changes)
    said = f"Holders: {made.created:,} new, {made.completed:,} completed."
    return outcome(changes, said)


def holders(upload: Upload, actor: str, dry_run: bool, begin: Begin) -> Outcome:
    changes = import_holders(
        upload.file_name, upload.content, actor, begin, dry_run=dry_run
    )
    if not changes.other_names:
        return outcome(changes)
    said = f"{changes.other_names:,} have another name in the register, which stays."
    return outcome(changes, said)


def issuers(upload: Upload, actor: str, dry_run: bool, begin: Begin) -> Outcome:
    changes = import_issuers(upload.content, begin, dry_run=dry_run)
    return outcome(changes, *map(str, changes.taken_symbols[:20]))


def figures(upload: Upload, actor: str, dry_run: bool, begin: Begin) -> Outcome:
    return outcome(import_financial_data(upload.content, begin, dry_run=dry_run))


def bank_lines(upload: Upload, actor: str, dry_run: bool, begin: Begin) -> Outcome:
    try:
        booked = book_statement(
            upload.content,
            upload.file_name,
            actor,
            begin,
            closing_balance=upload.closing_balance,
            dry_run=dry_run,
        )
    except OtherBalance as error:
        return Outcome(problem=str(error))
    said = (
        f"{booked.deposits:,} deposits, {euros(booked.deposited)}; "
        f"{booked.withdrawals:,} withdrawals, {euros(booked.withdrawn)}; the closing "
        f"balance agrees with the bank: {euros(booked.balance)}."
    )
    unknown = [f"Unallocated: {line}" for line in booked.unknown[:MOST_TOLD]]
    if left := len(booked.unknown) - len(unknown):
        unknown.append(f"Unallocated: {left:,} more.")
    if booked.ignored_columns:
        unknown.append(f"Columns ignored: {', '.join(booked.ignored_columns)}.")
    new = booked.deposits + booked.withdrawals + len(booked.unknown)
    needed = booked.deposits and is_needed(
        ApprovalKind.STATEMENT, str(User.objects.get(email=actor).pk), booked.deposited
    )
    return Outcome(
        new,
        0,
        booked.known,
        (said, *unknown),
        moves=tuple(
            (str(account), euros(was), euros(became))
            for account, was, became in moves(booked)
        ),
        asks=(booked.content, statement_title(booked)) if needed else None,
        keeps=not booked.is_known,
    )


KINDS = {
    "legacy": Kind(
        "Legacy shareholders",
        "reference, one or more of holder_email, holder_wallet and holder_lei, "
        "token_symbol, number_of_shares, price_cents; optional: created_at, "
        "holder_name, holder_kind, holder_country",
        ("issuers.add_legacyshareholder", "issuers.change_legacyshareholder"),
        legacy,
        of_issuer=True,
    ),
    "holders": Kind(
        "Holders",
        "name, kind (INDIVIDUAL or COMPANY), one or more of email, wallet and lei; "
        "optional: country",
        ("accounts.add_user", "accounts.change_user", "accounts.add_userholder"),
        holders,
    ),
    "figures": Kind(
        "Financial data",
        "issuer (slug), year, period_type (YEAR or FIRST_SEMESTER); optional: "
        "revenue_cents, ebitda_cents, ebit_cents, net_income_cents",
        ("issuers.add_issuerfinancialdata", "issuers.change_issuerfinancialdata"),
        figures,
    ),
    "issuers": Kind(
        "Issuers",
        "name, isin, symbol, country, city; optional: website, sector, industry, "
        "formation_date (1998-04-30)",
        ("issuers.add_issuer", "issuers.change_issuer", "issuers.add_token"),
        issuers,
    ),
    "bank": Kind(
        "Bank statement",
        "reference (the bank's own), text, amount (euro cents, negative for outgoing "
        "payments), date (2027-01-31)",
        ("accounts.add_bankstatement",),
        bank_lines,
    ),
}


def may(user: Any, kind: Kind) -> bool:
    return user.has_perms(kind.permissions)


def attempt(
    upload: Upload, actor: str, dry_run: bool, begin: Begin = unseen
) -> Outcome:
    try:
        with lock_waits.name_locked_row():
            return KINDS[upload.kind].run(upload, actor, dry_run, begin)
    except WrongFileError as error:
        told = tuple(map(in_columns, error.problems))
        return Outcome(problems=told, problem_count=error.count)
    except DataError as error:
        said = str(error).splitlines()[0]
        return Outcome(problem=f"The database rejected the value: {said}.")
    except (IntegrityError, lock_waits.LockTimeout) as error:
        said = str(error).splitlines()[0]
        return Outcome(problem=f"Another change is in progress: {said}")


def in_columns(problem: Problem) -> tuple[int, str, str, str]:
    """Line, field, rule and remedy."""
    rule, _, remedy = problem.rule.rpartition("; ")
    if not rule:
        return problem.line, problem.field, remedy, "correct the value"
    return problem.line, problem.field, rule, remedy


def confirm(
    upload: Upload,
    previewed: Outcome,
    person: User,
    reason: str,
    begin: Begin = unseen,
) -> tuple[Outcome, ApprovalRequest | None]:
    """Write what was previewed, or ask a second person for it.

    Where it differs by now, nothing is written; what would be is returned.

    Raises:
        NotApproved: this person may not ask, gives no reason, or by now has to ask.
    """
    if previewed.asks and not reason:
        raise NotApproved("A reason is required; the approver sees it.")
    asked = None
    with carrying([]):
        is_asked = previewed.asks is not None
        done = attempt(upload, person.email or "", is_asked, begin)
        if as_json(done) != as_json(previewed):
            transaction.set_rollback(True)
        elif done.asks:
            content, title = done.asks
            asked = file_request(ApprovalKind.STATEMENT, content, title, reason, person)
    return done, asked
