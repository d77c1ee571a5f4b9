"""What treasury does in the back office: bank files, unknown money, withdrawals."""

import io
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalRequest
from accounts.cash.models import BankLine, BankStatement, CashAccount, Withdrawal
from accounts.cash.verification import verify
from accounts.cash.withdrawals import request_withdrawal
from accounts.history.models import RowChange
from accounts.people.models import User
from partnerapi.staff.lookup import link
from tests.accounts.money import (
    bank,
    deposit,
    head_of,
    new_account,
    new_partner,
    reference_of,
)
from tests.owner import appoint, as_committed

pytestmark = pytest.mark.django_db


@pytest.fixture
def account() -> Account:
    """It has 10 €."""
    account = new_account(new_partner())
    deposit(account, 1_000)
    return account


def signed_in(name: str) -> Client:
    user = User.objects.create_user(
        f"{name}@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name=name,
        last_name="Staff",
        is_staff=True,
    )
    user.groups.add(Group.objects.get(name="Treasury"))
    appoint(user)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def ana() -> Client:
    return signed_in("ana")


@pytest.fixture
def ben() -> Client:
    return signed_in("ben")


def ask(client: Client, kind: str, **given: object) -> ApprovalRequest:
    answer = client.post(f"/admin/ask/{kind}/", {"reason": "As agreed"} | given)
    assert answer.status_code == 302, answer.context["form"].errors
    return ApprovalRequest.objects.latest("filed_at")


def approve(client: Client, request: ApprovalRequest) -> None:
    answer = client.post(link(request), {"do": "approve"}, follow=True)
    assert "Approved and executed." in answer.content.decode()
    as_committed()


def tiles(client: Client) -> dict[str, int]:
    return {t.title: t.found.count for t in client.get("/admin/").context["tiles"]}


def test_a_withdrawal_is_asked_for_approved_and_paid_by_a_file(
    account: Account, ana: Client, ben: Client
):
    withdrawal = request_withdrawal(account, 400, "W-1", account.partner.login)
    cash = withdrawal.cash_account
    assert tiles(ana)["Withdrawals awaiting approval"] == 1
    page = ana.get(link(withdrawal)).content.decode()
    place = f"/admin/ask/withdrawal/?withdrawal={withdrawal.pk}&amp;to=APPROVED"
    assert place in page
    assert ana.get(place.replace("&amp;", "&")).status_code == 200
    asked = ask(ana, "withdrawal", withdrawal=withdrawal.pk, to="APPROVED")
    shown = ben.get(link(asked)).content.decode()
    assert withdrawal.payment_reference in shown
    approve(ben, asked)
    assert tiles(ana)["Approved, awaiting bank payment"] == 1
    file = io.BytesIO(
        b"reference,text,amount,date\n"
        + f"B-7,{withdrawal.payment_reference},-400,2027-01-31\n".encode()
        + b"B-8,They said so,55,2027-01-31\n"
    )
    file.name = "bank.csv"
    given = {"kind": "bank", "file": file, "closing_balance": "6.55"}
    preview = ana.post("/admin/import/", given, follow=True)
    assert preview.context["found"].created == 2
    assert preview.context["found"].moves == ((str(cash), "€10.00", "€6.00"),)
    assert head_of(account) == (1_000, 400)
    checksum = {"checksum": preview.context["upload"].checksum}
    ana.post("/admin/import/preview/", checksum)
    assert head_of(account) == (600, 0)
    withdrawal.refresh_from_db()
    assert withdrawal.status == "PAID"
    assert "none: Paid is final" in ana.get(link(withdrawal)).content.decode()
    assert tiles(ana)["Unallocated receipts"] == 1
    statuses = RowChange.objects.filter(row_id=str(withdrawal.pk)).order_by("id")
    assert [(row.after or {})["status"] for row in statuses] == [
        "REQUESTED", "APPROVED", "PAID",
    ]  # fmt: skip
    [booked] = RowChange.objects.filter(
        table_name="accounts_bankstatement", source__contains="import"
    )
    assert booked.who == "ana@staff.example"


