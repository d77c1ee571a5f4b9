"""Payments and unallocated receipts in the back office."""

from xml.etree.ElementTree import fromstring

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.cash.models import Withdrawal
from accounts.cash.withdrawals import request_withdrawal
from accounts.history.models import RowChange
from accounts.payments.models import HouseAccount, PaymentFile
from accounts.people.models import User
from tests.accounts.money import (
    approve,
    bank,
    deposit,
    head_of,
    new_account,
    new_partner,
    reference_of,
)
from tests.accounts.test_payments import IBAN, OTHER_IBAN, faults
from tests.approved import desk

pytestmark = pytest.mark.django_db


@pytest.fixture
def account() -> Account:
    """It has 10 €."""
    account = new_account(new_partner())
    deposit(account, 1_000)
    return account


def of_role(name: str) -> Client:
    user = User.objects.create_user(
        f"{name.split()[0].lower()}@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name=name,
        last_name="Staff",
        is_staff=True,
    )
    user.groups.add(Group.objects.get(name=name))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def treasury() -> Client:
    return of_role("Treasury")


def name_bank(staff: Client, iban: str = IBAN) -> None:
    page = "/admin/accounts/houseaccount/add/"
    staff.post(page, {"name": "Partner Plattform Süd", "iban": iban})


def approved(account: Account, cents: int) -> Withdrawal:
    payee = "Carla Silva", OTHER_IBAN
    login = account.partner.login
    withdrawal = request_withdrawal(account, cents, f"W-{cents}", login, payee)
    approve(withdrawal)
    return withdrawal


def test_treasury_orders_payments_once_and_the_log_has_who_took_the_file(
    account: Account, staff: Client, treasury: Client
):
    first, second = approved(account, 400), approved(account, 300)
    page = treasury.get("/admin/payments/").content.decode()
    assert "bank account that pays is not named yet" in page
    name_bank(staff)
    assert HouseAccount.objects.get().name == "Partner Plattform Sud"
    page = treasury.get("/admin/payments/").content.decode()
    assert "€7.00" in page
    assert "DE89 3704 0044 0532 0130 00" in page
    none = treasury.post("/admin/payments/", {})
    assert "Choose at least one withdrawal." in none.content.decode()
    done = treasury.post("/admin/payments/", {"pay": [str(first.pk)]}, follow=True)
    file = PaymentFile.objects.get()
    [said] = map(str, done.context["messages"])
    assert said.startswith(f"{file}: 1 payment, €4.00.")
    again = treasury.post("/admin/payments/", {"pay": [str(first.pk)]})
    assert "another payment file by now" in again.content.decode()
    address = f"/admin/payments/{file.pk}/file.xml"
    for _ in range(2):
        taken = treasury.get(address)
        assert taken["Content-Disposition"].endswith(f'"{file.message}.xml"')
        assert faults(fromstring(taken.content)) == []  # noqa: S314
    noted = RowChange.objects.filter(operation="EXPORT", row_id=str(file.pk))
    assert [row.who for row in noted] == ["treasury@staff.example"] * 2
    page = treasury.get("/admin/payments/").content.decode()
    assert page.count("treasury@staff.example, ") == 2
    log = staff.get("/admin/log/", {"object": file.pk}).content.decode()
    assert "downloaded" in log
    assert PaymentFile.objects.count() == 1
    assert str(second.pk) in page


def test_a_payment_without_an_iban_is_made_by_hand(account: Account, treasury: Client):
    withdrawal = request_withdrawal(account, 400, "W", account.partner.login)
    approve(withdrawal)
    page = treasury.get("/admin/payments/").content.decode()
    assert "No approved withdrawal waits for a file." in page
    assert "Approved, without an IBAN" in page
    assert withdrawal.payment_reference in page


def test_only_treasury_orders_payments(account: Account, staff: Client):
    name_bank(staff)
    withdrawal = approved(account, 400)
    for role in ("Support", "Compliance", "Operations", "Key manager"):
        client = of_role(role)
        post = client.post("/admin/payments/", {"pay": [str(withdrawal.pk)]})
        assert post.status_code == 403, role
        add = client.post(
            "/admin/accounts/houseaccount/add/", {"name": "x", "iban": OTHER_IBAN}
        )
        assert add.status_code == 403, role
    assert not PaymentFile.objects.exists()
    assert HouseAccount.objects.get().iban == IBAN


def test_the_platforms_iban_is_checked(staff: Client):
    name_bank(staff, "FR7630006000011234567890188")
    assert not HouseAccount.objects.exists()


def suggested(client: Client) -> list[list[str]]:
    page = client.get("/admin/receipts/")
    return [
        [f"{each.cash}: {'; '.join(each.reasons)}" for each in receipt.suggestions]
        for receipt in page.context["receipts"]
    ]


def test_receipts_come_with_suggestions(account: Account, treasury: Client):
    partner = new_partner()
    pending = new_account(partner, "PENDING")
    zoe = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Zoë Ana", last_name="García"
    )
    hers = Account.objects.open(partner, zoe, desk(), timezone.now())
    mine = reference_of(account)
    bank(
        (f"{mine} or {reference_of(pending)}", 7, "A"),
        ("Shares | GARCIA ZOE ANA", 8, "B"),
        ("Zoe Ana Garcia | E2E 44", 9, "C"),
        ("No idea", 1_000, "D"),
        ("No idea", 11, "E"),
    )
    both, reverse, straight, equal, none = suggested(treasury)
    assert {line.partition(": ")[0] for line in both} == {str(account), str(pending)}
    assert f"{account}: the text names {mine}" in both
    assert reverse == [f"{hers}: the payer is called GARCIA ZOE ANA"]
    assert straight == [f"{hers}: the payer is called Zoe Ana Garcia"]
    [line] = equal
    assert line.startswith(f"{account}: it received the same amount on ")
    assert none == []
    page = treasury.get("/admin/receipts/").content.decode()
    assert f"/admin/ask/assignment/?line=D&amp;account={account.pk}" in page
    assert f"account={pending.pk}" not in page
    assert "takes no money" in page
    assert head_of(account) == (1_000, 0)


def test_a_paid_amount_that_comes_back_is_called_a_return(
    account: Account, treasury: Client
):
    withdrawal = approved(account, 400)
    bank((withdrawal.payment_reference, -400), ("Unable to apply", 400, "R"))
    [[line]] = suggested(treasury)
    assert "paid the same amount" in line
    assert line.endswith(": a return?")


def test_a_page_of_receipts_takes_as_many_statements_for_more(
    account: Account, treasury: Client, django_assert_max_num_queries
):
    bank(*((f"Shares | Carla {n}x", 10 + n, f"R{n:02}") for n in range(25)))
    with django_assert_max_num_queries(20):
        page = treasury.get("/admin/receipts/")
    assert len(page.context["receipts"]) == 20
    after = page.context["following"]
    last = treasury.get("/admin/receipts/", {"after": after})
    assert [r.line.pk for r in last.context["receipts"]] == [
        f"R{n}" for n in range(20, 25)
    ]
