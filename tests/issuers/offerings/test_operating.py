"""Offerings as staff run them: commands, the page, and what partners export."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import date
from itertools import chain
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.accounts.models import Account
from accounts.approvals.four_eyes import NotApproved, Superseded, decide
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.people.models import User
from issuers.compliance.restrictions import Terms, restrict
from issuers.models import Document, Issuer, Token
from issuers.offerings import deciding
from issuers.offerings.drafting import DRAFT, TermsRefused, draft
from issuers.offerings.models import Offering
from issuers.offerings.verification import INVARIANTS
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from partnerapi.core.database import execute
from partnerapi.core.invariants import check_invariants
from partnerapi.sandbox.data.approvals import (
    ASKER,
    DECIDER,
    colleague,
    file_and_approve,
)
from tests.accounts.money import carry, deposit, head_of
from tests.approved import approved_record, approved_rule, asker, desk
from tests.issuers.offerings.offerings import (
    allot,
    close,
    new_token,
    opened,
    settle,
    subscribe,
    terms,
)
from tests.marketdata.trading.trading import new_clients
from tests.owner import tamper
from tests.pictures import picture_bytes
from tests.staff.test_asking import member
from tests.typing_in import give_password, typing

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = io.StringIO()
    give_password(colleague(ASKER))
    with typing():
        call_command("offering", *arguments, stdout=out)
    return out.getvalue()


def drafted(token: Token, *more: str) -> str:
    return run(
        "draft", token.symbol, "--units", "100", "--minimum", "10",
        "--opens", "2026-01-01T08:00", "--closes", "2036-01-01T08:00",
        "--staff", asker(), *more,
    )  # fmt: skip


def test_an_offering_is_run_by_commands():
    token = new_token()
    assert "would be drafted" in drafted(token, "--price", "1000", "--dry-run")
    assert not Offering.objects.filter(token=token).exists()
    said = drafted(token, "--price", "1000", "--source", "MINT")
    offering = Offering.objects.get(token=token)
    assert str(offering.pk) in said
    step = (
        "request",
        str(offering.pk),
        "OPEN",
        "--reason",
        "Board",
        "--staff",
        asker(),
    )
    assert "would be requested" in run(*step, "--dry-run")
    filed = ApprovalRequest.objects.filter(kind=ApprovalKind.OFFERING)
    assert not filed.exists()
    run(*step)
    content = filed.get().content
    carry(ApprovalKind.OFFERING, content)
    [account] = new_clients(1)
    deposit(account, 100_000)
    subscribe(offering, account, 40)
    shown = run("show", str(offering.pk))
    assert str(account.pk) in shown
    assert "covered 0 of 100 units at €10.00" in shown
    assert token.symbol in run("show")
    allot(close(offering))
    run("request", str(offering.pk), "SETTLE", "--reason", "Now", "--staff", asker())
    request = ApprovalRequest.objects.get(kind="SETTLEMENT")
    settling = ("settle", str(offering.pk), "--staff", asker(), "--approval")
    with pytest.raises(CommandError, match="Nothing was settled"):
        run(*settling, str(request.pk))
    decide(request, colleague(DECIDER), is_approved=True)
    assert "would be settled" in run(*settling, str(request.pk), "--dry-run")
    assert "are settled" in run(*settling, str(request.pk))
    assert head_of(account) == (60_000, 0)


def test_a_draft_is_withdrawn_by_one_person():
    token = new_token()
    drafted(token, "--price", "1000")
    offering = Offering.objects.get(token=token)
    withdrawing = ("withdraw", str(offering.pk), "--staff", asker())
    why = ("--reason", "Another price")
    said = run(*withdrawing, *why, "--dry-run")
    assert said.startswith(f"The draft of {token} would be withdrawn")
    offering.refresh_from_db()
    assert offering.status == "DRAFT"
    assert run(*withdrawing, *why) == f"The draft of {token} is withdrawn.\n"
    offering.refresh_from_db()
    assert (offering.status, offering.status_reason) == ("WITHDRAWN", "Another price")
    with pytest.raises(CommandError, match="is WITHDRAWN. Nothing was withdrawn"):
        run(*withdrawing, *why)
    other = ("withdraw", str(opened().pk), "--staff", asker())
    with pytest.raises(CommandError, match="is OPEN. Nothing was withdrawn"):
        run(*other, *why)


def test_a_draft_that_was_withdrawn_does_not_open():
    draft_of = draft(new_token(), terms(), asker())
    content = deciding.offering_content(draft_of, deciding.OPEN)
    deciding.withdraw_draft(draft_of, "Another price", asker())
    with pytest.raises(Superseded, match="is WITHDRAWN"):
        carry(ApprovalKind.OFFERING, content)


def test_the_page_of_a_draft_withdraws_it():
    offering = draft(new_token(), terms(), asker())
    page = f"/admin/offering/{offering.pk}/"
    ana: Client = member("ana", "view_offering", "file_offering")
    assert ana.get(page).context["withdraw_draft"] == (
        f"/admin/do/withdraw-draft/?offering={offering.pk}"
    )
    bob: Client = member("bob", "view_offering")
    assert "Withdraw the draft" not in bob.get(page).content.decode()
    assert "Withdraw the draft" not in (
        ana.get(f"/admin/offering/{opened().pk}/").content.decode()
    )


def test_an_offering_names_its_documents(client: Client):
    terms_of = Document.objects.new_document("terms.png", picture_bytes())
    sheet = Document.objects.new_document("sheet.png", picture_bytes(size=(4, 2)))
    for document in (terms_of, sheet):
        document.save()
    token = new_token()
    named = [("--document", str(document.pk)) for document in (terms_of, sheet)]
    drafted(token, "--price", "1000", *chain.from_iterable(named))
    offering = Offering.objects.get(token=token)
    assert offering.documents == [terms_of.pk, sheet.pk]
    address = f"/documents/{terms_of.pk}/{terms_of.name}"
    assert client.get(address).status_code == 404
    ana: Client = member("ana", "view_offering", "delete_document", "view_document")
    assert "terms.png" in ana.get(f"/admin/offering/{offering.pk}/").content.decode()
    delete = f"/admin/issuers/document/{terms_of.pk}/delete/"
    assert ana.post(delete, {"post": "yes"}).status_code == 403
    carry(ApprovalKind.OFFERING, deciding.offering_content(offering, deciding.OPEN))
    assert client.get(address).content == bytes(terms_of.content)
    with pytest.raises(CommandError, match="20 documents at most"):
        drafted(token, "--price", "1000", "--document", str(UUID(int=1)))


def test_a_settled_offering_proposes_the_reference_price():
    offering = opened()
    [account] = new_clients(1)
    deposit(account, 100_000)
    subscribe(offering, account, 50)
    allot(close(offering))
    settle(offering)
    token = offering.token
    olga: Client = member(
        "olga", "view_offering", "view_token", "change_market", "view_market"
    )
    page = f"/admin/offering/{offering.pk}/"
    answer = olga.get(page)
    assert answer.context["proposed"] == "€10.00"
    assert f"/admin/do/open-secondary/?token={token.symbol}" in answer.content.decode()
    Token.objects.filter(pk=token.pk).update(market_type="SECONDARY_MARKET")
    form = f"/admin/do/open-market/?token={token.symbol}&reference_price=10.00"
    assert olga.get(page).context["open_market"] == form
    assert 'value="10.00"' in olga.get(form).content.decode()
    shown = olga.get(f"/admin/token/{token.pk}/").content.decode()
    assert form.replace("&", "&amp;") in shown


def test_the_page_tells_that_the_allotment_would_be_another_one():
    offering = opened()
    accounts = new_clients(2)
    for account in accounts:
        deposit(account, 100_000)
        subscribe(offering, account, 50)
    allot(close(offering))
    ana: Client = member("ana", "view_offering", "file_offering")
    page = f"/admin/offering/{offering.pk}/"
    assert not ana.get(page).context["differs"]
    accounts[0].change_status("SUSPENDED", desk(), None)
    answer = ana.get(page)
    assert answer.context["differs"]
    assert "ACCOUNT_NOT_ACTIVE, 0 of 50 units" in answer.content.decode()


def test_terms_that_contradict_each_other_are_not_drafted():
    for prices in (("--price", "1000", "--floor", "5"), (), ("--rule", "BOOK")):
        with pytest.raises(CommandError, match="one price from the book needs"):
            drafted(new_token(), *prices)
    with pytest.raises(CommandError, match=r"its tax are within the proceeds\.$"):
        drafted(new_token(), "--price", "1000", "--fee", "9000", "--vat", "2000")
    with pytest.raises(CommandError, match="There is no offering"):
        run("show", str(UUID(int=0)))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            ("--price", "0"),
            "the price of a unit is 0; it is from 1 to 9,223,372,036,854",
        ),
        (("--price", str(2**63)), "the price of a unit is 9,223,372,036,854,775,808"),
        (("--minimum", "0"), "the minimum is 0; it is from 1 to 9,223"),
        (("--smallest", "0"), "the smallest subscription is 0"),
        (("--largest", str(2**63)), "the largest subscription is 9,223"),
        (
            ("--reflection", "31536001"),
            "seconds is 31,536,001; it is from 0 to 31,536,",
        ),
        (("--fee", "10001"), "the fee is 10,001; it is from 0 to 10,000"),
        (("--vat", str(2**63)), "the value added tax is 9,223"),
        (("--closes", "9999-12-31T23:59:59-12:00"), "beyond the year 9999"),
    ],
)
def test_a_number_out_of_its_bounds_is_not_drafted(more: tuple[str, ...], why: str):
    with pytest.raises(CommandError, match=re.escape(why)):
        drafted(new_token(), "--price", "1000", *more)


@pytest.mark.parametrize(
    "prices",
    [
        {"price": None},
        {"price": None, "rule": "BOOK", "floor": 5},
        {"price": None, "rule": "BOOK", "cap": 5},
        {"price": 5, "rule": "BOOK", "floor": 5, "cap": 5},
    ],
)
def test_no_draft_lacks_its_prices(prices: dict[str, Any]):
    with pytest.raises(TermsRefused, match="one price from the book needs"):
        draft(new_token(), terms(**prices), asker())
    content = json.dumps(terms(**prices).content())
    arguments = [asker(), uuid4(), new_token().pk, content]
    with (
        pytest.raises(IntegrityError, match="offering_has_its_prices"),
        transaction.atomic(),
    ):
        execute(DRAFT, arguments)


def test_the_page_shows_the_book_and_who_would_be_refused():
    offering = opened(minimum=1)
    accounts = new_clients(2)
    for account in accounts:
        deposit(account, 100_000)
        subscribe(offering, account, 70)
    approved_rule(offering.token, "MAX_HOLDERS", {"holders": 1})
    staff = member("ana", "view_offering", "file_offering", "file_settlement")
    answer = staff.get(f"/admin/offering/{offering.pk}/")
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "MAX_HOLDERS_EXCEEDED, 0 of 70 units" in page
    assert [share.units for share, _ in answer.context["shares"]] == [70, 0]
    assert answer.context["total"] == 70
    assert answer.context["levels"] == [("€10.00", 140, 140, 2)]
    assert "step=WITHDRAWN" in page


def test_the_page_of_more_subscriptions_needs_no_more_queries():
    offering = opened()
    staff = member("ana", "view_offering")
    counts = []
    for account in new_clients(3):
        deposit(account, 100_000)
        subscribe(offering, account, 20)
        with CaptureQueriesContext(connection) as captured:
            answer = staff.get(f"/admin/offering/{offering.pk}/")
        assert str(account) in answer.content.decode()
        counts.append(len(captured))
    assert counts[1] == counts[2]


def test_who_may_not_settle_any_more_reads_why():
    offering = opened()
    [account] = new_clients(1)
    deposit(account, 100_000)
    subscribe(offering, account, 50)
    allot(close(offering))
    ana: Client = member("ana", "view_offering", "file_settlement")
    ask = {"offering": str(offering.pk), "reason": "Now"}
    assert ana.post("/admin/ask/settlement/", ask).status_code == 302
    request = ApprovalRequest.objects.get(kind="SETTLEMENT")
    decide(request, colleague(DECIDER), is_approved=True)
    person = User.objects.get(email="ana@staff.example")
    right = Permission.objects.get(codename="file_settlement")
    tamper(
        "DELETE FROM accounts_user_user_permissions"
        f" WHERE user_id = '{person.pk}' AND permission_id = {right.pk}"
    )
    answer = ana.post(f"/admin/offering/{offering.pk}/")
    assert answer.status_code == 400
    assert "with the right to do it: file_settlement" in answer.context["problem"]
    with pytest.raises(CommandError, match="right to do it.* Nothing was settled"):
        run(
            "settle", str(offering.pk), "--staff", person.email or "",
            "--approval", str(request.pk),
        )  # fmt: skip
    assert head_of(account) == (100_000, 50_000)


def test_an_issuer_is_paid_no_zero():
    offering = opened()
    ana: Client = member("ana", "file_payout")
    asked = {
        "issuer": offering.token.issuer.slug, "amount": "0", "payee": "Lumarelle SA",
        "iban": "FR7630006000011234567890189", "reason": "Now",
    }  # fmt: skip
    answer = ana.post("/admin/ask/payout/", asked)
    assert "greater than or equal to 0.01" in answer.content.decode()
    assert not ApprovalRequest.objects.filter(kind="PAYOUT").exists()


def test_who_approves_an_opening_reads_its_documents():
    file = Document.objects.new_document("terms.png", picture_bytes())
    file.save()
    offering = draft(new_token(), terms(documents=(file.pk,)), asker())
    ana: Client = member("ana", "view_offering", "file_offering")
    asked = {"offering": str(offering.pk), "step": "OPEN", "reason": "Board"}
    assert ana.post("/admin/ask/offering/", asked).status_code == 302
    request = ApprovalRequest.objects.get(kind="OFFERING")
    bob: Client = member("bob", "view_approvalrequest", "decide_offering")
    page = bob.get(f"/admin/accounts/approvalrequest/{request.pk}/change/")
    assert f"terms.png ({file.checksum_sha256[:12]})" in page.content.decode()


def swap(file: Document) -> None:
    """Another file under its id, as the application's role can write it."""
    other = Document.objects.new_document(file.name, picture_bytes(size=(8, 8)))
    other.pk = file.pk
    Document.objects.filter(pk=file.pk).delete()
    other.save(force_insert=True)