def look_through(client: Client, lines: str, **given: str) -> Any:
    content = f"reference,text,amount,date\n{lines}".encode()
    file = SimpleUploadedFile("bank.csv", content)
    data = {"kind": "bank", "file": file} | given
    return client.post("/admin/import/", data, follow=True)


def confirm(client: Client, preview: Any, **given: str) -> list[str]:
    given |= {"checksum": preview.context["upload"].checksum}
    done = client.post("/admin/import/preview/", given, follow=True)
    as_committed()
    return [str(message) for message in done.context["messages"]]


def test_payments_say_what_to_do_when_none_waits(account: Account, ana: Client):
    page = ana.get("/admin/payments/").text
    assert "two people approve it, and it appears here" in page
    assert "No payment file yet. Choose approved withdrawals" in page
    request_withdrawal(account, 500, "W-1", account.partner.login)
    page = ana.get("/admin/payments/").text
    assert 'href="/admin/accounts/withdrawal/?status__exact=REQUESTED"' in page


def test_nothing_is_booked_unless_the_books_say_what_the_bank_does(
    account: Account, ana: Client
):
    line = f"B-1,{reference_of(account)},350,2027-01-31\n"
    for wrong in ("", "13,500", "1e1"):
        refused = look_through(ana, line, closing_balance=wrong)
        assert "closing_balance" in refused.context["form"].errors
    for said in ("13.00", "14"):
        other = look_through(ana, line, closing_balance=said)
        assert "differ by €0.50: " in other.content.decode()
        assert "Nothing was written" in other.content.decode()
        confirm(ana, other)
    assert head_of(account) == (1_000, 0)
    assert not BankStatement.objects.filter(name="bank.csv").exists()


def test_what_clients_get_is_booked_by_a_second_person(
    account: Account, ana: Client, ben: Client
):
    line = f"B-1,{reference_of(account)},350,2027-01-31\n"
    preview = look_through(ana, line, closing_balance="13.50")
    page = preview.content.decode()
    for said in (str(account), "€10.00", "€13.50", "Request approval"):
        assert said in page
    assert confirm(ana, preview) == ["A reason is required; the approver sees it."]
    confirm(ana, preview, reason="The bank's file of 31 January")
    assert head_of(account) == (1_000, 0)
    asked = ApprovalRequest.objects.latest("filed_at")
    refused = ana.post(link(asked), {"do": "approve"}, follow=True)
    assert "cannot approve your own request" in refused.content.decode()
    shown = ben.get(link(asked)).content.decode()
    for said in (str(account), "€10.00", "€13.50"):
        assert said in shown
    approve(ben, asked)
    assert head_of(account) == (1_350, 0)
    statement = BankStatement.objects.get(name="bank.csv")
    assert (statement.closing_balance, statement.booked_balance) == (1_350, 1_350)
    assert statement.booked_by == "ana@staff.example"
    again = look_through(ana, line, closing_balance="13.50").content.decode()
    assert "nothing new" in again


def test_a_statement_without_new_lines_is_kept(account: Account, ana: Client):
    bank(("They said so", 55, "B-8"))
    known = look_through(
        ana, ("B-8,They said so,55,2027-01-31\n"), closing_balance="10.55"
    )
    assert confirm(ana, known) == ["bank.csv: 0 new, 0 changed, 1 unchanged."]
    kept = BankStatement.objects.get(name="bank.csv")
    assert (kept.closing_balance, kept.lines.count()) == (1_055, 0)
    assert [finding for finding in verify() if finding.breaches] == []


