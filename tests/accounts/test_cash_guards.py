"""The application's role alone cannot create or remove cash."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction

from accounts.accounts.models import AccountNotEmpty
from accounts.approvals.four_eyes import NotApproved
from accounts.cash.models import CashHead, CashTransaction, Withdrawal
from accounts.cash.verification import INVARIANTS, verify
from accounts.cash.withdrawals import content_of, request_withdrawal
from accounts.cash.writer import InsufficientFunds, account_of
from partnerapi.sandbox.data.approvals import (
    ASKER,
    DECIDER,
    carry_out_requests,
    file_and_approve,
)
from tests.accounts.money import (
    approve,
    bank,
    deposit,
    head_of,
    new_account,
    new_partner,
    post,
    reference_of,
)
from tests.approved import partner_of
from tests.owner import as_committed, superuser, tamper
from tests.threads import in_threads

pytestmark = pytest.mark.django_db
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
        self.withdrawal = request_withdrawal(self.account, 400, "W", partner.login)
        self.stranger = new_partner()
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
            "pays": self.withdrawal.payment_reference,
            "names_a": reference_of(self.account),
            "names_b": reference_of(self.other),
            "lies": -CashHead.objects.get(kind="BANK").balance,
            "account": self.account.pk,
            "partner": self.account.partner.login,
            "stranger": self.stranger.login,
            "staff": ASKER,
        }


@pytest.fixture
def cash() -> Cash:
    return Cash()


ENTER = """INSERT INTO accounts_cashtransaction
    (kind, amount, source_id, target_id, at, actor, reason)
    VALUES ('DEPOSIT', 1, {bank}, {a}, clock_timestamp(), 'me', '')"""
STATEMENT = """INSERT INTO accounts_bankstatement
    (name, digest, closing_balance, booked_balance, booked_by)
    VALUES ('invented', '', 1, 1, 'ghost@example.com')"""
LINE = """INSERT INTO accounts_bankline (reference, statement_id, text, amount, date)
    SELECT 'made up', min(id), '', 5, '1999-01-31' FROM accounts_bankstatement"""
WITHDRAWAL = """INSERT INTO accounts_withdrawal (id, cash_account_id, amount,
    reference, payment_reference, status, status_reason, requested_by)
    VALUES (gen_random_uuid(), {a}, 1, 'X', '', 'REQUESTED', '', 'me')"""
NO_RIGHT = {
    "a balance": "UPDATE accounts_cashhead SET balance = balance + 1",
    "what is reserved": "UPDATE accounts_cashhead SET reserved = 0",
    "a head": "INSERT INTO accounts_cashhead VALUES (99, 'CLIENT', 5, 0, 0, NULL, 0)",
    "a cash account": "INSERT INTO accounts_cashaccount (kind) VALUES ('CLIENT')",
    "another's cash account": "UPDATE accounts_cashaccount SET account_id = NULL",
    "a posting": "INSERT INTO accounts_cashposting VALUES ({a}, 3, 1, 5, 5)",
    "a transaction": ENTER,
    "a transaction that changes": "UPDATE accounts_cashtransaction SET amount = 9",
    "a transaction that goes": "DELETE FROM accounts_cashtransaction",
    "a statement": STATEMENT,
    "a statement that changes": "UPDATE accounts_bankstatement SET made_in = NULL",
    "a bank line": LINE,
    "a bank line that changes": "UPDATE accounts_bankline SET amount = 9",
    "a withdrawal": WITHDRAWAL,
    "a withdrawal that goes": "DELETE FROM accounts_withdrawal",
    "a withdrawal of less": "UPDATE accounts_withdrawal SET amount = 1",
    "a withdrawal that no one paid": "UPDATE accounts_withdrawal SET status = 'PAID'",
    "payments of any kind": "SELECT cash_post(clock_timestamp(), '{{DEPOSIT}}',"
    " '{{{bank}}}', '{{{a}}}', '{{5}}', '{{me}}', '{{x}}', '{{NULL}}', '{{NULL}}',"
    " '{{NULL}}', '{{NULL}}', '{{}}', '{{}}')",
}


@pytest.mark.parametrize("what", NO_RIGHT)
def test_the_application_has_no_right_to_write_cash_itself(cash: Cash, what: str):
    with pytest.raises(ProgrammingError, match="permission denied"):
        attempt(cash, NO_RIGHT[what])


def attempt(cash: Cash, statement: str) -> None:
    """Run a statement that changes no cash, whatever becomes of it."""
    heads = sorted(CashHead.objects.values_list())
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement.format(**cash.words()))
            as_committed()
    finally:
        assert sorted(CashHead.objects.values_list()) == heads
        assert broken() == []


def booked(
    amount: int = 5,
    moved: str = "{suspense}",
    *,
    by: str = "{staff}",
    named: str = "''",
    closing: str = "{lies}",
    reference: str = "made up",
    withdrawal: str = "NULL",
) -> str:
    return (
        f"SELECT cash_book_statement('{by}', 'x.csv', '', {closing} + {amount},"
        f" ARRAY['{reference}'], ARRAY[{named}], ARRAY[{amount}]::bigint[],"
        f" ARRAY['2027-01-31']::date[], ARRAY[{moved}]::bigint[],"
        f" ARRAY[{withdrawal}]::uuid[])"
    )


def moved(assigned: str, undone: str, target: str) -> str:
    return f"SELECT cash_move_receipt('{{staff}}', {assigned}, {undone}, {target}, 'x')"


def decided(status: str, why: str = "Why", by: str = "{staff}") -> str:
    return f"SELECT cash_decide_withdrawal('{by}', {{withdrawal}}, '{status}', '{why}')"


def withdrawn(cents: int = 1, by: str = "{partner}") -> str:
    return (
        f"SELECT cash_withdraw('{by}', gen_random_uuid(), '{{account}}', {cents}, 'X')"
    )


BY_WRITERS = {
    "a line without its client's reference": (booked(5, "{a}"), "its text names"),
    "a line of another client":
    (booked(5, "{a}", named="'{names_b}'"), "its text names"),
    "a credit that no one approved":
    (booked(5, "{a}", named="'{names_a}'"), "needs an approval"),
    "a closing balance that the books contradict":
    (booked(closing="{lies} + 1"), "by the books"),
    "a line that was booked before": (booked(reference="unknown"), "duplicate key"),
    "a line of nothing": (booked(0), "bank_line_moves_money"),
    "a statement of a ghost": (booked(by="ghost@example.com"), "with the right"),
    "a statement of one without the right":
    (booked(by="{partner}"), "with the right"),
    "a withdrawal paid before it is approved":
    (booked(-400, "{a}", named="'{pays}'", withdrawal="{withdrawal}"),
     "Only a withdrawal that is APPROVED"),
    "a client's money paid to no withdrawal":
    (booked(-5, "{a}"), "between accounts of its kind"),
    "a receipt that no one assigned":
    (moved("{unknown}", "NULL", "{a}"), "needs an approval"),
    "a receipt assigned to suspense":
    (moved("{unknown}", "NULL", "{suspense}"), "from suspense to a client"),
    "a receipt returned that is not assigned":
    (moved("NULL", "{unknown}", "{bank}"), "One receipt"),
    "nothing assigned": (moved("NULL", "NULL", "{a}"), "One receipt"),
    "a withdrawal that one person approves":
    (decided("APPROVED"), "needs an approval"),
    "a withdrawal said to be paid": (decided("PAID"), "becomes APPROVED"),
    "a withdrawal cancelled that waits": (decided("CANCELLED"), "becomes APPROVED"),
    "a withdrawal refused without a reason": (decided("REFUSED", ""), "Say why"),
    "a withdrawal refused by a ghost":
    (decided("REFUSED", by="ghost@example.com"), "with the right"),
    "a withdrawal of too much": (withdrawn(601), "cash_reserved_within_balance"),
    "a withdrawal of nothing": (withdrawn(0), "withdrawal_amount_is_positive"),
    "a withdrawal in another partner's name":
    (withdrawn(by="{stranger}"), "by the partner of its account"),
}  # fmt: skip


@pytest.mark.parametrize("what", BY_WRITERS)
def test_the_writers_refuse(cash: Cash, what: str):
    statement, why = BY_WRITERS[what]
    with pytest.raises(IntegrityError, match=why):
        attempt(cash, statement)


POSTED = {
    "more than there is": ("{a} {b}", 601, "cash_reserved_within_balance"),
    "more than there is, from nothing": ("{b} {a}", 1, "within_balance"),
    "a trade with the bank": ("{bank} {a}", 1, "between accounts of its kind"),
    "a payment to itself": ("{a} {a}", 1, "cash_moves_between_two"),
    "a payment of nothing": ("{a} {b}", 0, "cash_amount_is_positive"),
    "a payment of less than nothing": ("{a} {b}", -5, "cash_amount_is_positive"),
    "a payment to no account": ("{a} 0", 1, "between accounts of its kind"),
}


@pytest.mark.parametrize("what", POSTED)
def test_no_writer_posts(cash: Cash, what: str):
    pair, cents, why = POSTED[what]
    source, target = map(int, pair.format(**cash.words()).split())
    with pytest.raises(IntegrityError, match=why):
        post_and_commit(source, target, cents)
    assert broken() == []


def post_and_commit(source: int, target: int, cents: int) -> None:
    with transaction.atomic():
        post(source, target, cents)
        as_committed()


REVERSED = {
    "a receipt": ("{suspense} {bank}", "{unknown}", "between accounts of its kind"),
    "nothing": ("{a} {b}", "NULL", "A reversal gives back"),
}


@pytest.mark.parametrize("what", REVERSED)
def test_no_writer_reverses(cash: Cash, what: str):
    pair, undone, why = REVERSED[what]
    words = cash.words()
    source, target = map(int, pair.format(**words).split())
    with pytest.raises(IntegrityError, match=why), transaction.atomic():
        post(source, target, 300, "REVERSAL", undone.format(**words))


def test_no_writer_takes_a_fee_without_a_tariff(cash: Cash):
    with pytest.raises(IntegrityError, match="its kind: FEE"), transaction.atomic():
        post(cash.a, cash.of["FEES"], 1, "FEE")


def test_staff_write_in_no_colleagues_name(cash: Cash):
    author = json.dumps({"who": ASKER, "from": "page /admin/"})
    told = f"SELECT set_config('partnerapi.author', '{author}', TRUE);"
    told = told.replace("{", "{{").replace("}", "}}")
    for statement in (booked(), decided("REFUSED")):
        with pytest.raises(IntegrityError, match="that is signed in"):
            attempt(cash, told + statement.replace("{staff}", DECIDER))


def test_an_approval_is_used_in_the_name_of_who_filed_or_decided_it(cash: Cash):
    content = content_of(cash.withdrawal, "APPROVED")
    superuser("eve@staff.example", first_name="Eve", last_name="A", type="INDIVIDUAL")
    statement = decided("APPROVED", "", "eve@staff.example")
    with (
        pytest.raises(NotApproved, match="filed or decided its approval"),
        carry_out_requests(file_and_approve("WITHDRAWAL", content)),
    ):
        attempt(cash, statement)


def test_no_withdrawal_of_an_account_that_is_not_active(cash: Cash):
    cash.account.change_status("SUSPENDED", partner_of(cash.account), None)
    with pytest.raises(IntegrityError, match="ACTIVE"):
        attempt(cash, withdrawn())


def test_a_bank_line_pays_the_withdrawal_that_it_names_and_no_other(cash: Cash):
    other = request_withdrawal(cash.account, 400, "V", cash.account.partner.login)
    for withdrawal in (cash.withdrawal, other):
        approve(withdrawal)
    paid = booked(-400, "{a}", named="'{pays}'", withdrawal=f"'{other.pk}'")
    with pytest.raises(IntegrityError, match="its text names"):
        attempt(cash, paid)
    statement = paid.replace(str(other.pk), str(cash.withdrawal.pk))
    with connection.cursor() as cursor:
        cursor.execute(statement.format(**cash.words()))
    statuses = {w.reference: w.status for w in Withdrawal.objects.all()}
    assert statuses == {"W": "PAID", "V": "APPROVED"}
    assert head_of(cash.account) == (600, 400)
    assert broken() == []


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
    assert len([*verify()]) == len(INVARIANTS) + 2


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
def test_two_hundred_withdrawals_of_the_same_money():
    account = new_account(new_partner())
    deposit(account, 1_000)
    counted = Counted()
    counted.run(
        lambda n: request_withdrawal(account, 70, f"W-{n}", account.partner.login),
        InsufficientFunds,
    )
    assert len(counted.done) == 14
    assert head_of(account) == (1_000, 980)
    assert broken() == []


@pytest.mark.django_db(transaction=True)
def test_who_closes_an_account_and_who_pays_in_come_one_after_the_other():
    partner = new_partner()
    accounts = [new_account(partner) for _ in range(20)]
    booked: list[Any] = []

    def race(number: int) -> None:
        account = accounts[number // 2]
        if number % 2:
            booked.append(bank((reference_of(account), 5)))
            return
        try:
            account.change_status("CLOSED", partner_of(account), None)
        except AccountNotEmpty as error:
            booked.append(error)

    assert in_threads(40, race) == []
    for account in accounts:
        account.refresh_from_db()
        assert (account.status == "CLOSED") == (head_of(account)[0] == 0)
    assert broken() == []


@pytest.mark.django_db(transaction=True)
def test_a_withdrawal_is_paid_once_by_all_who_book_its_line():
    account = new_account(new_partner())
    deposit(account, 1_000)
    withdrawal = request_withdrawal(account, 600, "W", account.partner.login)
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
