"""What one member of staff does at once, from a form, and what the log says of it."""

from datetime import UTC, datetime, time
from typing import Any

import pytest
from celery.signals import before_task_publish
from django.contrib.auth.models import Group
from django.test import Client

from accounts.accounts.models import Account
from accounts.people.models import User
from issuers.models import Token
from issuers.offerings.drafting import OfferingTerms, draft, terms_of
from issuers.offerings.models import Offering
from marketdata.models import FixSession
from marketdata.trading.models import Market, Order, OrderBlock
from partnerapi.staff.work import WORK
from tests.accounts.money import new_partner
from tests.approved import asker
from tests.issuers.offerings import offerings
from tests.issuers.offerings.offerings import new_token
from tests.issuers.register import new_issuer, people
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    new_clients,
    new_market,
    placed,
)
from tests.owner import appoint, as_committed

pytestmark = pytest.mark.django_db
REASON = "Asked by phone"


def signed_in(role: str) -> Client:
    user = User.objects.create_user(
        "olga@staff.example",
        "correct horse battery",
        type=User.Type.INDIVIDUAL,
        first_name="Olga",
        last_name="Okoro",
        is_staff=True,
    )
    user.groups.add(Group.objects.get(name=role))
    appoint(user)
    client = Client()
    client.force_login(user)
    return client


def send(client: Client, name: str, /, **given: object) -> Any:
    answer = client.post(f"/admin/do/{name}/", {"reason": REASON} | given, follow=True)
    as_committed()
    return answer


def problem(answer: Any) -> str:
    [said] = answer.context["form"].non_field_errors()
    return str(said)


def said(staff: Client) -> str:
    """The newest line of the log, as one sentence."""
    for line in staff.get("/admin/log/").context["sentences"]:
        if line.line.what.startswith("Page: "):
            return f"{line.who} {line.verb} {line.thing} {line.rest}"
    raise AssertionError("the log has no such line")


def test_each_work_has_a_test():
    with open(__file__) as text:
        source = text.read()
    assert [name for name in WORK if f'"{name}"' not in source] == []


def test_an_account_is_opened(staff: Client):
    partner, [client] = new_partner(), people(1)
    given = {"partner": partner.login, "client": f"User|{client.pk}"}
    support = signed_in("Support")
    page = send(support, "open-account", **given)
    account = Account.objects.get(partner=partner)
    assert (account.status, account.user_id) == ("PENDING", client.pk)
    assert page.redirect_chain[-1][0] == f"/admin/account/{account.pk}/"
    assert said(staff).startswith("Olga Okoro opened the account, ")
    assert said(staff).endswith(REASON)
    assert "already has an account" in problem(send(support, "open-account", **given))
    given["client"] = "otto@none.example"
    assert "There is no user" in problem(send(support, "open-account", **given))
    assert Account.objects.filter(partner=partner).count() == 1


def test_compids_are_assigned(staff: Client):
    partner, manager = new_partner(), signed_in("Key manager")
    send(manager, "assign-compids", partner=partner.login, kind="feed", count=2)
    bound = FixSession.objects.filter(partner=partner).values_list("comp_id", flat=True)
    assert len(bound) == 2
    assert f"assigned {', '.join(sorted(bound))}, " in said(staff)
    more = send(manager, "assign-compids", partner=partner.login, kind="feed", count=4)
    assert "may have" in problem(more)
    assert FixSession.objects.filter(partner=partner).count() == 2
    send(manager, "assign-compids", partner=partner.login, kind="drop-copy", count=1)
    sessions = FixSession.objects.filter(partner=partner).order_by("comp_id")
    assert [one.is_drop_copy for one in sessions] == [False, False, True]


def test_a_market_is_opened(staff: Client):
    asked = staff.get("/admin/do/open-market/").text
    assert 'value="09:00"' in asked
    assert "Opens, Europe/Paris" in asked
    token = Token.objects.create(
        issuer=new_issuer(),
        symbol="OPENME",
        name="Open me",
        market_type=Token.MarketType.SECONDARY_MARKET,
    )
    given: dict[str, object] = {
        "token": "openme", "opens": "09:00", "closes": "17:30", "weekdays_only": "on",
        "tick": "0.05", "lot": "10", "collar": "15",
    }  # fmt: skip
    operations = signed_in("Operations")
    assert "no price" in problem(send(operations, "open-market", **given))
    send(operations, "open-market", **given, reference_price="12,50")
    market = Market.objects.get(token=token)
    assert (market.tick_cents, market.lot_units, market.collar_bps) == (5, 10, 1_500)
    assert (market.reference_price, market.phase) == (1_250, "CLOSED")
    assert (market.session_opens, market.session_closes) == (time(9), time(17, 30))
    assert "opened the market, Market of OPENME" in said(staff)
    again = send(operations, "open-market", **given, reference_price="12.50")
    assert "Only a token on the secondary market" in problem(again)