def of_documents() -> int:
    """Offerings whose documents are others than those that two people agreed on."""
    [finding] = check_invariants(INVARIANTS[-1:])
    assert finding.rule.startswith("the documents of an offering")
    return int(finding.breaches)


def test_a_document_swapped_after_the_request_is_not_opened_with():
    file = Document.objects.new_document("terms.png", picture_bytes())
    file.save()
    offering = draft(new_token(), terms(documents=(file.pk,)), asker())
    content = deciding.offering_content(offering, deciding.OPEN)
    [request] = file_and_approve(ApprovalKind.OFFERING, content)
    swap(file)
    with pytest.raises(Superseded, match="changed since this was requested"):
        deciding.MoveOffering().execute(request)
    with pytest.raises(NotApproved), transaction.atomic():
        deciding.open_offering(offering, asker())
    offering.refresh_from_db()
    assert offering.status == "DRAFT"


def test_a_document_swapped_after_the_opening_is_found():
    file = Document.objects.new_document("terms.png", picture_bytes())
    file.save()
    opened()
    opened(documents=(file.pk,))
    assert of_documents() == 0
    swap(file)
    assert of_documents() == 1
    Document.objects.filter(pk=file.pk).delete()
    assert of_documents() == 1


def test_the_requester_settles_on_the_page():
    offering = opened()
    [account] = new_clients(1)
    deposit(account, 100_000)
    subscribe(offering, account, 50)
    allot(close(offering))
    ana: Client = member("ana", "view_offering", "file_settlement")
    page = f"/admin/offering/{offering.pk}/"
    assert ana.post(page).status_code == 403
    asked = {"offering": str(offering.pk), "reason": "Now"}
    assert ana.post("/admin/ask/settlement/", asked).status_code == 302
    request = ApprovalRequest.objects.get(kind="SETTLEMENT")
    assert request.filed_by == User.objects.get(email="ana@staff.example")
    assert "Settle now" not in ana.get(page).content.decode()
    decide(request, colleague(DECIDER), is_approved=True)
    assert "Settle now" in ana.get(page).content.decode()
    assert ana.post(page).status_code == 302
    offering.refresh_from_db()
    assert offering.status == "SETTLED"


