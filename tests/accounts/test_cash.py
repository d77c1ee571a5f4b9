"""Cash: deposits, reservations, withdrawals, and refusals by the database."""

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from stdnum import iso11649

from accounts.accounts.models import Account, AccountNotActive, AccountNotEmpty
from accounts.applicants.models import DuplicateReference
from accounts.approvals.four_eyes import NotApproved, Superseded, carry_out, decide
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.cash.bank_statements import book_statement
from accounts.cash.models import BankLine, BankStatement, CashPosting, Withdrawal
from accounts.cash.suspense import MOVE, return_content, unassigned_deposits
from accounts.cash.verification import INVARIANTS, verify
from accounts.cash.withdrawals import (
    MoveWithdrawal,
    NotRefused,
    content_of,
    refuse,
    request_withdrawal,
)
from accounts.cash.writer import InsufficientFunds, account_of
from accounts.keys.models import Partner
from partnerapi.core.database import array_text, value_of
from partnerapi.core.invariants import check_invariants
from partnerapi.core.problems import WrongFileError
from partnerapi.sandbox.data.approvals import (
    ASKER,
    DECIDER,
    colleague,
    file_and_approve,
)
from tests.accounts.money import (
    approve,
    assign,
    bank,
    begin,
    cancel,
    carry,
    deposit,
    head_of,
    new_account,
    new_partner,
    reference_of,
)
from tests.approved import desk, partner_of
from tests.owner import as_committed, superuser
from tests.typing_in import give_password, typing

pytestmark = pytest.mark.django_db


@pytest.fixture
def partner() -> Partner:
    return new_partner()


@pytest.fixture
def account(partner: Partner) -> Account:
    """It has 10 €."""
    account = new_account(partner)
    deposit(account, 1_000)
    return account


def broken() -> list[str]:
    as_committed()
    return [finding.rule for finding in verify() if finding.breaches]


def moved_by(account: Account) -> list[int]:
    postings = CashPosting.objects.filter(cash_account__account=account)
    return list(postings.order_by("number").values_list("delta", flat=True))


def test_an_account_has_a_cash_account_with_a_reference_of_its_own(partner: Partner):
    references = [reference_of(new_account(partner, "PENDING")) for _ in range(3)]
    assert all(map(iso11649.is_valid, references))
    assert len({*references}) == 3


def test_money_goes_to_the_client_whose_reference_it_names(account: Account):
    name = reference_of(account)
    spaced = " ".join(name[at : at + 4] for at in range(0, len(name), 4)).lower()
    booked = bank((f"Invoice 12, {spaced}, thank you", 250))
    assert (booked.deposits, booked.deposited, booked.unknown) == (1, 250, [])
    assert head_of(account) == (1_250, 0)
    assert moved_by(account) == [1_000, 250]
    assert broken() == []


def test_unknown_money_waits_with_suspense_until_two_people_assign_it(
    account: Account, partner: Partner
):
    other = new_account(partner)
    name = reference_of(account)
    mistyped = name[:-1] + str((int(name[-1]) + 1) % 10)
    both = f"{name} {reference_of(other)}"
    pending = reference_of(new_account(partner, "PENDING"))
    booked = bank(("Hello", 1), (mistyped, 2), (both, 3), (pending, 4))
    assert len(booked.unknown) == 4
    waiting = unassigned_deposits().order_by("amount")
    assert [deposit.amount for deposit in waiting] == [1, 2, 3, 4]
    first = waiting[2]
    assignment = assign(first, other)
    as_committed()
    assert head_of(other) == (3, 0)
    with pytest.raises(Superseded, match="already been assigned"):
        assign(first, account)
    # It was wrong, goes back, and is assigned again.
    carry(ApprovalKind.ASSIGNMENT, return_content(assignment, "The other one"))
    assert head_of(other) == (0, 0)
    assign(first, account)
    assert head_of(account) == (1_003, 0)
    assert broken() == []


def test_money_is_not_assigned_without_a_second_person(account: Account):
    bank(("Hello", 5))
    said = [colleague(ASKER).email, unassigned_deposits().get().pk, None]
    with pytest.raises(IntegrityError, match="needs an approval"), transaction.atomic():
        value_of(MOVE, [*said, account_of(account).pk, "A letter"])


