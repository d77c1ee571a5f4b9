"""Locks cash accounts, and enters the payments of trades by double entry.

Only the database's writers (`cash_book_statement`, `cash_withdraw`, …) write cash: they
derive postings, balances and reserved amounts, and refuse what does not add up. Amounts
are euro cents.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from accounts.accounts.models import Account
from accounts.cash.models import CashAccount, CashTransaction
from partnerapi.core.database import fetch
from partnerapi.core.errors import PartnerAPIError

Kind = CashTransaction.Kind


class InsufficientFunds(PartnerAPIError):
    """The available cash of the account (`available`) is less than required
    (`required`), in euro cents.
    """

    code = "INSUFFICIENT_FUNDS"
    example = "a withdrawal of more than `cash.available`"
    remedy = "Request at most `available`, or wait for a deposit."


@dataclass(frozen=True, slots=True)
class Payment:
    """A movement of cash between two clients' cash accounts, by their ids.

    `reverses` is the id of the trade's transaction that a bust undoes.
    """

    kind: str
    source: int
    target: int
    amount: int
    actor: str
    reason: str = ""
    reverses: int | None = None


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
    rows = fetch(HOLD, [sorted(set(cash_accounts))], tuple)
    return {row[0]: LockedHead(*row) for row in rows}


def write_each(payments: Sequence[Payment], at: datetime | None = None) -> list[int]:
    """Enter payments of trades in order, in two statements; return their ids.

    `at` is the time of all payments, taken in this transaction; the default is the
    time of the lock. An account's times never run backwards, so a payment may get a
    later time.

    Raises:
        IntegrityError: a rule of cash refuses one of them; none is written.
    """
    if not payments:
        return []
    heads = lock_heads(
        account for payment in payments for account in (payment.source, payment.target)
    )
    columns = zip(
        *(
            (
                p.kind,
                p.source,
                p.target,
                p.amount,
                p.actor,
                p.reason,
                p.reverses,
            )
            for p in payments
        ),
        strict=True,
    )
    clock = at or max(head.clock for head in heads.values())
    [ids] = fetch(POST, [clock, *map(list, columns)], itemgetter(0))
    return list(ids)


def account_of(account: Account) -> CashAccount:
    """The cash account of a client's account."""
    return CashAccount.objects.get(account=account)


def platform_account(kind: str) -> int:
    """The id of one of the platform's own cash accounts."""
    return CashAccount.objects.values_list("pk", flat=True).get(kind=kind)


HOLD = "SELECT * FROM accounts_hold_cash(%s::bigint[])"
POST = """
    SELECT cash_post_trades(%s, %s::text[], %s::bigint[], %s::bigint[], %s::bigint[],
        %s::text[], %s::text[], %s::bigint[])
"""