def test_an_ocf_package_has_the_issuances(tmp_path: Any):
    offering = opened()
    [account] = new_clients(1)
    deposit(account, 100_000)
    subscribe(offering, account, 50)
    allot(close(offering))
    [request] = [
        carry(ApprovalKind.SETTLEMENT, deciding.settlement_content(
            Offering.objects.get(pk=offering.pk)
        ))
    ]  # fmt: skip
    assert request.status == "SETTLED"
    file, issuer = tmp_path / "acme.zip", offering.token.issuer
    Issuer.objects.filter(pk=issuer.pk).update(
        formation_date=date(2020, 1, 31), country_id="FR"
    )
    of = ("export", "captable", issuer.slug, "--format", "ocf")
    call_command(*of, "--output", str(file), stdout=io.StringIO())
    with zipfile.ZipFile(file) as package:
        [name] = [name for name in package.namelist() if "ransactions" in name]
        items = json.loads(package.read(name))["items"]
    [issued] = [
        item
        for item in items
        if item["object_type"] == "TX_STOCK_ISSUANCE"
        and item["stakeholder_id"] == str(account.user_id)
    ]
    assert (issued["quantity"], issued["share_price"]["amount"]) == ("50", "10.00")


def burned(offering: Offering, account: Account) -> str:
    place = ledger.treasury(offering.token.issuer)
    burn = Entry(offering.token_id, Kind.BURN, 980, place, None)
    approved_record([burn], "staff")
    return "The treasury has fewer units than allotted."