def test_a_token_moves_to_the_secondary_market(staff: Client):
    token, operations = new_token(), signed_in("Operations")
    link = f'href="/admin/do/open-secondary/?token={token.symbol}"'
    for page in ("", "book/"):
        assert link in operations.get(f"/admin/token/{token.pk}/{page}").text
    moved = send(operations, "open-secondary", token=token.symbol.lower())
    assert "Opened the secondary market" in moved.text
    token.refresh_from_db()
    assert token.is_traded
    assert "opened the secondary market" in said(staff)
    for page in ("", "book/"):
        assert link not in operations.get(f"/admin/token/{token.pk}/{page}").text
    more = send(operations, "open-secondary", token=token.symbol)
    assert problem(more) == f"{token.symbol} is already on the secondary market."


def test_a_token_that_is_offered_stays_on_the_primary_market(staff: Client):
    offering = offerings.opened()
    refused = send(staff, "open-secondary", token=offering.token.symbol)
    assert problem(refused) == f"{offering.token.symbol} has an offering under way."
    offering.token.refresh_from_db()
    assert not offering.token.is_traded


def test_an_offering_is_drafted(staff: Client):
    token = new_token()
    operations = signed_in("Operations")
    given: dict[str, object] = {
        "token": token.symbol.lower(), "rule": "PRO_RATA", "each": "12,50",
        "units": "5 000", "minimum": 100, "smallest": 10, "largest": 500,
        "opens": "2027-02-01 08:00", "closes": "2027-02-15 16:00", "source": "MINT",
        "reflection": 4, "fee": "2.5", "vat": 20,
    }  # fmt: skip
    for wrong, why in (
        ({"each": ""}, "any other allotment needs a price"),
        ({"minimum": 6_000}, "the minimum is more than the units offered"),
        ({"largest": 5}, "the smallest subscription is more than the largest"),
        ({"closes": "2027-01-31 08:00"}, "it closes before it opens"),
        ({"fee": 90}, "within the proceeds"),
    ):
        refused = send(operations, "draft-offering", **given | wrong)
        assert why in problem(refused)
    assert not Offering.objects.exists()
    page = send(operations, "draft-offering", **given)
    drafted = Offering.objects.get(token=token)
    assert page.redirect_chain[-1][0] == f"/admin/offering/{drafted.pk}/"
    assert terms_of(drafted) == OfferingTerms(
        1_250, 5_000, 100,
        datetime(2027, 2, 1, 8, tzinfo=UTC), datetime(2027, 2, 15, 16, tzinfo=UTC),
        "PRO_RATA", "MINT", None, None, 10, 500, 345_600, 250, 2_000,
    )  # fmt: skip
    assert (drafted.status, drafted.created_by) == ("DRAFT", "olga@staff.example")
    assert "drafted the offering, " in said(staff)
    listed = operations.get(f"/admin/token/{token.pk}/").text
    assert f"/admin/do/draft-offering/?token={token.symbol}" in listed


def test_orders_are_cancelled_once_their_number_was_seen(staff: Client):
    token, other, clients = new_market(), new_market(), new_clients(2)
    for client in clients:
        deposit(client, 10_000)
        placed(token, buy(client, 5, 100))
        placed(other, buy(client, 5, 100))
    operations = signed_in("Operations")
    first = {"account": str(clients[0].pk), "token": token.symbol}

    def open_orders() -> list[tuple[Any, Any]]:
        rows = Order.objects.filter(status="OPEN").order_by("id")
        return [*rows.values_list("token", "account")]

    assert "Name an order" in problem(send(operations, "cancel-orders"))
    asked = send(operations, "cancel-orders", **first)
    assert "1 open order of" in problem(asked)
    assert len(open_orders()) == 4
    assert 'name="confirmed" value="1"' in asked.content.decode()
    send(operations, "cancel-orders", **first, confirmed=1)
    assert len(open_orders()) == 3
    assert (token.pk, clients[0].pk) not in open_orders()
    ended = Order.objects.get(token=token, account=clients[0])
    assert (ended.status, ended.status_reason) == ("CANCELLED", "BY_STAFF")
    assert "Olga Okoro cancelled 1 open order, " in said(staff)
    partner = {"partner": clients[1].partner.login}
    assert "3 open orders of" in problem(send(operations, "cancel-orders", **partner))
    changed = send(operations, "cancel-orders", **partner, confirmed=4)
    assert "3 open orders of" in problem(changed)
    send(operations, "cancel-orders", **partner, confirmed=3)
    assert open_orders() == []
    order = {"order": f"Order|{ended.pk}"}
    assert "No open order fits" in problem(send(operations, "cancel-orders", **order))
    unknown = {"token": "NOPE"}
    assert "no token NOPE" in problem(send(operations, "cancel-orders", **unknown))


