"""The application's role alone cannot create or remove cash."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import Error, IntegrityError, connection, transaction

from accounts.accounts.models import AccountNotEmpty, Actor
from accounts.cash.models import CashHead, CashTransaction, Withdrawal
from accounts.cash.verification import INVARIANTS, verify
from accounts.cash.withdrawals import request_withdrawal
from accounts.cash.writer import InsufficientFunds, account_of
from tests.accounts.money import (
    approve,
    bank,
    deposit,
    head_of,
    new_account,
    new_partner,
    reference_of,
)
from tests.owner import as_committed, tamper
from tests.threads import in_threads

pytestmark = pytest.mark.django_db
PARTNER = Actor("partner", is_staff=False)
CALLS, CONNECTIONS = 200, 20


class Cash:
    """Two accounts: one has 10 €, of which 4 € are requested; 3 € are no one's."""

    def __init__(self) -> None:
        partner = new_partner()
        self.account, self.other = new_account(partner), new_account(partner)
        self.a, self.b = (
            account_of(account).pk for account in (self.account, self.other)
        )
        deposit(self.account, 1_000)
        bank(("Hello", 300, "unknown"))
        self.withdrawal = request_withdrawal(self.account, 400, "W", "partner")
        kinds = CashHead.objects.exclude(kind="CLIENT").values_list("kind", "pk")
        self.of = dict(kinds)
        as_committed()

    def words(self) -> dict[str, Any]:
        deposit = CashTransaction.objects.get(reference="unknown")
        return {
            "a": self.a,
            "b": self.b,
            "bank": self.of["BANK"],
            "fees": self.of["FEES"],
            "suspense": self.of["SUSPENSE"],
            "unknown": deposit.pk,
            "withdrawal": f"'{self.withdrawal.pk}'",
        }


@pytest.fixture
def cash() -> Cash:
    return Cash()


ENTER = """INSERT INTO accounts_cashtransaction
    (kind, amount, source_id, target_id, at, actor, reason{more})
    VALUES ({values})"""


def entered(
    kind: str, pair: str, amount: int = 1, at: str = "clock_timestamp()", **more
):
    """The insertion of a transaction, with further columns."""
    columns = "".join(f", {column}" for column in more)
    values = [f"'{kind}'", str(amount), pair, at, "'me'", "''", *more.values()]
    return ENTER.format(more=columns, values=", ".join(values))


LINE = """INSERT INTO accounts_bankline (reference, statement_id, text, amount, date)
    SELECT 'made up', min(id), '', 5, '2027-01-31' FROM accounts_bankstatement"""
