"""What one person does alone is counted over a day, and what all do together."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import Permission
from django.db import DatabaseError, IntegrityError, connection, transaction

from accounts.accounts.models import Account
from accounts.approvals.four_eyes import COMMAND, is_needed
from accounts.approvals.models import ApprovalKind, SoleAmount
from accounts.cash.bank_statements import book_statement
from accounts.cash.models import CashHead
from accounts.people.models import User
from partnerapi.core.authors import written_by
from tests.accounts.money import (
    at_bank,
    bank,
    begin,
    csv,
    head_of,
    new_account,
    new_partner,
    reference_of,
)
from tests.owner import appoint, as_committed, tamper

pytestmark = pytest.mark.django_db
COMMITS = pytest.mark.django_db(transaction=True)
KIND = ApprovalKind.STATEMENT
ANA, BEN = "ana@staff.example", "ben@staff.example"
NAMES = {"type": "INDIVIDUAL", "first_name": "A", "last_name": "B"}


@pytest.fixture(autouse=True)
def staff(db: None) -> None:
    """People who may do alone what is below a limit."""
    may_file = Permission.objects.get(codename="file_statement")
    for email in (ANA, BEN):
        user = User.objects.create_user(email, is_staff=True, **NAMES)
        user.user_permissions.add(may_file)
        appoint(user)


def id_of(email: str) -> str:
    return str(User.objects.get(email=email).pk)


@pytest.fixture
def account() -> Account:
    return new_account(new_partner())


def bound(amount: int, total: int | None = None) -> None:
    """As the owner of the tables may have it; euro cents."""
    most = "NULL" if total is None else total
    tamper(
        f"UPDATE accounts_approvalpolicy SET from_amount = {amount},"
        f" from_total = {most} WHERE kind = '{KIND}'"
    )


def book_alone(
    account: Account, cents: int, who: str = ANA, source: str = "page /admin/import/"
) -> None:
    """A statement that credits an account, by one person."""
    content = csv([(reference_of(account), cents)])
    with written_by(who, source), transaction.atomic():
        closing = at_bank(content)
        book_statement(content, "x.csv", who, begin, closing_balance=closing)
        as_committed()


def refused(account: Account, cents: int, *who: str) -> None:
    with pytest.raises(IntegrityError, match="needs an approval"):
        book_alone(account, cents, *who)


def test_by_default_no_cent_reaches_a_client_by_one_person(account: Account):
    for who in ((ANA,), ("anybody@staff.example", "command cash book-statement")):
        refused(account, 1, *who)
    assert head_of(account) == (0, 0)
    # Money without a known client waits in SUSPENSE until two people assign it.
    with written_by(ANA, "page /admin/import/"):
        content = csv([("Hello", 7)])
        book_statement(content, "x.csv", ANA, begin, closing_balance=at_bank(content))
        as_committed()


def test_files_of_a_day_are_summed_by_person_and_in_total(account: Account):
    bound(1_000, 1_500)
    book_alone(account, 400)
    book_alone(account, 400)
    refused(account, 200)
    book_alone(account, 199)
    assert is_needed(KIND, id_of(ANA), 1)
    assert not is_needed(KIND, id_of(BEN), 500)
    book_alone(account, 500, BEN)
    refused(account, 1, BEN)
    assert head_of(account) == (1_499, 0)
    sums = SoleAmount.objects.order_by("amount").values_list("person", "amount")
    assert [*sums] == [(id_of(BEN), 500), (id_of(ANA), 999), ("", 1_499)]


def test_commands_are_one_person_whomever_they_name(account: Account):
    bound(1_000)
    book_alone(account, 999, ANA, "command cash book-statement")
    refused(account, 1, BEN, "command cash book-statement")
    refused(account, 1, BEN, "command import holders")
    assert is_needed(KIND, COMMAND, 1)


def test_what_two_decide_is_not_counted(account: Account):
    bound(1_000)
    bank((reference_of(account), 5_000))
    book_alone(account, 999)
    assert head_of(account) == (5_999, 0)


def test_a_new_day_begins_at_zero(account: Account):
    bound(1_000)
    book_alone(account, 999)
    tamper("UPDATE accounts_soleamount SET day = day - 1")
    book_alone(account, 999)
    assert head_of(account) == (1_998, 0)


@COMMITS
def test_of_many_who_book_at_once_the_sum_stays_below(
    patient_locks: None, transactional_db: None
):
    bound(1_000)
    accounts = [new_account(new_partner()) for _ in range(8)]

    def book(account: Account) -> str:
        try:
            book_alone(account, 300)
        except IntegrityError as error:
            return str(error)
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(8) as threads:
        booked = [*threads.map(book, accounts)]
    refusals = [said for said in booked if said]
    assert len(refusals) == 5
    assert all("needs an approval" in said for said in refusals)
    assert -CashHead.objects.get(kind="BANK").balance == 900


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_soleamount SET amount = 0",
        "DELETE FROM accounts_soleamount",
        "INSERT INTO accounts_soleamount VALUES"
        " ('STATEMENT', now(), gen_random_uuid(), 'ana', -9999)",
        "SELECT approvals_alone('STATEMENT', ARRAY[NULL]::uuid[], ARRAY[-9999])",
        "SELECT approvals_use_each('STATEMENT', '{}', NULL, NULL, NULL, NULL)",
        "UPDATE accounts_approvalpolicy SET from_amount = 10 ^ 12",
    ],
)
def test_the_application_changes_no_sum_and_no_limit(account: Account, statement: str):
    bound(1_000)
    book_alone(account, 999)
    with (
        pytest.raises(DatabaseError, match="permission denied"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    refused(account, 1)