def test_orders_of_a_partner_are_stopped_by_one(staff: Client):
    token, [client, other] = new_market(), new_clients(2)
    for each in (client, other):
        deposit(each, 10_000)
        placed(token, buy(each, 5, 100))
    operations = signed_in("Operations")
    partner, account = {"partner": client.partner.login}, {"account": str(client.pk)}
    either = "Name a partner or an account"
    assert either in problem(send(operations, "stop-orders"))
    assert either in problem(send(operations, "stop-orders", **partner, **account))
    nobody = send(operations, "stop-orders", partner="nope")
    assert "no partner nope" in problem(nobody)
    assert Order.objects.filter(status="OPEN").count() == 2
    send(operations, "stop-orders", **account)
    assert "Olga Okoro stopped orders and cancelled 1 open order, " in said(staff)
    assert [*Order.objects.filter(status="OPEN").values_list("account")] == [
        (other.pk,)
    ]
    send(operations, "stop-orders", **partner)
    assert not Order.objects.filter(status="OPEN").exists()
    for place in (f"account/{client.pk}/", f"partner/{client.partner_id}/"):
        assert "are blocked by " in operations.get(f"/admin/{place}").text
    assert "are blocked by " not in operations.get("/admin/books/").text
    send(operations, "stop-orders", everything="on")
    shown = operations.get("/admin/books/").text
    assert "Orders of all partners are blocked by " in shown
    stop = OrderBlock.objects.get(partner=None)
    assert f"/admin/ask/release/?block={stop.pk}" in shown


def test_a_sign_in_is_unlocked(staff: Client):
    User.objects.create_user(
        "sam2@example.com", "a right password 1", type="INDIVIDUAL", last_name="S",
        first_name="", is_staff=True,
    )  # fmt: skip
    manager = signed_in("Key manager")

    def sign_in(password: str) -> int:
        given = {"username": "Sam2@example.com", "password": password}
        return Client().post("/admin/login/", given).status_code

    for _ in range(5):
        sign_in("wrong")
    assert sign_in("a right password 1") == 429
    done = send(manager, "unlock-sign-in", login="Sam2@example.com")
    assert "Unlocked the sign-in." in done.content.decode()
    assert sign_in("a right password 1") == 302
    lines = staff.get("/admin/log/").content.decode()
    assert "unlocked" in lines
    again = send(manager, "unlock-sign-in", login="sam2@example.com")
    assert "is not locked" in problem(again)
    nobody = send(manager, "unlock-sign-in", login="who@example.com")
    [unknown] = nobody.context["form"].errors["login"]
    assert "No member of staff" in unknown


def test_a_check_is_handed_to_a_worker(staff: Client):
    sent: list[str] = []

    def note(sender: str, **more: object) -> None:
        sent.append(sender)

    before_task_publish.connect(note)
    try:
        operations = signed_in("Operations")
        send(operations, "run-check", check="verify_cash")
    finally:
        before_task_publish.disconnect(note)
    assert sent == ["partnerapi.operations.tasks.verify_cash"]
    assert "started the job verify cash" in said(staff)
    refused = send(operations, "run-check", check="prune_events")
    assert "check" in refused.context["form"].errors
    assert len(sent) == 1


def test_a_draft_of_an_offering_is_withdrawn(staff: Client):
    drafted = draft(offerings.new_token(), offerings.terms(), asker())
    opened = offerings.opened()
    operations = signed_in("Operations")
    page = send(operations, "withdraw-draft", offering=drafted.pk)
    assert page.redirect_chain[-1][0] == f"/admin/offering/{drafted.pk}/"
    drafted.refresh_from_db()
    assert (drafted.status, drafted.status_reason) == ("WITHDRAWN", REASON)
    assert "Olga Okoro withdrew the draft, " in said(staff)
    refused = send(operations, "withdraw-draft", offering=opened.pk)
    assert "offering" in refused.context["form"].errors
    opened.refresh_from_db()
    assert opened.status == "OPEN"