REFUSED = {
    "a balance": "UPDATE accounts_cashhead SET balance = balance + 1",
    "what is reserved": "UPDATE accounts_cashhead SET reserved = 0",
    "a reservation": "SELECT accounts_reserve_cash('{{{a}}}', '{{-1}}')",
    "a head": "INSERT INTO accounts_cashhead VALUES (99, 'CLIENT', 5, 0, 0, NULL, 0)",
    "a cash account": "INSERT INTO accounts_cashaccount (kind) VALUES ('CLIENT')",
    "another's cash account": "UPDATE accounts_cashaccount SET account_id = NULL",
    "a posting": "INSERT INTO accounts_cashposting VALUES ({a}, 3, 1, 5, 5)",
    "a transaction that changes": "UPDATE accounts_cashtransaction SET amount = 9",
    "a transaction that goes": "DELETE FROM accounts_cashtransaction",
    "a bank line that changes": "UPDATE accounts_bankline SET amount = 9",
    "a bank line without its transaction": LINE,
    "another's money": LINE
    + ";"
    + entered("DEPOSIT", "{bank}, {a}", 5, reference="'made up'"),
    "a withdrawal that goes": "DELETE FROM accounts_withdrawal",
    "a withdrawal of less": "UPDATE accounts_withdrawal SET amount = 1",
    "a withdrawal that no one approved":
    "UPDATE accounts_withdrawal SET status = 'APPROVED'",
    "a withdrawal that no one paid": "UPDATE accounts_withdrawal SET status = 'PAID'",
    "a withdrawal that is refused without a reason":
    "UPDATE accounts_withdrawal SET status = 'REFUSED'",
    "money from nowhere": entered("DEPOSIT", "{bank}, {a}"),
    "money that a line brought before":
    entered("DEPOSIT", "{bank}, {a}", 300, reference="'unknown'"),
    "money that no one assigned":
    entered("DEPOSIT", "{suspense}, {a}", 300, assigns_id="{unknown}"),
    "a part of unknown money":
    entered("DEPOSIT", "{suspense}, {a}", 299, assigns_id="{unknown}"),
    "more than there is": entered("TRADE", "{a}, {b}", 601),
    "more than there is, from nothing": entered("TRADE", "{b}, {a}"),
    "a trade with the bank": entered("TRADE", "{bank}, {a}"),
    "a fee without a tariff": entered("FEE", "{a}, {fees}"),
    "a payment to itself": entered("TRADE", "{a}, {a}"),
    "a payment of nothing": entered("TRADE", "{a}, {b}", 0),
    "a payment of less than nothing": entered("TRADE", "{a}, {b}", -5),
    "a payment yesterday":
    entered("TRADE", "{a}, {b}", at="clock_timestamp() - interval '1 day'"),
    "a payment tomorrow":
    entered("TRADE", "{a}, {b}", at="clock_timestamp() + interval '1 day'"),
    "a withdrawal without a bank line":
    entered("WITHDRAWAL", "{a}, {bank}", 400, withdrawal_id="{withdrawal}"),
    "a reversal of a deposit":
    entered("REVERSAL", "{suspense}, {bank}", 300, reverses_id="{unknown}"),
    "a reversal of nothing": entered("REVERSAL", "{a}, {b}"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_plain_sql_of_the_application_is_refused(cash: Cash, what: str):
    heads = sorted(CashHead.objects.values_list())
    with pytest.raises(Error), transaction.atomic():
        run(REFUSED[what].format(**cash.words()))
    assert sorted(CashHead.objects.values_list()) == heads
    assert [finding.rule for finding in verify() if finding.breaches] == []


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
    as_committed()


def test_a_withdrawal_does_not_begin_as_approved(cash: Cash):
    for wrong in ({"status": "APPROVED"}, {"amount": 601}, {"amount": 0}):
        asked = {"amount": 1, "reference": "X", "requested_by": "me"} | wrong
        with pytest.raises(IntegrityError), transaction.atomic():
            Withdrawal.objects.create(cash_account_id=cash.a, **asked)
    cash.account.change_status("SUSPENDED", PARTNER, None)
    with pytest.raises(IntegrityError, match="ACTIVE"), transaction.atomic():
        Withdrawal.objects.create(
            cash_account_id=cash.a, amount=1, reference="X", requested_by="me"
        )


def test_a_bank_line_pays_the_withdrawal_that_it_names_and_no_other(cash: Cash):
    other = request_withdrawal(cash.account, 400, "V", "partner")
    for withdrawal in (cash.withdrawal, other):
        approve(withdrawal)
    named = f"'{cash.withdrawal.payment_reference}', -400"
    paid = entered(
        "WITHDRAWAL",
        "{a}, {bank}",
        400,
        reference="'made up'",
        withdrawal_id=f"'{other.pk}'",
    )
    booked = LINE.replace("'', 5", named) + ";" + paid.format(**cash.words())
    # The statement still gets its lines.
    tamper("UPDATE accounts_bankstatement SET made_in = register_transaction(2)")
    with (
        pytest.raises(IntegrityError, match="the withdrawal or the transaction"),
        transaction.atomic(),
    ):
        run(booked)
    run(booked.replace(str(other.pk), str(cash.withdrawal.pk)))
    statuses = {w.reference: w.status for w in Withdrawal.objects.all()}
    assert statuses == {"W": "PAID", "V": "APPROVED"}


HEAD = "UPDATE accounts_cashhead SET {} WHERE cash_account_id = {{a}}"
TAMPERED = {
    "a cash account is gone": "DELETE FROM accounts_cashhead WHERE kind = 'FEES'",
    "a posting is gone": "DELETE FROM accounts_cashposting WHERE cash_account_id = {a}",
    "a number is skipped": HEAD.format("last_number = 9"),
    "a posting is more":
    "UPDATE accounts_cashposting SET balance_after = 7 WHERE cash_account_id = {a}",
    "a balance is more": HEAD.format("balance = balance + 1"),
    "another actor": "UPDATE accounts_cashtransaction SET actor = 'x'",
    "a time in the future":
    "UPDATE accounts_cashtransaction SET at = at + interval '1 day'",
    "nothing is reserved": HEAD.format("reserved = 0"),
    "a line says more": "UPDATE accounts_bankline SET amount = 301",
    "a withdrawal is paid": "UPDATE accounts_withdrawal SET status = 'PAID'",
    "an account is closed": "UPDATE accounts_account SET status = 'CLOSED'",
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
def test_verify_cash_finds_who_got_past_the_guards(cash: Cash, what: str):
    assert [finding.rule for finding in verify() if finding.breaches] == []
    tamper(TAMPERED[what].format(**cash.words()))
    assert [finding.rule for finding in verify() if finding.breaches] != []


def test_verify_cash_looks_at_the_guards(cash: Cash):
    tamper("ALTER TABLE accounts_cashhead DROP CONSTRAINT cash_reserved_within_balance")
    [finding] = [finding for finding in verify() if finding.breaches]
    assert "cash_reserved_within_balance" in finding.details[0]
    assert len([*verify()]) == len(INVARIANTS) + 1


class Counted:
    """Calls by many threads, each on its own connection, with their outcomes."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.refused: list[Any] = []

    def run(self, call: Callable[[int], Any], *refusals: type[Exception]) -> None:
        def work(thread: int) -> None:
            for number in range(thread, CALLS, CONNECTIONS):
                try:
                    self.done.append(call(number))
                except refusals as error:
                    self.refused.append(error)

        assert in_threads(CONNECTIONS, work) == []
        assert len(self.done) + len(self.refused) == CALLS


@pytest.mark.django_db(transaction=True)
def test_two_hundred_withdrawals_of_the_same_money(patient_locks: None):
    account = new_account(new_partner())
    deposit(account, 1_000)
    counted = Counted()
    counted.run(
        lambda n: request_withdrawal(account, 70, f"W-{n}", "me"), InsufficientFunds
    )
    assert len(counted.done) == 14
    assert head_of(account) == (1_000, 980)
    assert broken() == []


@pytest.mark.django_db(transaction=True)
def test_who_closes_an_account_and_who_pays_in_come_one_after_the_other(
    patient_locks: None,
):
    partner = new_partner()
    accounts = [new_account(partner) for _ in range(20)]
    booked: list[Any] = []

    def race(number: int) -> None:
        account = accounts[number // 2]
        if number % 2:
            booked.append(bank((reference_of(account), 5)))
            return
        try:
            account.change_status("CLOSED", PARTNER, None)
        except AccountNotEmpty as error:
            booked.append(error)

    assert in_threads(40, race) == []
    for account in accounts:
        account.refresh_from_db()
        assert (account.status == "CLOSED") == (head_of(account)[0] == 0)
    assert broken() == []


@pytest.mark.django_db(transaction=True)
def test_a_withdrawal_is_paid_once_by_all_who_book_its_line(patient_locks: None):
    account = new_account(new_partner())
    deposit(account, 1_000)
    withdrawal = request_withdrawal(account, 600, "W", "me")
    approve(withdrawal)
    line = (withdrawal.payment_reference, -600, "one line")
    booked: list[Any] = []
    assert in_threads(8, lambda number: booked.append(bank(line))) == []
    assert sum(one.withdrawals for one in booked) == 1
    assert sum(one.known for one in booked) == 7
    assert head_of(account) == (400, 0)
    assert broken() == []


def broken() -> list[str]:
    return [finding.rule for finding in verify() if finding.breaches]
