"""Staff ask on a page for what a second person decides, and both need no terminal."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalRequest
from accounts.keys.models import ApiKey
from accounts.people.models import User
from issuers.models import IssuerFinancialData, Token
from issuers.register import ledger
from issuers.register.models import LedgerTransaction, TokenPrice
from partnerapi.staff.approvals.filing import FORMS
from tests.approved import desk
from tests.characters import World
from tests.issuers.register import people
from tests.owner import appoint

COMMITS = pytest.mark.django_db(transaction=True)
WHY = "Resolution of 3 March"


def member(name: str, *rights: str) -> Client:
    """The browser of a member of staff who has these rights."""
    user = User.objects.create_user(
        f"{name}@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name=name,
        last_name="Staff",
        is_staff=True,
    )
    rights = ("view_approvalrequest", *rights)
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    appoint(user)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def ana(db: None) -> Client:
    return member("ana", *(f"file_{kind.lower()}" for kind in FORMS))


@pytest.fixture
def ben(db: None) -> Client:
    return member("ben", *(f"decide_{kind.lower()}" for kind in FORMS))


def ask(client: Client, kind: str, **said: Any) -> Any:
    page = reverse("admin:ask", args=[kind])
    return client.post(page, {"reason": WHY} | said)


def approve(client: Client, page: str) -> str:
    return client.post(page, {"do": "approve"}, follow=True).content.decode()


@COMMITS
def test_each_kind_is_asked_for_and_decided_on_pages(
    world: World, ana: Client, ben: Client
):
    a, b = (str(user.pk) for user in people(2))
    of = {"token": world.public_token.symbol.lower()}
    account = Account.objects.open(world.partner, world.owner, desk(), timezone.now())
    account.change_status("ACTIVE", desk(), None)
    asked = [
        ("mint", of | {"units": 100, "target": a}),
        ("forced_transfer", of | {"units": 30, "source": a, "target": b}),
        ("burn", of | {"units": 10, "source": b}),
        ("reversal", of | {"entry": 3}),
        ("price", of | {"price": "826.96", "origin": "NAV"}),
        ("closing", {"account": f"Account|{account.pk}"}),
    ]
    for kind, said in asked:
        answer = ask(ana, kind, **said)
        assert answer.status_code == 302, (kind, answer.context["form"].errors)
        page = answer["Location"]
        assert "cannot approve your own request" in ana.get(page).content.decode()
        assert "Approved and executed." in approve(ben, page), kind
    rows = LedgerTransaction.objects.order_by("seq")
    assert list(rows.values_list("kind", "amount", "reason", "actor")) == [
        (kind, units, WHY, "ana@staff.example")
        for kind, units in (
            ("MINT", 100), ("FORCED_TRANSFER", 30), ("BURN", 10), ("REVERSAL", 10),
        )
    ]  # fmt: skip
    assert TokenPrice.objects.get().price_cents == 82_696
    account.refresh_from_db()
    assert (account.status, account.status_reason) == ("CLOSED", WHY)


@COMMITS
def test_a_key_is_shown_once_to_who_asked_for_it(
    world: World, ana: Client, ben: Client
):
    said = {"partner": world.partner.login, "scopes": ["issuers:read"], "days": 90}
    page = ask(ana, "key", **said, overlap_hours=0)["Location"]
    assert "requester issues the key on this page" in approve(ben, page)
    assert 'value="collect"' not in ben.get(page).content.decode()
    assert ben.post(page, {"do": "collect"}).status_code == 403
    shown = ana.post(page, {"do": "collect"})
    key = ApiKey.objects.get()
    token = shown.context["key_token"]
    assert ApiKey.objects.authenticate(token, timezone.now()) == key
    assert token not in ana.post(page, {"do": "collect"}, follow=True).content.decode()
    rotating = said | {"rotates": str(key.pk), "overlap_hours": 2}
    page = ask(ana, "key", **rotating)["Location"]
    approve(ben, page)
    ana.post(page, {"do": "collect"})
    key.refresh_from_db()
    left = key.expires_at - timezone.now()
    assert 7_000 < left.total_seconds() <= 7_200
    assert ApiKey.objects.live(timezone.now()).count() == 2


@pytest.mark.parametrize(
    ("kind", "said", "why"),
    [
        ("mint", {"token": "NONE", "units": 1, "target": "treasury"}, "no token NONE"),
        ("mint", {"token": "LUM", "units": 0, "target": "treasury"}, "greater than"),
        ("mint", {"token": "LUM", "units": 1, "target": "x@y.zz"}, "no user x@y.zz"),
        ("mint", {"token": "LUM", "units": 2**64, "target": "treasury"}, "more than 2"),
        (
            "burn",
            {"token": "LUM", "units": 1, "source": "treasury"},
            "1 fewer than the 1",
        ),
        ("reversal", {"token": "LUM", "entry": 1}, "LUM has no entry 1"),
        ("price", {"token": "LUM", "price": "1.234", "origin": "NAV"}, "can mean 1234"),
        ("price", {"token": "LUM", "price": "1.2345", "origin": "NAV"}, "2 decimal"),
        ("price", {"token": "LUM", "price": "1e3", "origin": "NAV"}, "not a number"),
        (
            "mint",
            {"token": "LUM", "units": "1.000", "target": "treasury"},
            "Write 1000",
        ),
        ("mint", {"token": "LUM", "units": "1,5", "target": "treasury"}, "not a whole"),
        ("mint", {"token": "LUM", "units": "1.0", "target": "treasury"}, "not a whole"),
        ("price", {"token": "LUM", "price": "1", "origin": "TRADE"}, "valid choice"),
        ("key", {"partner": "no", "scopes": ["issuers:read"]}, "no partner no"),
        ("closing", {"account": "7"}, "7 is no account"),
    ],
)
def test_what_can_not_be_done_is_not_asked_for(
    world: World, ana: Client, kind: str, said: dict[str, Any], why: str
):
    before = ApprovalRequest.objects.count()
    answer = ask(ana, kind, **{"overlap_hours": 0} | said)
    assert answer.status_code == 200
    assert why in str(answer.context["form"].errors)
    assert ApprovalRequest.objects.count() == before
    assert not LedgerTransaction.objects.exists()


@pytest.mark.parametrize("kind", FORMS)
def test_who_lacks_the_right_asks_for_nothing(db: None, ben: Client, kind: str):
    page = reverse("admin:ask", args=[kind.lower()])
    assert ben.get(page).status_code == ben.post(page).status_code == 403
    listed = ben.get(reverse("admin:accounts_approvalrequest_changelist"))
    assert page not in listed.content.decode()


@pytest.mark.parametrize(
    ("typed", "cents"),
    [
        ("12,5", 1_250),
        ("€1,250.00", 125_000),
        ("1.250,00 €", 125_000),
        ("1 250", 125_000),
    ],
)
def test_a_price_is_read_as_it_is_typed(
    world: World, ana: Client, typed: str, cents: int
):
    answer = ask(ana, "price", token="LUM", price=typed, origin="NAV")
    assert answer.status_code == 302, answer.context["form"].errors
    assert ApprovalRequest.objects.latest("filed_at").content["cents"] == str(cents)


@pytest.mark.parametrize(
    ("typed", "said"),
    [("1 250", None), ("1.000", "Write 1000 or 1."), ("1.2345", "decimal places")],
)
def test_forms_of_rows_read_numbers_so_too(
    world: World, staff: Client, typed: str, said: str | None
):
    """Django would take 1.000 units for one."""
    place = "/admin/issuers/issuerfinancialdata/add/"
    given = {"issuer": world.listed.pk, "year": "2031", "period_type": "YEAR"}
    answer = staff.post(place, given | {"revenue_cents": typed})
    if said is None:
        assert answer.status_code == 302, answer.context["errors"]
        written = IssuerFinancialData.objects.get(issuer=world.listed, year=2031)
        assert written.revenue_cents == 125_000
        page = f"/admin/issuers/issuerfinancialdata/{written.pk}/change/"
        assert 'value="1250.00"' in staff.get(page).text
        reader = member("rosa", "view_issuerfinancialdata")
        assert "€1,250.00" in reader.get(page).text
        unchanged = given | {"revenue_cents": "1250"}
        assert staff.post(page, unchanged | {"_save": ""}).status_code == 302
        assert (
            LogEntry.objects.latest("pk").get_change_message() == "No fields changed."
        )
    else:
        assert said in answer.content.decode()
    assert 'type="number"' not in staff.get(place).content.decode()


def test_rows_lead_to_what_can_be_asked_for_of_them(world: World, staff: Client):
    token: Token = world.public_token
    own = ledger.treasury(world.listed)
    entry = ledger.Entry(token.pk, "MINT", 5, None, own)
    ledger.record([entry], "me")
    page = staff.get(reverse("admin:ledger", args=[token.pk])).content.decode()
    address = f"{reverse('admin:ask', args=['reversal'])}?token=LUM&amp;entry=1"
    assert f'href="{address}"' in page
    form = staff.get(address.replace("&amp;", "&")).context["form"]
    assert (form["token"].value(), form["entry"].value()) == ("LUM", "1")
    listed = staff.get(reverse("admin:accounts_approvalrequest_changelist"))
    for kind in FORMS:
        address = reverse("admin:ask", args=[kind.lower()])
        assert f'href="{address}"' in listed.content.decode()
        assert staff.get(address).status_code == 200