def frozen(offering: Offering, account: Account) -> str:
    restrict(account.user, Terms("FREEZE", "A court"), asker())
    return "RECEIVER_FROZEN"


def suspended(offering: Offering, account: Account) -> str:
    account.change_status("SUSPENDED", desk(), None)
    return "ACCOUNT_NOT_ACTIVE"


@pytest.mark.parametrize("since_allotted", [burned, frozen, suspended])
def test_staff_read_why_an_allotted_offering_does_not_settle(
    since_allotted: Callable[[Offering, Account], str],
):
    offering = opened()
    [account] = new_clients(1)
    deposit(account, 100_000)
    subscribe(offering, account, 50)
    allotted = allot(close(offering))
    why = since_allotted(offering, account)
    ana: Client = member("ana", "view_offering", "file_settlement")
    asked = {"offering": str(offering.pk), "reason": "Now"}
    assert ana.post("/admin/ask/settlement/", asked).status_code == 302
    request = ApprovalRequest.objects.get(kind="SETTLEMENT")
    decide(request, colleague(DECIDER), is_approved=True)
    answer = ana.post(f"/admin/offering/{offering.pk}/")
    assert answer.status_code == 400
    assert answer.context["problem"].startswith("Not settled: ")
    assert why in answer.context["problem"]
    with pytest.raises(NotApproved, match=why):
        deciding.settle(allotted, request.pk, "ana@staff.example")
    assert head_of(account) == (100_000, 50_000)


