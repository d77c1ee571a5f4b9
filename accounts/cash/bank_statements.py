"""Books bank statements: clients' deposits, and withdrawals that were paid.

A statement is a CSV or a camt.053. The balance at the bank by the books then equals the
bank's, or nothing is booked. A second person approves credits to clients. The bank's
reference identifies a line, which is booked once. An incoming payment names its client
by a deposit reference (ISO 11649) in the line's text; an outgoing payment names its
withdrawal in the same way. All other money is booked to SUSPENSE, until staff assign
it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model
from stdnum import iso11649

from accounts.accounts.models import Account
from accounts.approvals.four_eyes import Listing, Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.cash.bank_csv import COLUMNS, read_lines
from accounts.cash.camt import is_xml, read_camt
from accounts.cash.models import (
    BankLine,
    BankStatement,
    CashAccount,
    CashHead,
    Withdrawal,
)
from accounts.cash.writer import lock_heads, platform_account
from accounts.payments.models import HouseAccount
from partnerapi.core.csv_tables import read_table
from partnerapi.core.database import value_of
from partnerapi.core.money import euros
from partnerapi.core.problems import Problem, Problems, WrongFileError
from partnerapi.core.progress import Begin

MOST_TOLD = 50
"""Accounts, and lines to SUSPENSE, that a preview tells one by one."""
OURS = re.compile(r"RF[0-9]{15}")
"""How deposit references and payment references look, without separators."""


class OtherBalance(Exception):
    """The bank's balance is not what lies there by the books; says who states what."""


def other_closing(closing: int, booked: int) -> OtherBalance:
    return OtherBalance(
        f"Balances differ by {euros(abs(closing - booked))}: the bank states "
        f"{euros(closing)}, and the books {euros(booked)} after these lines. Look for "
        "a missing line in this file or an earlier one, and reconcile before importing."
    )


def other_opening(opening: int, booked: int) -> OtherBalance:
    return OtherBalance(
        f"The statement opens with {euros(opening)}, and the books with "
        f"{euros(booked)}: a statement before it is missing, or it is of another "
        "account."
    )


@dataclass(slots=True)
class Booked:
    """The result of booking a statement: numbers of lines, and euro cents."""

    deposits: int = 0
    deposited: int = 0
    withdrawals: int = 0
    withdrawn: int = 0
    known: int = 0
    unknown: list[str] = field(default_factory=list)
    """The lines that went to SUSPENSE, and why."""
    balance: int = 0
    """The bank balance after them."""
    is_known: bool = False
    """Whether this very statement was booked before."""
    moved: dict[int, tuple[int, int]] = field(default_factory=dict)
    """What clients' cash accounts had before, and have after, by their ids."""
    content: dict[str, Any] = field(default_factory=dict)
    """What a second person approves, as the database compares it."""
    ignored_columns: list[str] = field(default_factory=list)


class NoClosingBalance(Exception):
    """A CSV has no balance of its own, and none was given with it."""

    def __init__(self) -> None:
        super().__init__("State the bank's balance after the last line of the CSV.")


