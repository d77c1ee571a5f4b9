"""What stays is not offered for deletion, and a page of one query says so."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.accounts.models import Account
from accounts.keys.models import Partner
from accounts.people.models import User, UserHolder
from issuers.legacy.models import LegacyImport, LegacyShareholder
from issuers.models import Issuer, Token
from issuers.register import ledger
from marketdata.models import FixSession
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.approved import desk
from tests.characters import START, World
from tests.issuers.register import people
from tests.owner import superuser


def person(**fields: Any) -> User:
    return User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name="Lund", **fields
    )


@pytest.fixture
def staff(db: None) -> Client:
    user = superuser(
        "ana@example.com", type="INDIVIDUAL", first_name="Ana", last_name="Lund"
    )  # fmt: skip
    client = Client()
    client.force_login(user)
    return client


def address(row: Any, page: str) -> str:
    meta = row._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=[row.pk])


def log_of(user: User) -> None:
    LogEntry.objects.log_actions(user.pk, [user], CHANGE, "Changed.")


def user_with(world: World, what: str) -> User:
    if what == "issuer":
        return world.quiet.owner
    if what == "legacy shares":
        return world.shareholders[0].user
    if what == "staff":
        return person(is_staff=True)
    if what == "signed in":
        return person(last_login=START)
    user = person()
    if what == "account":
        Account.objects.open(world.partner, user, desk(), START)
    elif what == "profile":
        UserHolder.objects.create(user=user, name="Otto")
    elif what == "log":
        log_of(user)
    return user


def holder_with(world: World, what: str) -> UserHolder:
    return people(1)[0].holder


def partner_with(world: World, what: str) -> Partner:
    partner = Partner.objects.create(login="acme", name="Acme")
    if what == "account":
        Account.objects.open(partner, person(), desk(), START)
    elif what == "key":
        approved_key(partner, [])
    elif what == "grant":
        approved_grant(partner, world.listed)
    elif what == "session":
        FixSession.objects.create(partner=partner, comp_id="ACME")
    return partner


def new_issuer(world: World) -> Issuer:
    return Issuer.objects.create(
        trading_name="New", slug="new", trading_location="Lyon", owner=world.owner
    )


def new_token(issuer: Issuer) -> Token:
    return Token.objects.create(
        issuer=issuer,
        name="New",
        symbol="NEW",
        created_at=datetime(2024, 1, 1, tzinfo=UTC),
    )


def legacy_line(issuer: Issuer, token: Token | None = None) -> None:
    LegacyShareholder.objects.create(
        issuer=issuer, token=token, user=issuer.owner, number_of_shares=1, price_cents=1
    )


def issuer_with(world: World, what: str) -> Issuer:
    issuer = new_issuer(world)
    if what == "token":
        new_token(issuer)
    elif what == "legacy shares":
        legacy_line(issuer)
    elif what == "import":
        LegacyImport.objects.create(
            issuer=issuer, file_name="f", checksum_sha256="0", imported_by="ana"
        )
    elif what == "treasury":
        ledger.treasury(issuer)
    elif what == "grant":
        approved_grant(world.partner, issuer)
    return issuer


def token_with(world: World, what: str) -> Token:
    token = new_token(world.quiet)
    if what == "price":
        ledger.set_price(token.pk, 1, "MANUAL", "ana@example.com")
    elif what == "entry":
        own = ledger.treasury(world.quiet)
        ledger.record([ledger.Entry(token.pk, "MINT", 1, None, own)], "ana@example.com")
    elif what == "legacy shares":
        legacy_line(world.quiet, token)
    return token


MADE = {
    user_with: [
        "issuer", "legacy shares", "account", "profile", "staff", "signed in", "log"
    ],
    holder_with: ["ledger account"],
    partner_with: ["account", "key", "grant", "session"],
    issuer_with: ["token", "legacy shares", "import", "treasury", "grant"],
    token_with: ["nothing", "price", "entry", "legacy shares"],
}  # fmt: skip
KEPT = [(make, what) for make, all_ in MADE.items() for what in all_]


@pytest.mark.parametrize(("make", "what"), KEPT)
def test_what_something_stands_on_is_not_deleted(
    make: Any, what: str, world: World, staff: Client
):
    row = make(world, what)
    page = staff.get(address(row, "change")).content.decode()
    assert address(row, "delete") not in page
    assert '<div class="description">' in page
    for ask in (staff.get, staff.post):
        assert ask(address(row, "delete"), {"post": "yes"}).status_code == 403
    assert type(row).objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize(
    "make", [m for m in MADE if m not in (holder_with, token_with)]
)
def test_what_nothing_stands_on_is_deleted(make: Any, world: World, staff: Client):
    row = make(world, "nothing")
    delete = address(row, "delete")
    assert delete in staff.get(address(row, "change")).content.decode()
    assert staff.post(delete, {"post": "yes"}).status_code == 302
    assert not type(row).objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("model", [User, UserHolder, Partner, Issuer, Token])
def test_rows_are_deleted_one_by_one(model: Any, world: World, staff: Client):
    people(1)
    meta = model._meta
    page = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    assert "delete_selected" not in staff.get(page).content.decode()
    row = model.objects.all()[0]
    data = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    staff.post(page, data)
    assert model.objects.filter(pk=row.pk).exists()


def test_a_refusal_asks_as_much_for_many_rows_as_for_one(world: World, staff: Client):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            answer = staff.get(address(world.listed, "delete"))
        assert answer.status_code == 403
        return len(captured)

    few = queries()
    for _ in range(30):
        legacy_line(world.listed, world.public_token)
    assert queries() == few <= 6


def test_what_staff_did_outlives_any_deletion(db: None):
    user = person()
    log_of(user)
    for rows in (LogEntry.objects.filter(user=user), User.objects.filter(pk=user.pk)):
        with (
            pytest.raises(IntegrityError, match="Clear is_active on the user instead"),
            transaction.atomic(),
        ):
            rows.delete()
    assert LogEntry.objects.get().user == user
