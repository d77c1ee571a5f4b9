"""Locks cash accounts.

Only the database's writers (`cash_book_statement`, `cash_withdraw`, …) write cash: they
derive postings, balances and reserved amounts, and refuse what does not add up. Amounts
are euro cents.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from accounts.accounts.models import Account
from accounts.cash.models import CashAccount
from partnerapi.core.errors import PartnerAPIError
from partnerapi.core.locks import lock


class InsufficientFunds(PartnerAPIError):
    """The available cash of the account (`available`) is less than required
    (`required`), in euro cents.
    """

    code = "INSUFFICIENT_FUNDS"
    example = "a withdrawal of more than `cash.available`"
    remedy = "Request at most `available`, or wait for a deposit."


class LockedHead(NamedTuple):
    """A cash account under its lock; `clock` is the time at which it was locked."""

    cash_account: int
    kind: str
    balance: int
    reserved: int
    last_at: datetime | None
    clock: datetime

    @property
    def available(self) -> int:
        return self.balance - self.reserved


def lock_heads(cash_accounts: Iterable[int]) -> dict[int, LockedHead]:
    """Lock the heads of cash accounts, in id order, until the transaction ends."""
    rows = lock(HOLD, [sorted(set(cash_accounts))])
    return {row[0]: LockedHead(*row) for row in rows}


def account_of(account: Account) -> CashAccount:
    """The cash account of a client's account."""
    return CashAccount.objects.get(account=account)


def platform_account(kind: str) -> int:
    """The id of one of the platform's own cash accounts."""
    return CashAccount.objects.values_list("pk", flat=True).get(kind=kind)


HOLD = "SELECT * FROM accounts_hold_cash(%s::bigint[])"
