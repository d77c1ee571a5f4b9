"""Code shared by the commands that write the register."""

from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.core.management.base import CommandError
from django.db import transaction

from accounts.approvals.four_eyes import NotApproved, carrying
from accounts.management.people import (
    active_staff,
    add_second_person,
    add_staff,
    file_for_approval,
    user_named,
)
from issuers.models import Token
from issuers.register import ledger
from issuers.register.approvals import entry_content, entry_title
from issuers.register.errors import LedgerError
from issuers.register.kinds import EntryKind
from issuers.register.models import LedgerTransaction
from issuers.register.reasons import ReasonCode
from partnerapi.core import lock_waits
from partnerapi.core.commands import DryRunCommand
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.core.typed_numbers import NotANumber, typed_whole

TREASURY = "treasury"


def reason_text(text: str) -> str:
    if not text.strip() or len(text) > REASON_LENGTH:
        raise ArgumentTypeError(
            f"{len(text)} characters; must have 1 to {REASON_LENGTH}"
        )
    return text.strip()


def whole(text: str) -> int:
    """
    Raises:
        ArgumentTypeError: the value is not a whole number, or has a sign.
    """
    try:
        number = typed_whole(text)
    except NotANumber as error:
        raise ArgumentTypeError(str(error)) from None
    if not text.strip()[0].isdecimal():
        raise ArgumentTypeError(f"{text:.40} has a sign. Use digits only.")
    return number


class RegisterCommand(DryRunCommand):
    """Takes a token, a person and a reason."""

    is_approved = True
    """Whether a policy may ask for a second person."""

    def add_arguments(self, parser):
        parser.add_argument("symbol", type=str.upper, help="the token's symbol")
        self.add_own_arguments(parser)
        add_staff(parser)
        if self.is_approved:
            add_second_person(parser)

    def add_own_arguments(self, parser):
        """Further arguments, between the symbol and --staff."""


def add_reason(parser):
    parser.add_argument(
        "--reason", metavar="TEXT", type=reason_text, required=True, help="why"
    )


def add_code(parser):
    parser.add_argument(
        "--code",
        type=str.upper,
        choices=[code.value for code in ReasonCode],
        help="code of the reason, which partners read; they do not read the text",
    )


def actor(email: str) -> str:
    return active_staff("--staff", email).email or ""


def token_named(symbol: str) -> Token:
    try:
        return Token.objects.select_related("issuer").get(symbol=symbol)
    except Token.DoesNotExist:
        raise CommandError(
            f"There is no token {symbol}. The admin lists tokens with their symbols."
        ) from None


def account_named(text: str, token: Token) -> int:
    """The ledger account of `treasury`, or of a user as `user_named` reads one."""
    if text.lower() == TREASURY:
        return ledger.treasury(token.issuer)
    user = user_named(text)
    return ledger.holder_accounts([user.pk])[user.pk]


@contextmanager
def writing(dry_run: bool, approval: UUID | None = None) -> Iterator[None]:
    """One transaction, undone in a dry run; a refusal of the ledger ends the command.

    It carries out an approved request.

    Raises:
        CommandError
    """
    carried = [approval] if approval else []
    try:
        with lock_waits.name_locked_row(), carrying(carried):
            yield
            transaction.set_rollback(dry_run)
    except NotApproved as error:
        raise CommandError(
            f"{error} Nothing was written; use --request to request approval."
        ) from None
    except LedgerError as error:
        raise CommandError(f"{error} Nothing was written.") from None
    except lock_waits.LockTimeout as error:
        raise CommandError(
            f"{error} Nothing was written; run the command again."
        ) from None


def enter(entry: ledger.Entry, who: str, tries: bool) -> tuple[ledger.Recorded, int]:
    """Record an entry, or try it; also returns the supply after it.

    Raises:
        LedgerError: a rule that it breaks.
    """
    if tries:
        dry_run = ledger.DryRun()
        recorded = dry_run.record(entry)
        return recorded, dry_run.writer.ledgers[entry.token_id].supply
    [recorded] = ledger.record([entry], who)
    written = LedgerTransaction.objects.get(token=entry.token_id, seq=recorded.number)
    return recorded, int(written.supply_after)


def request_entry(entry: ledger.Entry, token: Token, staff: str) -> str:
    """File a request for an entry that a dry run has allowed."""
    supply = int(token.ledger_head.supply)
    approval = EntryKind(entry.kind).approval
    assert approval is not None
    return file_for_approval(
        approval,
        entry_content(entry, supply),
        entry_title(entry, token),
        entry.reason,
        active_staff("--staff", staff),
    )


def units(count: int) -> str:
    return f"{count:,} {'unit' if count == 1 else 'units'}"
