"""Cash in tests: accounts that are ACTIVE, and money from a bank."""

import uuid
from collections.abc import Sequence
from csv import DictReader
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.approvals.four_eyes import carry_out
from accounts.approvals.models import ApprovalKind
from accounts.cash.bank_statements import Booked, book_statement
from accounts.cash.models import BankLine, CashHead, CashTransaction, Withdrawal
from accounts.cash.suspense import assignment_content
from accounts.cash.withdrawals import content_of
from accounts.cash.writer import account_of, lock_heads, platform_account
from accounts.keys.models import Partner
from accounts.people.models import User
from partnerapi.sandbox.data.approvals import (
    ASKER,
    carry_out_requests,
    colleague,
    file_and_approve,
)
from partnerapi.staff.approvals.kinds import KINDS
from tests.approved import desk
from tests.owner import tamper

Line = tuple[str, int] | tuple[str, int, str]
"""A text and euro cents; the third, if any, is the bank's reference."""


def new_partner() -> Partner:
    name = f"p{uuid.uuid4().hex[:20]}"
    return Partner.objects.create(login=name, name=name)


def new_account(partner: Partner, status: str = "ACTIVE") -> Account:
    user = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Carla", last_name=uuid.uuid4().hex[:8]
    )
    account = Account.objects.open(partner, user, desk(), timezone.now())
    if status != "PENDING":
        account.change_status(status, desk(), None)
    return account


def bank(*lines: Line, closing_balance: int | None = None) -> Booked:
    """Book a statement of these lines, as two people do where clients get money.

    Without `closing_balance` the bank says what the books do.
    """
    content = csv(lines)
    with transaction.atomic():
        if closing_balance is None:
            closing_balance = at_bank(content)

        def book(dry_run: bool) -> Booked:
            return book_statement(
                content,
                "test.csv",
                colleague(ASKER).email or "",
                begin,
                closing_balance=closing_balance,
                dry_run=dry_run,
            )

        requests = []
        if (booked := book(dry_run=True)).deposits:
            requests = file_and_approve(ApprovalKind.STATEMENT, booked.content)
        with carry_out_requests(requests):
            return book(dry_run=False)


def at_bank(content: bytes) -> int:
    """The balance at the bank after the unbooked lines of a file.

    No other session books before the transaction ends.
    """
    lock_heads([platform_account("BANK")])
    rows = [*DictReader(content.decode().splitlines())]
    known = BankLine.objects.in_bulk([row["reference"] for row in rows])
    came = sum(int(row["amount"]) for row in rows if row["reference"] not in known)
    return came - CashHead.objects.get(kind="BANK").balance


def csv(lines: Sequence[Line]) -> bytes:
    rows = ["reference,text,amount,date"]
    for text, amount, *reference in lines:
        name = reference[0] if reference else uuid.uuid4().hex
        rows.append(f'{name},"{text}",{amount},2027-01-31')
    return "\n".join(rows).encode()


def begin(work: str, total: int):
    return lambda done: None


def deposit(account: Account, cents: int) -> None:
    """Money that names the account's deposit reference."""
    booked = bank((reference_of(account), cents))
    assert not booked.unknown


def reference_of(account: Account) -> str:
    return account_of(account).deposit_reference or ""


def head_of(account: Account) -> tuple[int, int]:
    """The account's balance and its reserved part; euro cents."""
    head = CashHead.objects.get(cash_account__account=account)
    return head.balance, head.reserved


def carry(kind: str, content: dict[str, object]) -> Any:
    """File a request, approve it and carry it out, as two members of staff."""
    [request] = file_and_approve(kind, content)
    return carry_out(request, KINDS[kind])


def approve(withdrawal: Withdrawal) -> None:
    carry(ApprovalKind.WITHDRAWAL, content_of(withdrawal, "APPROVED"))


def cancel(withdrawal: Withdrawal) -> None:
    carry(ApprovalKind.WITHDRAWAL, content_of(withdrawal, "CANCELLED", "Not paid"))


def post(
    source: int, target: int, cents: int, kind: str = "TRADE", undone: str = "NULL"
) -> None:
    """Enter a payment as the owner of the tables, past the writers that judge it."""
    arguments = (
        "clock_timestamp()", f"ARRAY['{kind}']", f"ARRAY[{source}]::bigint[]",
        f"ARRAY[{target}]::bigint[]", f"ARRAY[{cents}]::bigint[]", "ARRAY['me']",
        "ARRAY['']", "ARRAY[NULL]", f"ARRAY[{undone}]::bigint[]",
        "ARRAY[NULL]::bigint[]", "ARRAY[NULL]::uuid[]", "'{}'", "'{}'",
    )  # fmt: skip
    tamper(f"SELECT cash_post({', '.join(arguments)})", guarded=True)


def assign(deposit: CashTransaction, account: Account) -> Any:
    content = assignment_content(deposit, account_of(account), "A letter")
    return carry(ApprovalKind.ASSIGNMENT, content)
