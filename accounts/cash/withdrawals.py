"""Withdrawals of cash: requested by partners, decided by two members of staff.

The requested cash is reserved at once. Only a line of a bank statement marks it paid
(`accounts.cash.bank_statements`).
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model
from django.utils import timezone
from stdnum import iban
from uuid_utils.compat import uuid7

from accounts.accounts.models import Account, AccountNotActive
from accounts.applicants.models import DuplicateReference
from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.cash.models import Withdrawal
from accounts.cash.writer import InsufficientFunds, lock_heads
from accounts.payments.iban import sepa_name
from accounts.payments.models import PaymentOrder
from partnerapi.core.database import rows_of
from partnerapi.core.locks import lock
from partnerapi.core.money import euros

Status = Withdrawal.Status


class NotRefused(Exception):
    """The withdrawal cannot be refused any more; the message says why."""


def request_withdrawal(
    account: Account,
    amount: int,
    reference: str,
    requested_by: str,
    payee: tuple[str, str] | None = None,
) -> Withdrawal:
    """Reserve euro cents of an account's cash for a payment to its client.

    `requested_by` is the login of the account's partner; `payee` are the name and the
    IBAN that the bank is to pay.

    Raises:
        AccountNotActive
        DuplicateReference: the account has a withdrawal of this reference.
        InsufficientFunds: less is available.
    """
    with transaction.atomic():
        [found] = lock(READ, [account.pk, reference])
        check_request(amount, *found)
        withdrawal: Withdrawal
        asked = [requested_by, uuid7(), account.pk, amount, reference]
        [withdrawal] = (
            Withdrawal.objects.raw(WITHDRAW_TO, [*asked, *payee])
            if payee
            else Withdrawal.objects.raw(WITHDRAW, asked)
        )
    return withdrawal


def try_withdrawal(account: Account, amount: int, reference: str) -> Withdrawal:
    """The withdrawal that `request_withdrawal` would write; nothing is locked.

    Raises:
        AccountNotActive, DuplicateReference, InsufficientFunds
    """
    [(cash_account, *found)] = rows_of(SEEN, [reference, account.pk])
    check_request(amount, *found)
    now = timezone.now()
    return Withdrawal(
        cash_account_id=cash_account,
        amount=amount,
        reference=reference,
        created_at=now,
        updated_at=now,
    )


def check_request(
    amount: int, status: str, available: int, before: UUID | None
) -> None:
    if status != Account.Status.ACTIVE:
        raise AccountNotActive(
            f"The account is {status}; cash can only be withdrawn from an ACTIVE "
            "account.",
            status=status,
        )
    if before:
        raise DuplicateReference(
            "The account already has a withdrawal with this reference.",
            argument="input.reference",
            withdrawalID=f"Withdrawal|{before}",
        )
    if amount > available:
        raise InsufficientFunds(
            f"The account has {available:,} cents available; {amount:,} are needed.",
            available=available,
            required=amount,
        )


def refuse(withdrawal: Withdrawal, reason: str, refused_by: str) -> None:
    """End a withdrawal that is REQUESTED, and free its cash; the partner reads why.

    Raises:
        NotRefused: it is not REQUESTED any more.
    """
    with transaction.atomic():
        lock_heads([withdrawal.cash_account_id])
        withdrawal.refresh_from_db()
        if withdrawal.status != Status.REQUESTED:
            raise NotRefused(f"The withdrawal is now {withdrawal.status}.")
        decide(withdrawal, Status.REFUSED, reason, refused_by)
    withdrawal.refresh_from_db()


def decide(withdrawal: Withdrawal, status: str, reason: str, actor: str) -> Withdrawal:
    """Write the withdrawal's next status; the member of staff `actor` decided it."""
    decided: Withdrawal
    [decided] = Withdrawal.objects.raw(DECIDE, [actor, withdrawal.pk, status, reason])
    return decided


def content_of(withdrawal: Withdrawal, status: str, reason: str = "") -> dict[str, Any]:
    """The content of a request; the partner reads the reason of a cancellation."""
    return {
        "withdrawal": str(withdrawal.pk),
        "status": status,
        "cents": str(withdrawal.amount),
        "reason": reason,
    }


def title_of(withdrawal: Withdrawal, status: str) -> str:
    begin = (
        "Withdrawal"
        if status == Status.APPROVED
        else ("Cancellation of the withdrawal")
    )
    amount, account = euros(withdrawal.amount), withdrawal.cash_account.account
    whose = account.user if account else withdrawal.payee.name
    return f"{begin} of {amount} for {whose}, {withdrawal.payment_reference}"


def payee_rows(withdrawal: Withdrawal) -> list[tuple[str, str, str]]:
    """The bank account that is paid; older withdrawals state none."""
    if not hasattr(withdrawal, "payee"):
        return [("Payee", "", "not stated; ask the partner for the IBAN")]
    return [
        ("Payee", "", withdrawal.payee.name),
        ("IBAN of the payee", "", iban.format(withdrawal.payee.iban)),
    ]