def book_statement(
    content: bytes,
    name: str,
    booked_by: str,
    begin: Begin,
    *,
    closing_balance: int | None,
    dry_run: bool = False,
) -> Booked:
    """Book the new lines of a CSV or a camt.053, all of them or none.

    `closing_balance` is the bank's own balance after the last line, in euro cents. A
    camt.053 states it; where both do, they must agree. The database requires an
    approval of the credits to clients. A dry run locks and writes nothing.

    Raises:
        WrongFileError: the file's problems, by line, field and rule.
        OtherBalance
        NoClosingBalance
    """
    opening = None
    ignored_columns: list[str] = []
    if is_xml(content):
        problems = Problems()
        camt = read_camt(content, problems)
        lines, opening = camt.lines, camt.opening
        house = HouseAccount.now()
        if house is not None and not problems and camt.account != house.iban:
            rule = (
                f"{camt.account or 'no account'} is not {house.iban}, the platform's "
                "bank account; export the statement of that account"
            )
            problems.append(Problem(0, "Acct", rule))
        name = f"{name[:150]}, {camt.account}"
    else:
        table = read_table(content, COLUMNS)
        problems, ignored_columns = table.problems, table.ignored_columns
        lines = read_lines(table.rows, problems)
    if problems:
        raise WrongFileError(problems)
    if opening is not None:
        if closing_balance not in (None, camt.closing):
            raise other_closing(closing_balance, camt.closing)
        closing_balance = camt.closing
    if closing_balance is None:
        raise NoClosingBalance
    advance = begin("Booking", len(lines))
    with transaction.atomic():
        booked = book_lines(
            [line for _, line in lines],
            BankStatement(
                name=name[:200],
                digest=hashlib.sha256(content).hexdigest(),
                closing_balance=closing_balance,
                booked_by=booked_by,
            ),
            {line.reference: number for number, line in lines},
            opening=opening,
            dry_run=dry_run,
        )
    advance(len(lines))
    booked.ignored_columns = ignored_columns
    return booked


def book_lines(
    lines: list[BankLine],
    statement: BankStatement,
    numbers: dict[str, int],
    *,
    opening: int | None = None,
    dry_run: bool = False,
) -> Booked:
    """Book the new lines in this transaction.

    `numbers` are the line numbers in the file, by reference, for error messages. Where
    the bank states the balance before the lines, `opening` is that, in euro cents.

    Raises:
        WrongFileError
        OtherBalance
    """
    clients = clients_of(lines)
    withdrawals = withdrawals_of(lines)
    bank, suspense = (platform_account(kind) for kind in ("BANK", "SUSPENSE"))
    owners = [client.account_id for client in clients.values() if client.account_id]
    # A shared lock: an account cannot close while its deposit is being booked.
    accounts = (
        Account.objects.filter(pk__in=owners)
        if dry_run
        else Account.objects.raw(SHARE, [owners])
    )
    standing = {account.pk: account.status for account in accounts}
    named = [
        bank,
        suspense,
        *(client.pk for client in clients.values()),
        *(withdrawal.cash_account_id for withdrawal in withdrawals.values()),
    ]
    balances = (
        dict(CashHead.objects.filter(pk__in=named).values_list("pk", "balance"))
        if dry_run
        else {key: head.balance for key, head in lock_heads(named).items()}
    )
    # Under the bank's lock: two commands that book the same file run in turn.
    known = BankLine.objects.in_bulk([line.reference for line in lines])
    # What is known is in the books already.
    before = -balances[bank] - sum(line.amount for line in known.values())
    if opening not in (None, before) and len(known) < len(lines):
        raise other_opening(opening, before)
    # Their statuses may have changed before the heads were locked.
    withdrawals = withdrawals_of(lines)
    booked = Booked(balance=-balances[bank])
    entered: list[list[Any]] = []
    paid: list[UUID | None] = []
    problems = Problems()
    for line in lines:
        if earlier := known.get(line.reference):
            booked.known += 1
            if (earlier.text, earlier.amount, earlier.date) != (
                line.text, line.amount, line.date,
            ):  # fmt: skip
                rule = (
                    "this reference was already booked with another text, amount or "
                    "date"
                )
                problems.append(Problem(numbers[line.reference], "reference", rule))
            continue
        booked.balance += line.amount
        if booked.balance < 0:
            rule = (
                "outgoing payments exceed the book balance of the bank account, "
                f"{euros(booked.balance)}"
            )
            problems.append(Problem(numbers[line.reference], "amount", rule))
            break
        found = references_in(line.text)
        amount = abs(line.amount)
        if line.amount > 0:
            client = clients.get(found)
            why = no_deposit(found, client, standing)
            moved = suspense if why or client is None else client.pk
            paid.append(None)
            if not why:
                booked.deposits += 1
                booked.deposited += amount
        else:
            # A withdrawal is paid once, by the first line that names it.
            withdrawal = withdrawals.get(found)
            why = no_withdrawal(found, withdrawal, amount)
            is_paid = withdrawal is not None and not why
            moved = withdrawal.cash_account_id if withdrawal and is_paid else suspense
            paid.append(withdrawal.pk if withdrawal and is_paid else None)
            if is_paid:
                del withdrawals[found]
                booked.withdrawals += 1
                booked.withdrawn += amount
        if why:
            booked.unknown.append(f"{line.reference}, {euros(line.amount)}: {why}")
        else:
            was = balances[moved]
            _, before_line = booked.moved.get(moved, (was, was))
            booked.moved[moved] = was, before_line + line.amount
        said = line.reference, line.text, str(line.amount), str(line.date), moved
        entered.append([*said])
    if problems:
        raise WrongFileError(problems)
    closing = statement.closing_balance
    assert closing is not None
    same = BankStatement.objects.filter(
        digest=statement.digest, closing_balance=closing
    )
    booked.is_known = not entered and same.exists()
    if closing != booked.balance and not booked.is_known:
        raise other_closing(closing, booked.balance)
    booked.content = {
        "name": statement.name,
        "digest": statement.digest,
        "closing": str(closing),
        "lines": entered,
    }
    if not (booked.is_known or dry_run):
        columns = map(list, zip(*entered, strict=True)) if entered else [[]] * 5
        value_of(
            BOOK,
            [
                *(statement.booked_by, statement.name, statement.digest, closing),
                *columns,
                paid,
            ],
        )
    return booked


