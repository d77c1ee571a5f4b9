"""What treasury does in the back office: bank files, unknown money, withdrawals."""

import io
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import (
    Account,
    ApprovalRequest,
    BankLine,
    BankStatement,
    CashAccount,
    RowChange,
    User,
    Withdrawal,
)
from accounts.withdrawals import request_withdrawal
from partnerapi.staff.find import link
from tests.accounts.money import (
    bank,
    deposit,
    head_of,
    new_account,
    new_partner,
    reference_of,
)
from tests.owner import as_committed

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
    withdrawal = request_withdrawal(account, 400, "W-1", "partner")
    assert tiles(ana)["Withdrawals to decide"] == 1
    page = ana.get(link(withdrawal)).content.decode()
    place = f"/admin/ask/withdrawal/?withdrawal={withdrawal.pk}&amp;to=APPROVED"
    assert place in page
    assert ana.get(place.replace("&amp;", "&")).status_code == 200
    asked = ask(ana, "withdrawal", withdrawal=withdrawal.pk, to="APPROVED")
    shown = ben.get(link(asked)).content.decode()
    assert withdrawal.payment_reference in shown
    approve(ben, asked)
    assert tiles(ana)["Withdrawals that the bank is to pay"] == 1
    file = io.BytesIO(
        b"reference,text,amount,date\n"
        + f"B-7,{withdrawal.payment_reference},-400,2027-01-31\n".encode()
        + b"B-8,Who knows,55,2027-01-31\n"
    )
    file.name = "bank.csv"
    preview = ana.post("/admin/import/", {"kind": "bank", "file": file}, follow=True)
    assert preview.context["found"].created == 2
    assert head_of(account) == (1_000, 400)
    checksum = {"checksum": preview.context["upload"].checksum}
    ana.post("/admin/import/preview/", checksum)
    assert head_of(account) == (600, 0)
    withdrawal.refresh_from_db()
    assert withdrawal.status == "PAID"
    assert "nothing: Paid is final" in ana.get(link(withdrawal)).content.decode()
    assert tiles(ana)["Money that is nobody's"] == 1
    statuses = RowChange.objects.filter(row_id=str(withdrawal.pk)).order_by("id")
    assert [(row.after or {})["status"] for row in statuses] == [
        "REQUESTED", "APPROVED", "PAID",
    ]  # fmt: skip
    [booked] = RowChange.objects.filter(
        table_name="accounts_bankstatement", source__contains="import"
    )
    assert booked.who == "ana@staff.example"


def test_a_statement_is_compared_with_the_banks_balance(account: Account, ana: Client):
    lines = f"reference,text,amount,date\nB-1,{reference_of(account)},350,2027-01-31\n"

    def look_through(**given: str) -> Any:
        file = SimpleUploadedFile("bank.csv", lines.encode())
        data = {"kind": "bank", "file": file} | given
        return ana.post("/admin/import/", data, follow=True)

    def confirm(preview: Any) -> list[str]:
        given = {"checksum": preview.context["upload"].checksum}
        done = ana.post("/admin/import/preview/", given, follow=True)
        return [str(message) for message in done.context["messages"]]

    refused = look_through(closing_balance="13,5")
    assert "closing_balance" in refused.context["form"].errors
    other = look_through(closing_balance="13.00")
    said = "The bank says €13.00, but by the books €13.50 must lie there: €0.50 less."
    assert said in other.content.decode()
    assert said.replace("13.00", "14.00").replace("less", "more") in (
        look_through(closing_balance="14").content.decode()
    )
    same = look_through(closing_balance="13.50")
    assert "The bank says" not in same.content.decode()
    assert confirm(same) == ["bank.csv: 1 new, 0 changed, 0 unchanged."]
    statement = BankStatement.objects.get(name="bank.csv")
    assert (statement.closing_balance, statement.booked_balance) == (1_350, 1_350)
    again = look_through(closing_balance="13.00").content.decode()
    assert said in again
    assert "nothing to import" in again

    lines = lines.replace("B-1", "B-2")
    assert head_of(account) == (1_350, 0)
    booked, told = confirm(look_through(closing_balance="13.00"))
    assert booked == "bank.csv: 1 new, 0 changed, 0 unchanged."
    assert "€13.00" in told
    assert "€17.00" in told
    assert head_of(account) == (1_700, 0)
    latest = BankStatement.objects.latest("id")
    assert (latest.closing_balance, latest.booked_balance) == (1_300, 1_700)


def test_unknown_money_is_assigned_and_given_back(
    account: Account, ana: Client, ben: Client
):
    bank(("Who knows", 55, "B/8 x"))
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
    assert "assigned to nobody" in nobodys.content.decode()


def test_one_person_refuses_withdrawals_with_a_reason(account: Account, ana: Client):
    withdrawal = request_withdrawal(account, 400, "W-1", "partner")
    page = reverse("admin:accounts_withdrawal_changelist")
    chosen = {"action": "refuse", "_selected_action": [str(withdrawal.pk)]}
    ana.post(page, chosen | {"reason": " "})
    assert head_of(account) == (1_000, 400)
    ana.post(page, chosen | {"reason": "Another bank"})
    withdrawal.refresh_from_db()
    assert (withdrawal.status, withdrawal.status_reason) == ("REFUSED", "Another bank")
    assert head_of(account) == (1_000, 0)
    again = ana.post(page, chosen | {"reason": "Again"}, follow=True)
    assert "is REFUSED by now" in again.content.decode()


def test_an_approved_withdrawal_is_cancelled_by_two(
    account: Account, ana: Client, ben: Client
):
    withdrawal = request_withdrawal(account, 400, "W-1", "partner")
    approve(ben, ask(ana, "withdrawal", withdrawal=withdrawal.pk, to="APPROVED"))
    named = withdrawal.payment_reference
    approve(ana, ask(ben, "withdrawal", withdrawal=named, to="CANCELLED"))
    withdrawal.refresh_from_db()
    assert withdrawal.status == "CANCELLED"
    assert withdrawal.status_reason == "As agreed"
    assert head_of(account) == (1_000, 0)


def test_references_are_found_from_any_page(account: Account, ana: Client):
    withdrawal = request_withdrawal(account, 400, "W-1", "partner")
    bank(("Who knows", 55, "B-8"))
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