def test_a_withdrawal_is_reserved_approved_and_paid_by_a_bank_line(account: Account):
    withdrawal = request_withdrawal(account, 400, "W-1", account.partner.login)
    assert head_of(account) == (1_000, 400)
    assert iso11649.is_valid(withdrawal.payment_reference)
    # Before it is approved, the line is no one's.
    assert bank((withdrawal.payment_reference, -400)).withdrawals == 0
    approve(withdrawal)
    withdrawal.refresh_from_db()
    assert (withdrawal.status, head_of(account)) == ("APPROVED", (1_000, 400))
    assert len(bank((withdrawal.payment_reference, -399)).unknown) == 1
    both = (withdrawal.payment_reference, -400), (withdrawal.payment_reference, -400)
    deposit(account, 5_000)
    booked = bank(*both)
    assert (booked.withdrawals, booked.withdrawn, len(booked.unknown)) == (1, 400, 1)
    withdrawal.refresh_from_db()
    assert (withdrawal.status, head_of(account)) == ("PAID", (5_600, 0))
    assert broken() == []


def test_a_withdrawal_that_ends_otherwise_frees_its_cash(account: Account):
    decider = colleague(DECIDER).email or ""
    refused, cancelled = (
        request_withdrawal(account, 500, name, account.partner.login) for name in "ab"
    )
    refuse(refused, "Not to this account", decider)
    assert head_of(account) == (1_000, 500)
    approve(cancelled)
    with pytest.raises(NotRefused, match="APPROVED"):
        refuse(cancelled, "Too late", decider)
    cancel(cancelled)
    assert head_of(account) == (1_000, 0)
    ended = Withdrawal.objects.order_by("reference")
    assert [*ended.values_list("status", "status_reason")] == [
        ("REFUSED", "Not to this account"),
        ("CANCELLED", "Not paid"),
    ]
    assert broken() == []


def test_a_withdrawal_is_refused_with_what_is_there(account: Account):
    first = request_withdrawal(account, 600, "a", account.partner.login)
    with pytest.raises(InsufficientFunds) as refused:
        request_withdrawal(account, 401, "b", account.partner.login)
    assert refused.value.details == {"available": 400, "required": 401}
    with pytest.raises(DuplicateReference) as again:
        request_withdrawal(account, 1, "a", account.partner.login)
    assert again.value.details["withdrawalID"] == f"Withdrawal|{first.pk}"
    account.change_status("SUSPENDED", desk(), None)
    with pytest.raises(AccountNotActive) as suspended:
        request_withdrawal(account, 1, "c", account.partner.login)
    assert suspended.value.details == {"status": "SUSPENDED"}
    with pytest.raises(Superseded, match="SUSPENDED"):
        approve(first)


def test_one_person_does_not_approve_a_withdrawal(account: Account):
    withdrawal = request_withdrawal(account, 600, "a", account.partner.login)
    other = request_withdrawal(account, 100, "b", account.partner.login)
    content = content_of(withdrawal, "APPROVED")
    [request] = file_and_approve(ApprovalKind.WITHDRAWAL, content)
    carried = request.content
    # What was approved is another withdrawal's.
    request.content = content_of(other, "APPROVED")
    with pytest.raises(NotApproved):
        carry_out(request, MoveWithdrawal())
    request.content = carried
    carry_out(request, MoveWithdrawal())
    assert Withdrawal.objects.get(status="APPROVED") == withdrawal


def test_cash_keeps_an_account_from_being_closed(account: Account):
    owner = partner_of(account)
    with pytest.raises(AccountNotEmpty):
        account.change_status("CLOSED", owner, None)
    closing = account.entry(Account.Status.CLOSED, owner, None)
    with (
        pytest.raises(IntegrityError, match="has cash, 1000 cents"),
        transaction.atomic(),
    ):
        Account.objects.write([closing])
    withdrawal = request_withdrawal(account, 1_000, "all", account.partner.login)
    approve(withdrawal)
    bank((withdrawal.payment_reference, -1_000))
    account.change_status("CLOSED", owner, None)
    # A later payment has no client.
    assert len(bank((reference_of(account), 7)).unknown) == 1
    as_committed()


def test_payments_are_written_in_their_order(account: Account, partner: Partner):
    other = new_account(partner)
    ours, theirs = account_of(account).pk, account_of(other).pk
    as_committed()
    # Never committed: a payment of a trade needs its execution then.
    with transaction.atomic():
        post_each([(ours, theirs, 10)])
        post_each([(ours, theirs, 10), (theirs, ours, 4)] * 50)
        assert moved_by(account)[1:4] == [-10, -10, 4]
        assert head_of(account) == (1_000 - 10 - 50 * 6, 0)
        # Each in its turn: the other has nothing to give back before it was given.
        with pytest.raises(IntegrityError, match="less than nothing"):
            post_each([(theirs, ours, 311), (ours, theirs, 1)])
        assert [
            rule.rule for rule in check_invariants(INVARIANTS) if rule.breaches
        ] == []
        transaction.set_rollback(True)