def test_staff_read_why_an_approved_draft_does_not_open():
    offering = draft(new_token(treasury=99), terms(), asker())
    ana: Client = member("ana", "view_offering", "file_offering")
    asked = {"offering": str(offering.pk), "step": "OPEN", "reason": "Board"}
    assert ana.post("/admin/ask/offering/", asked).status_code == 302
    request = ApprovalRequest.objects.get(kind="OFFERING")
    bob: Client = member("bob", "view_approvalrequest", "decide_offering")
    page = f"/admin/accounts/approvalrequest/{request.pk}/change/"
    answer = bob.post(page, {"do": "approve"}, follow=True)
    assert "units that the issuer has or may mint: 100 of 99" in answer.content.decode()
    offering.refresh_from_db()
    assert offering.status == "DRAFT"


def test_a_price_outside_the_band_is_not_requested():
    offering = opened(rule="BOOK", price=None, floor=500, cap=1_500)
    [account] = new_clients(1)
    deposit(account, 100_000)
    subscribe(offering, account, 50, 1_000)
    close(offering)
    ana: Client = member("ana", "view_offering", "file_offering")
    asked = {"offering": str(offering.pk), "step": "PRICE", "reason": "Book"}
    answer = ana.post("/admin/ask/offering/", asked | {"price": "15.01"})
    assert "The price is between €5.00 and €15.00." in answer.content.decode()
    assert not ApprovalRequest.objects.filter(content__step="PRICE").exists()
    answer = ana.post("/admin/ask/offering/", asked | {"price": "15"})
    assert answer.status_code == 302


def test_a_second_offering_of_a_token_does_not_open():
    token = opened().token
    drafted = draft(token, terms(), asker())
    with pytest.raises(NotApproved, match="has an offering under way"):
        carry(ApprovalKind.OFFERING, deciding.offering_content(drafted, deciding.OPEN))