def payee_warnings(withdrawal: Withdrawal, client: str) -> list[str]:
    """What should make the second person compare the names."""
    if not hasattr(withdrawal, "payee"):
        return []
    if sepa_name(client).casefold() == withdrawal.payee.name.casefold():
        return []
    return [f"The payee is {withdrawal.payee.name}, and the client is {client}."]


BEFORE = {
    Status.APPROVED.value: Status.REQUESTED,
    Status.CANCELLED.value: Status.APPROVED,
}
"""From which status a second person's approval leads to which."""


class MoveWithdrawal:
    """Approve a withdrawal, or cancel an approved one that the bank will not pay."""

    def preview(self, request: ApprovalRequest) -> Preview:
        withdrawal, status = self.withdrawal(request.content)
        cash = withdrawal.cash_account
        account, head, amount = cash.account, cash.head, withdrawal.amount
        balance, reserved, is_paid = head.balance, head.reserved, status == "APPROVED"
        rows = [("Amount", "", euros(amount)), *payee_rows(withdrawal)]
        if account:
            rows += [
                ("Client", "", str(account.user)),
                ("Account", "", f"{account.pk}, {account.get_status_display()}"),
                ("Partner", "", str(account.partner)),
                ("The partner's reference", "", withdrawal.reference),
            ]
        else:
            rows.append(("Company", "", str(cash.issuer_cash.issuer)))
        rows += [
            ("Withdrawal", "", f"requested by {withdrawal.requested_by}"),
            ("Reference for the bank", "", withdrawal.payment_reference),
        ]
        if not is_paid:
            rows.append(
                ("Reason (visible to the partner)", "", request.content["reason"])
            )
        label = Status(status).label
        rows.append(
            ("Status of the withdrawal", withdrawal.get_status_display(), label)
        )
        if is_paid:
            paid = f"{euros(balance - amount)} after payment by the bank"
            rows.append(("Balance of the account", euros(balance), paid))
        else:
            free = euros(reserved - amount)
            rows.append(("Reserved in the account", euros(reserved), free))
        links: dict[str, Model] = {
            "Withdrawal": withdrawal,
            "Balance of the account": cash,
            "Reserved in the account": cash,
        }
        if account:
            links |= {
                "Client": account.user,
                "Account": account,
                "Partner": account.partner,
            }
        else:
            links["Company"] = cash.issuer_cash.issuer
        if is_paid and account:
            return Preview(rows, payee_warnings(withdrawal, str(account.user)), links)
        warnings = [
            "The cash is released immediately. Make sure that the bank will not pay. "
            "If it does, its line is booked to suspense."
        ]
        if order := PaymentOrder.objects.filter(withdrawal=withdrawal).first():
            warnings.append(
                f"The payment file {order.file} orders the bank to pay it: recall the "
                "payment at the bank first."
            )
        return Preview(rows, warnings, links)

    def execute(self, request: ApprovalRequest) -> Withdrawal:
        withdrawal, status = self.withdrawal(request.content)
        if withdrawal.cash_account.account_id:
            # Closing or suspending an account locks it before its cash, too.
            [_] = Account.objects.raw(SHARE, [withdrawal.cash_account.account_id])
        lock_heads([withdrawal.cash_account_id])
        withdrawal.refresh_from_db(fields=["status"])
        if withdrawal.status != BEFORE[status]:
            raise Superseded(CHANGED)
        reason, asked_by = request.content["reason"], request.filed_by.email or ""
        return decide(withdrawal, status, reason, asked_by)

    def withdrawal(self, content: dict[str, Any]) -> tuple[Withdrawal, str]:
        status = content["status"]
        withdrawal = Withdrawal.objects.select_related(
            "cash_account__account__partner",
            "cash_account__account__user",
            "cash_account__head",
            "payee",
        ).get(pk=UUID(content["withdrawal"]))
        account = withdrawal.cash_account.account
        if withdrawal.status != BEFORE[status]:
            raise Superseded(CHANGED)
        is_paid = status == Status.APPROVED
        if is_paid and account and account.status != Account.Status.ACTIVE:
            raise Superseded(f"The account is {account.status}, and not ACTIVE.")
        return withdrawal, status


CHANGED = "The withdrawal's status has changed since the request."
SHARE = "SELECT * FROM accounts_share(ARRAY[%s]::uuid[])"
READ = "SELECT * FROM cash_read_account(%s, %s)"
SEEN = """
    SELECT c.id, a.status, h.balance - h.reserved, w.id
    FROM accounts_account a
    JOIN accounts_cashaccount c ON c.account_id = a.id
    JOIN accounts_cashhead h ON h.cash_account_id = c.id
    LEFT JOIN accounts_withdrawal w ON w.cash_account_id = c.id AND w.reference = %s
    WHERE a.id = %s
"""
WITHDRAW = "SELECT * FROM cash_withdraw(%s, %s, %s, %s, %s)"
WITHDRAW_TO = "SELECT * FROM cash_withdraw_to(%s, %s, %s, %s, %s, %s, %s)"
DECIDE = "SELECT * FROM cash_decide_withdrawal(%s, %s, %s, %s)"