def test_a_request_is_superseded_by_lines_booked_since(
    account: Account, ana: Client, ben: Client
):
    line = f"B-1,{reference_of(account)},350,2027-01-31\n"
    preview = look_through(ana, line, closing_balance="13.50")
    confirm(ana, preview, reason="Twice")
    confirm(ana, look_through(ana, line, closing_balance="13.50"), reason="Twice")
    asked = ApprovalRequest.objects.filter(filed_by__email="ana@staff.example")
    first, second = asked.order_by("filed_at")
    approve(ben, first)
    told = ben.post(link(second), {"do": "approve"}, follow=True)
    assert "have been booked since" in told.content.decode()
    assert head_of(account) == (1_350, 0)


def test_unknown_money_is_assigned_and_given_back(
    account: Account, ana: Client, ben: Client
):
    bank(("They said so", 55, "B/8 x"))
    line = BankLine.objects.get(pk="B/8 x")
    listed = ana.get(
        reverse("admin:accounts_bankline_changelist"), {"state": "SUSPENSE"}
    )
    assert [row.pk for row in listed.context["cl"].result_list] == [line.pk]
    page = ana.get(link(line)).content.decode()
    assert "/admin/ask/assignment/?line=B%2F8+x" in page
    spaced = " ".join(reference_of(account)).lower()
    approve(ben, ask(ana, "assignment", line=line.pk, account=spaced))
    assert head_of(account) == (1_055, 0)
    assert str(account) in ana.get(link(line)).content.decode()
    approve(ana, ask(ben, "assignment", line=line.pk))
    assert head_of(account) == (1_000, 0)
    nobodys = ana.post(
        "/admin/ask/assignment/", {"reason": "x", "line": line.pk, "account": ""}
    )
    assert "receipt is unallocated" in nobodys.content.decode()


def test_one_person_refuses_withdrawals_with_a_reason(account: Account, ana: Client):
    withdrawal = request_withdrawal(account, 400, "W-1", account.partner.login)
    page = reverse("admin:accounts_withdrawal_changelist")
    chosen = {"action": "refuse", "_selected_action": [str(withdrawal.pk)]}
    ana.post(page, chosen | {"reason": " "})
    assert head_of(account) == (1_000, 400)
    ana.post(page, chosen | {"reason": "Another bank"})
    withdrawal.refresh_from_db()
    assert (withdrawal.status, withdrawal.status_reason) == ("REFUSED", "Another bank")
    assert head_of(account) == (1_000, 0)
    again = ana.post(page, chosen | {"reason": "Again"}, follow=True)
    assert "is now REFUSED" in again.content.decode()


def test_an_approved_withdrawal_is_cancelled_by_two(
    account: Account, ana: Client, ben: Client
):
    withdrawal = request_withdrawal(account, 400, "W-1", account.partner.login)
    approve(ben, ask(ana, "withdrawal", withdrawal=withdrawal.pk, to="APPROVED"))
    named = withdrawal.payment_reference
    approve(ana, ask(ben, "withdrawal", withdrawal=named, to="CANCELLED"))
    withdrawal.refresh_from_db()
    assert withdrawal.status == "CANCELLED"
    assert withdrawal.status_reason == "As agreed"
    assert head_of(account) == (1_000, 0)


def test_references_are_found_from_any_page(account: Account, ana: Client):
    withdrawal = request_withdrawal(account, 400, "W-1", account.partner.login)
    bank(("They said so", 55, "B-8"))
    cash = CashAccount.objects.get(account=account)
    for text, row in {
        withdrawal.payment_reference: withdrawal,
        f"Withdrawal|{withdrawal.pk}": withdrawal,
        " ".join(reference_of(account)).lower(): cash,
        "B-8": BankLine.objects.get(pk="B-8"),
    }.items():
        answer = ana.get("/admin/find/", {"q": text})
        assert answer["Location"] == link(row), text
    page = ana.get(reverse("admin:account", args=[account.pk])).content.decode()
    assert "€10.00" in page
    assert reference_of(account) in page
    shown = ana.get(link(cash)).content.decode()
    assert "€4.00" in shown
    assert Withdrawal.objects.count() == 1
