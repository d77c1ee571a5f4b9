"""Cash of the sandbox's clients, as a bank statement brings it."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.db import transaction

from accounts.approvals.models import ApprovalKind
from accounts.cash.bank_statements import book_lines
from accounts.cash.models import BankLine, BankStatement, CashAccount, CashHead
from partnerapi.core.locks import lock
from partnerapi.sandbox.data.approvals import (
    ASKER,
    carry_out_requests,
    colleague,
    file_and_approve,
)
from partnerapi.sandbox.data.chance import OPENING


def pay_in(cents: Mapping[UUID, int]) -> None:
    """Euro cents for accounts that are ACTIVE or SUSPENDED; for each once."""
    names = dict(
        CashAccount.objects.filter(account__in=cents).values_list(
            "account_id", "deposit_reference"
        )
    )
    book(
        BankLine(
            reference=f"SANDBOX {account}",
            text=f"Deposit {names[account]}",
            amount=amount,
            date=OPENING.date(),
        )
        for account, amount in cents.items()
    )


def pay_in_unknown(name: str, cents: int) -> None:
    """Euro cents that name no deposit reference: they wait with SUSPENSE."""
    line = BankLine(
        reference=f"SANDBOX {name}",
        text="Savings, as agreed on the telephone",
        amount=cents,
        date=OPENING.date(),
    )
    book([line])


def book(lines: Iterable[BankLine]) -> None:
    """As two people do; lines that are booked already stay as they are."""
    lines = [*lines]
    known = BankLine.objects.in_bulk([line.reference for line in lines])
    lines = [line for line in lines if line.reference not in known]
    if not lines:
        return
    with transaction.atomic():
        # Each statement needs the balance that the one before it has left.
        lock(
            "SELECT pg_advisory_xact_lock("
            "hashtextextended('statements of a sandbox', 0))",
            [],
        )
        [lies] = CashHead.objects.filter(kind="BANK").values_list("balance", flat=True)
        statement = BankStatement(
            name="sandbox.csv",
            digest="",
            closing_balance=sum(line.amount for line in lines) - lies,
            booked_by=colleague(ASKER).email or "",
        )
        booked = book_lines(lines, statement, {}, dry_run=True)
        requests = []
        if booked.deposits:
            requests = file_and_approve(ApprovalKind.STATEMENT, booked.content)
        with carry_out_requests(requests):
            book_lines(lines, statement, {})
