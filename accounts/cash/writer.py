"""Writes cash: locks its accounts, and enters transactions by double entry.

Nothing else writes transactions. Triggers derive the postings, balances and reserved
amounts from them, and refuse a transaction that does not add up. Amounts are euro
cents.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

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
    """A movement of cash between two cash accounts, by their ids.

    `reference` is that of a bank line, for a payment from or to the bank; `reverses`
    and `assigns` are ids of transactions.
    """

    kind: str
    source: int
    target: int
    amount: int
    actor: str
    reason: str = ""
    reference: str | None = None
    reverses: int | None = None
    assigns: int | None = None
    withdrawal: UUID | None = None


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
    """Enter payments in order, in two statements; return the transactions' ids.

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
    clock = at or max(head.clock for head in heads.values())
    last = {account: head.last_at for account, head in heads.items()}
    times = []
    for payment in payments:
        pair = (payment.source, payment.target)
        before = [time for account in pair if (time := last.get(account))]
        taken = max([clock, *before])
        last |= dict.fromkeys(pair, taken)
        times.append(taken)
    columns = zip(
        *(
            (
                p.kind, p.amount, p.source, p.target, p.actor, p.reason, p.reference,
                p.reverses, p.assigns, p.withdrawal,
            )
            for p in payments
        ),
        strict=True,
    )  # fmt: skip
    return sorted(fetch(ENTER, [*map(list, columns), times], itemgetter(0)))


def account_of(account: Account) -> CashAccount:
    """The cash account of a client's account."""
    return CashAccount.objects.get(account=account)


def platform_account(kind: str) -> int:
    """The id of one of the platform's own cash accounts."""
    return CashAccount.objects.values_list("pk", flat=True).get(kind=kind)


HOLD = "SELECT * FROM accounts_hold_cash(%s::bigint[])"
ENTER = """
    INSERT INTO accounts_cashtransaction (kind, amount, source_id, target_id, actor,
        reason, reference, reverses_id, assigns_id, withdrawal_id, at)
    SELECT kind, amount, source, target, actor, reason, reference, reverses, assigns,
        withdrawal, at
    FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[],
        %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::uuid[],
        %s::timestamptz[]) WITH ORDINALITY AS p (kind, amount, source, target, actor,
        reason, reference, reverses, assigns, withdrawal, at, place)
    ORDER BY place
    RETURNING id
"""
