"""Cash of the sandbox's clients, as a bank statement brings it."""

from collections.abc import Mapping
from uuid import UUID

from accounts.bank_statements import book_lines
from accounts.models import BankLine, BankStatement, CashAccount
from partnerapi.sandbox.data.approvals import ASKER
from partnerapi.sandbox.data.chance import OPENING


def pay_in(cents: Mapping[UUID, int]) -> None:
    """Euro cents for accounts that are ACTIVE or SUSPENDED; for each once."""
    names = dict(
        CashAccount.objects.filter(account__in=cents).values_list(
            "account_id", "deposit_reference"
        )
    )
    book_lines(
        [
            BankLine(
                reference=f"SANDBOX {account}",
                text=f"Deposit {names[account]}",
                amount=amount,
                date=OPENING.date(),
            )
            for account, amount in cents.items()
        ],
        BankStatement(name="sandbox.csv", digest="", booked_by=ASKER),
        {},
    )