def statement_title(booked: Booked) -> str:
    name = booked.content["name"]
    return f"Bank statement {name}: {euros(booked.deposited)} for clients"


class BookStatement:
    """A bank statement whose deposits need a second person.

    It is superseded if its lines would now be booked differently, or if the bank's
    closing balance differs from the books.
    """

    def preview(self, request: ApprovalRequest) -> Preview:
        booked = self.book_request(request, dry_run=True)
        rows = [
            ("File", "", request.content["name"]),
            ("SHA-256 of the file", "", request.content["digest"]),
            ("Lines", "", f"{len(request.content['lines']):,}"),
            (
                "Bank balance",
                euros(booked.balance - sum_of(request)),
                euros(booked.balance),
            ),
        ]
        links: dict[str, Model] = {}
        for account, was, became in moves(booked):
            name = f"Balance of {account}"
            rows.append((name, euros(was), euros(became)))
            if isinstance(account, CashAccount):
                links[name] = account
        warnings = [f"Unallocated: {line}" for line in booked.unknown[:MOST_TOLD]]
        if left := len(booked.unknown) - len(warnings):
            warnings.append(f"Unallocated: {left:,} more.")
        warnings.append("Compare it with the bank's own records before you approve.")
        return Preview(rows, warnings, links, listing(request.content["lines"]))

    def execute(self, request: ApprovalRequest) -> Booked:
        return self.book_request(request)

    def book_request(
        self, request: ApprovalRequest, *, dry_run: bool = False
    ) -> Booked:
        content = request.content
        lines = [
            BankLine(
                reference=reference,
                text=text,
                amount=int(amount),
                date=date.fromisoformat(day),
            )
            for reference, text, amount, day, _ in content["lines"]
        ]
        statement = BankStatement(
            name=content["name"],
            digest=content["digest"],
            closing_balance=int(content["closing"]),
            booked_by=request.filed_by.email or "",
        )
        try:
            numbers = {line.reference: 0 for line in lines}
            booked = book_lines(lines, statement, numbers, dry_run=dry_run)
        except WrongFileError as error:
            raise Superseded(str(error.problems[0])) from None
        except OtherBalance as error:
            raise Superseded(str(error)) from None
        if booked.content != content:
            raise Superseded(
                "Some lines have been booked since, or an account that they name has "
                "changed."
            )
        return booked


