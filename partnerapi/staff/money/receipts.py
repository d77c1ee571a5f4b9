"""Unallocated receipts, each with the accounts that it may be meant for.

A suggestion fills in the form of a request; requester and approver compare it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from accounts.cash.bank_statements import OURS
from accounts.cash.models import BankLine, CashAccount, CashTransaction
from accounts.cash.suspense import unassigned_deposits
from partnerapi.core.database import rows_of
from partnerapi.core.money import euros
from partnerapi.staff.approvals.filing import address, may_file

OF_A_PAGE = 20
SUGGESTED = 3
"""Accounts of a receipt, at most."""
RECENT = 2_000
"""Movements of cash among which an equal amount is looked for."""
MOST_NAMES = 6
"""Parts of a bank line's text that may be the payer's name."""
TAKES_MONEY = (Account.Status.ACTIVE, Account.Status.SUSPENDED)


@dataclass(slots=True)
class Suggestion:
    """An account that a receipt may be meant for, and what speaks for it."""

    cash: CashAccount
    reasons: list[str] = field(default_factory=list)
    ask: str = ""
    """The form that assigns it; empty where the account takes no money now."""


@dataclass(frozen=True, slots=True)
class Receipt:
    deposit: CashTransaction
    line: BankLine
    amount: str
    suggestions: list[Suggestion]
    ask: str
    """The form that assigns it to another account."""


def suggest(deposits: list[CashTransaction]) -> dict[int, dict[int, list[str]]]:
    """By receipt, the cash accounts it may be meant for, each with the reasons.

    What speaks more for an account comes first: its deposit reference, the payer's
    name, then an equal amount. Three statements.
    """
    found: dict[int, dict[int, list[str]]] = {d.pk: {} for d in deposits}
    for receipt, account, reason in (
        *by_reference(deposits),
        *by_name(deposits),
        *by_amount(deposits),
    ):
        reasons = found[receipt].setdefault(account, [])
        if reason not in reasons:
            reasons.append(reason)
    return found


def by_reference(deposits: Iterable[CashTransaction]) -> Iterator[tuple[Any, ...]]:
    named = {
        deposit.pk: set(OURS.findall(re.sub("[^A-Z0-9]", "", text_of(deposit).upper())))
        for deposit in deposits
    }
    accounts = CashAccount.objects.filter(
        deposit_reference__in=set().union(*named.values())
    )
    by_own = {account.deposit_reference: account.pk for account in accounts}
    for receipt, references in named.items():
        for reference in sorted(references & by_own.keys()):
            yield receipt, by_own[reference], f"the text names {reference}"


def by_name(deposits: Iterable[CashTransaction]) -> Iterator[tuple[Any, ...]]:
    names = [
        (deposit.pk, name)
        for deposit in deposits
        for name in names_in(text_of(deposit))
    ]
    if not names:
        return
    receipts, texts = zip(*names, strict=True)
    for receipt, account, name in rows_of(BY_NAME, [[*receipts], [*texts]]):
        yield receipt, account, f"the payer is called {name}"


def names_in(text: str) -> list[str]:
    """The parts of a bank line's text that may be a name."""
    parts = (" ".join(part.split()) for part in text.split("|"))
    return [
        part
        for part in parts
        if " " in part and not any(sign.isdigit() for sign in part)
    ][:MOST_NAMES]


def by_amount(deposits: Iterable[CashTransaction]) -> Iterator[tuple[Any, ...]]:
    receipts = [deposit.pk for deposit in deposits]
    amounts = [deposit.amount for deposit in deposits]
    for receipt, account, kind, day in rows_of(BY_AMOUNT, [RECENT, receipts, amounts]):
        if kind == CashTransaction.Kind.DEPOSIT:
            yield receipt, account, f"it received the same amount on {day}"
        else:
            yield receipt, account, f"it was paid the same amount on {day}: a return?"


def text_of(deposit: CashTransaction) -> str:
    assert deposit.reference is not None
    return deposit.reference.text


def show_receipts(request: HttpRequest) -> HttpResponse:
    """The oldest first, from behind the one that `after` names."""
    if not request.user.has_perm("accounts.view_bankline"):
        raise PermissionDenied
    typed = request.GET.get("after", "")
    rows = unassigned_deposits().select_related("reference").order_by("id")
    if typed.isdecimal():
        rows = rows.filter(pk__gt=min(int(typed), 2**63 - 1))
    found = [*rows[: OF_A_PAGE + 1]]
    shown = found[:OF_A_PAGE]
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "Unallocated receipts",
        "receipts": [*receipts_of(shown)],
        "may_ask": may_file(request.user, ApprovalKind.ASSIGNMENT),
        "following": shown[-1].pk if len(found) > len(shown) else None,
        "is_first": not typed.isdecimal(),
    }
    return TemplateResponse(request, "admin/receipts.html", context)


def receipts_of(deposits: list[CashTransaction]) -> Iterator[Receipt]:
    found = suggest(deposits)
    keys = {key for reasons in found.values() for key in [*reasons][:SUGGESTED]}
    accounts = CashAccount.objects.select_related(
        "account__user", "account__partner"
    ).in_bulk(keys)
    for deposit in deposits:
        line = deposit.reference
        assert line is not None
        ask = address(ApprovalKind.ASSIGNMENT, line=line.pk)
        suggestions = [
            Suggestion(accounts[key], reasons)
            for key, reasons in [*found[deposit.pk].items()][:SUGGESTED]
        ]
        for each in suggestions:
            account = each.cash.account
            assert account is not None
            if account.status in TAKES_MONEY:
                given = {"line": line.pk, "account": account.pk}
                each.ask = address(ApprovalKind.ASSIGNMENT, **given)
        yield Receipt(deposit, line, euros(deposit.amount), suggestions, ask)


BY_NAME = """
    SELECT n.receipt, c.id, n.name
    FROM unnest(%s::bigint[], %s::text[]) AS n (receipt, name)
    CROSS JOIN LATERAL (
        SELECT u.id FROM accounts_user u
        WHERE search_fold(u.company_name) = search_fold(n.name)
        UNION
        SELECT u.id FROM accounts_user u
        WHERE search_fold(u.first_name) = search_fold(substring(n.name FROM '^(.*) '))
            AND search_fold(u.last_name) = search_fold(substring(n.name FROM '[^ ]+$'))
        UNION
        SELECT u.id FROM accounts_user u
        WHERE search_fold(u.last_name) = search_fold(substring(n.name FROM '^[^ ]+'))
            AND search_fold(u.first_name) = search_fold(substring(n.name FROM ' (.*)$'))
        LIMIT 10
    ) AS u
    JOIN accounts_account a ON a.user_id = u.id
        AND a.status NOT IN ('CLOSED', 'REJECTED')
    JOIN accounts_cashaccount c ON c.account_id = a.id
    ORDER BY n.receipt, a.status, c.id
"""
BY_AMOUNT = """
    SELECT r.receipt, c.id, t.kind, max(t.at)::date
    FROM (SELECT * FROM accounts_cashtransaction ORDER BY id DESC LIMIT %s) AS t
    JOIN unnest(%s::bigint[], %s::bigint[]) AS r (receipt, amount)
        ON r.amount = t.amount AND r.receipt <> t.id
    JOIN accounts_cashaccount c ON c.kind = 'CLIENT'
        AND c.id = CASE t.kind WHEN 'DEPOSIT' THEN t.target_id
            WHEN 'WITHDRAWAL' THEN t.source_id END
    GROUP BY r.receipt, c.id, t.kind ORDER BY r.receipt, max(t.at) DESC
"""