def post_each(payments: list[tuple[int, int, int]]) -> None:
    """Payments of trades, as the owner of the tables."""
    sources, targets, cents = map(array_text, zip(*payments, strict=True))
    each = f"ARRAY[{len(payments)}]"
    with transaction.atomic(), connection.cursor() as cursor:
        statement = (
            f"SELECT cash_post(clock_timestamp(), array_fill('TRADE'::text, {each}),"
            f" '{sources}', '{targets}', '{cents}', array_fill('me'::text, {each}),"
            f" array_fill(''::text, {each}), array_fill(NULL::text, {each}),"
            f" array_fill(NULL::bigint, {each}), array_fill(NULL::bigint, {each}),"
            f" array_fill(NULL::uuid, {each}), '{{}}', '{{}}')"
        )
        cursor.execute("SELECT tests.tamper(%s, TRUE)", [statement])


def test_a_statement_is_booked_once(account: Account, tmp_path: Path):
    staff = {"type": "INDIVIDUAL", "first_name": "Ana", "last_name": "Sousa"}
    give_password(superuser("ana@staff.example", **staff))
    file = tmp_path / "january.csv"
    name = reference_of(account)
    file.write_text(
        f"reference,text,amount,date\n1,{name},300,2027-01-30\n2,Hello,50,2027-01-31\n"
    )

    def booked(*options: str) -> tuple[str, str]:
        said, told = io.StringIO(), io.StringIO()
        arguments = [str(file), "--staff", "ana@staff.example", *options]
        with typing():
            call_command("cash", "book-statement", *arguments, stdout=said, stderr=told)
        return said.getvalue(), told.getvalue()

    said, told = booked("--dry-run", "--closing-balance", "1350")
    assert "1 deposits of €3.00" in said
    assert "1 lines unallocated" in said
    assert "dry run" in said
    assert "2, €0.50: no single deposit reference found" in told
    assert f"{account_of(account)}: €10.00 before, €13.00 after" in told
    assert "Booking it needs a second person" in told
    assert head_of(account) == (1_000, 0)
    said, _ = booked(
        "--closing-balance", "1350", "--request", "--reason", "The bank's January"
    )
    assert "Request" in said
    assert head_of(account) == (1_000, 0)
    asked = ApprovalRequest.objects.latest("filed_at")
    decide(asked, colleague(DECIDER), is_approved=True)
    booked("--closing-balance", "1350", "--approval", str(asked.pk))
    assert head_of(account) == (1_300, 0)
    as_committed()
    statement = BankStatement.objects.get(name="january.csv")
    assert (statement.closing_balance, statement.booked_balance) == (1_350, 1_350)
    said, _ = booked("--closing-balance", "1350")
    assert "0 deposits" in said
    assert "2 booked before" in said
    assert BankStatement.objects.filter(name="january.csv").count() == 1
    with pytest.raises(CommandError, match="--closing-balance"):
        booked()
    for wrong in ("1300", "1400"):
        both = r"differ by €0\.50: .* states €1[34]\.00, .* books €13\.50"
        with pytest.raises(CommandError, match=both):
            booked("--closing-balance", wrong)
    file.write_text(file.read_text() + f"3,{name},1,2027-02-01\n")
    with pytest.raises(CommandError, match="Nothing was booked"):
        booked("--closing-balance", "1352")
    file.write_text(file.read_text().replace("300", "301"))
    with pytest.raises(CommandError, match="1 problem"):
        booked("--closing-balance", "1351")
    assert head_of(account) == (1_300, 0)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (",text,1,2027-01-31", "must have 1 to 64 characters"),
        ("a,text,0,2027-01-31", "must be a non-zero whole number of cents"),
        ("a,text,12.50,2027-01-31", "must be a non-zero whole number of cents"),
        ("a,text,1,31.01.2027", "is not a valid date"),
        ("a,text,-1,2027-01-31", "outgoing payments exceed the book balance"),
        ("a,text,1,2027-01-31\na,text,2,2027-01-31", "is already on line 2"),
    ],
)
def test_a_wrong_line_books_nothing(line: str, rule: str):
    content = f"reference,text,amount,date\n{line}\n".encode()
    with pytest.raises(WrongFileError) as wrong:
        book_statement(content, "x.csv", "me", begin, closing_balance=0)
    assert rule in str(wrong.value.problems[0])
    assert not BankLine.objects.exists()