def listing(lines: Sequence[Sequence[Any]]) -> Listing:
    """Each line as it would be booked, in file order."""

    def rows(start: int, stop: int) -> list[tuple[str, ...]]:
        shown = lines[start:stop]
        accounts = CashAccount.objects.select_related(
            "account__user", "account__partner"
        ).in_bulk({moved for *_, moved in shown})
        return [
            (reference, day, text, euros(int(amount)), str(accounts[moved]))
            for reference, text, amount, day, moved in shown
        ]

    columns = [
        ("Reference", False),
        ("Date", False),
        ("Text", False),
        ("Amount", True),
        ("Booked to", False),
    ]
    return Listing("Lines of the statement", columns, len(lines), rows)


def sum_of(request: ApprovalRequest) -> int:
    return sum(int(amount) for _, _, amount, _, _ in request.content["lines"])


def moves(booked: Booked) -> Iterator[tuple[CashAccount | str, int, int]]:
    """Clients' accounts with balances before and after; the largest movements first."""
    by_size = sorted(
        booked.moved.items(), key=lambda item: -abs(item[1][1] - item[1][0])
    )
    told, others = by_size[:MOST_TOLD], by_size[MOST_TOLD:]
    accounts = CashAccount.objects.select_related(
        "account__user", "account__partner"
    ).in_bulk([key for key, _ in told])
    for key, (was, became) in told:
        yield accounts[key], was, became
    if others:
        yield (
            f"{len(others):,} further accounts",
            sum(was for _, (was, _) in others),
            sum(became for _, (_, became) in others),
        )


def clients_of(lines: Iterable[BankLine]) -> dict[str, CashAccount]:
    """The cash accounts named by the deposit references of incoming payments."""
    named = {references_in(line.text) for line in lines if line.amount > 0}
    accounts = CashAccount.objects.filter(deposit_reference__in=named - {""})
    return {account.deposit_reference or "": account for account in accounts}


def withdrawals_of(lines: Iterable[BankLine]) -> dict[str, Withdrawal]:
    """The withdrawals named by outgoing payments."""
    named = {references_in(line.text) for line in lines if line.amount < 0}
    withdrawals = Withdrawal.objects.filter(payment_reference__in=named - {""})
    return {withdrawal.payment_reference: withdrawal for withdrawal in withdrawals}


def references_in(text: str) -> str:
    """The platform's reference in a text, whatever separates its characters.

    Empty if the text names none, or several.
    """
    signs = re.sub("[^A-Z0-9]", "", text.upper())
    found = {name for name in OURS.findall(signs) if iso11649.is_valid(name)}
    return found.pop() if len(found) == 1 else ""


def no_deposit(
    found: str, client: CashAccount | None, standing: Mapping[UUID, str]
) -> str:
    """Why an incoming payment is unallocated; empty: it is the client's."""
    if not found:
        return "no single deposit reference found"
    if client is None:
        return f"{found} is not a deposit reference of any account"
    assert client.account_id is not None
    status = standing[client.account_id]
    if status not in (Account.Status.ACTIVE, Account.Status.SUSPENDED):
        return f"the account of {found} is {status}"
    return ""


def no_withdrawal(found: str, withdrawal: Withdrawal | None, amount: int) -> str:
    """Why an outgoing payment paid no withdrawal; empty: it paid this one."""
    if not found:
        return "no single payment reference of a withdrawal found"
    if withdrawal is None:
        return f"{found} is not the payment reference of an open withdrawal"
    if withdrawal.status != Withdrawal.Status.APPROVED:
        return f"the withdrawal {found} is {withdrawal.status}"
    if withdrawal.amount != amount:
        return f"the withdrawal {found} has the amount {euros(withdrawal.amount)}"
    return ""


SHARE = "SELECT * FROM accounts_share(%s::uuid[])"
BOOK = """
    SELECT cash_book_statement(%s, %s, %s, %s, %s::text[], %s::text[], %s::bigint[],
        %s::date[], %s::bigint[], %s::uuid[])
"""
