"""Subscriptions over GraphQL: made, amended, withdrawn, tried, refused and read."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.investors import writer as investors
from accounts.investors.models import InvestorClass
from issuers.models import Document, Token
from issuers.offerings import deciding
from issuers.offerings.drafting import draft
from issuers.offerings.models import Offering, Subscription
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.accounts.money import deposit, head_of
from tests.approved import approved_rule, asker
from tests.characters import Ask, World
from tests.issuers.offerings.offerings import (
    close,
    new_token,
    opened,
    set_reflection,
    subscribe,
    terms,
)
from tests.marketdata.trading.trading import new_clients
from tests.owner import as_committed
from tests.pictures import picture_bytes

pytestmark = pytest.mark.django_db

FIELDS = """id status quantity limitPrice reserved version allottedQuantity refusal
  offering { id status price token { symbol } } account { id }
  reflectsUntil rankedAt createdAt updatedAt ledgerSequence"""
SUBSCRIBE = f"""
mutation ($input: SubscribeInput!) {{ subscribe(input: $input) {{
  subscription {{ {FIELDS} }} }} }}
"""
AMEND = f"""
mutation ($input: AmendSubscriptionInput!) {{ amendSubscription(input: $input) {{
  subscription {{ {FIELDS} }} }} }}
"""
WITHDRAW = f"""
mutation ($input: WithdrawSubscriptionInput!) {{ withdrawSubscription(input: $input) {{
  subscription {{ {FIELDS} }} }} }}
"""
CHECK = """
query ($input: SubscribeInput!) { checkSubscription(input: $input) {
  allowed code message reserves reflectsUntil refusals { code } at } }
"""
OFFERINGS = """
query ($token: ID) { offerings(tokenID: $token) { totalCount nodes {
  id status allotmentRule price priceFloor priceCap maximumUnits minimumUnits
  smallestTicket largestTicket opensAt closesAt reflectionSeconds coveredUnits
  statusReason documents { id name contentType checksumSha256 sizeBytes url } } } }
"""
MINE = """
query ($id: String!) { account(id: $id) { cash { balance reserved available }
  subscriptions(first: 10) { totalCount nodes { id status } } } }
"""
NODE = "query ($id: ID!) { node(id: $id) { id } }"
EVENTS = """
{ events(last: 20, types: [OFFERING_CHANGED SUBSCRIPTION_CHANGED]) { nodes {
  type subject { id } token { symbol } account { id } } } }
"""


def once(ask: Ask, document: str, key: str | None = None, **input: Any) -> Any:
    return ask(
        document, {"input": input}, **{"Idempotency-Key": key or str(uuid.uuid4())}
    )


@pytest.fixture
def ask(partner: Ask) -> Ask:
    return partner


@pytest.fixture
def account(world: World) -> Account:
    """It has 1,000 €."""
    [account] = new_clients(1, world.partner)
    deposit(account, 100_000)
    return account


@pytest.fixture
def offering() -> Offering:
    """100 units at 10 €."""
    return opened()


def named(offering: Offering, account: Account, **more: Any) -> dict[str, Any]:
    return {
        "offeringID": f"Offering|{offering.pk}",
        "accountID": f"Account|{account.pk}",
        **more,
    }


def test_a_subscription_reserves_its_cash_once(
    ask: Ask, offering: Offering, account: Account
):
    key = str(uuid.uuid4())
    first = once(ask, SUBSCRIBE, key, **named(offering, account, quantity=20))
    made = first.data["subscribe"]["subscription"]
    assert (made["status"], made["quantity"], made["limitPrice"]) == (
        "ACTIVE",
        20,
        1_000,
    )
    assert (made["reserved"], made["version"]) == (20_000, 1)
    assert head_of(account) == (100_000, 20_000)
    replayed = once(ask, SUBSCRIBE, key, **named(offering, account, quantity=20))
    assert replayed.body == first.body
    again = once(ask, SUBSCRIBE, **named(offering, account, quantity=1))
    assert again.code == "ALREADY_SUBSCRIBED"
    assert again.errors[0]["extensions"]["subscriptionID"] == made["id"]
    read = ask(MINE, {"id": f"Account|{account.pk}"}).data["account"]
    assert read["cash"] == {"balance": 100_000, "reserved": 20_000, "available": 80_000}
    assert read["subscriptions"] == {
        "totalCount": 1,
        "nodes": [{"id": made["id"], "status": "ACTIVE"}],
    }
    as_committed()
    [told] = [
        event
        for event in ask(EVENTS).data["events"]["nodes"]
        if event["type"] == "SUBSCRIPTION_CHANGED"
    ]
    assert told["subject"] == {"id": made["id"]}
    assert told["account"] == {"id": f"Account|{account.pk}"}


def test_what_is_tried_is_not_written(ask: Ask, offering: Offering, account: Account):
    checked = ask(CHECK, {"input": named(offering, account, quantity=20)}).data
    assert checked["checkSubscription"] | {"at": "", "reflectsUntil": ""} == {
        "allowed": True,
        "code": None,
        "message": None,
        "reserves": 20_000,
        "reflectsUntil": "",
        "refusals": [],
        "at": "",
    }
    tried = ask(
        SUBSCRIBE,
        {"input": named(offering, account, quantity=20)},
        **{"X-Validate-Only": "true"},
    )
    assert tried.data["subscribe"]["subscription"]["reserved"] == 20_000
    assert head_of(account) == (100_000, 0)
    assert not Subscription.objects.filter(account=account).exists()


@pytest.mark.parametrize(
    ("terms", "input", "code"),
    [
        ({}, {"quantity": 101}, "TICKET_SIZE"),
        ({"smallest": 10}, {"quantity": 9}, "TICKET_SIZE"),
        ({"largest": 10}, {"quantity": 11}, "TICKET_SIZE"),
        ({}, {"quantity": 1, "limitPrice": 999}, "PRICE_OUTSIDE_BAND"),
        ({"price": 2_000}, {"quantity": 51}, "INSUFFICIENT_FUNDS"),
        ({}, {"quantity": 0}, "BAD_USER_INPUT"),
        (
            {"price": None, "rule": "BOOK", "floor": 5, "cap": 9},
            {"quantity": 1},
            "BAD_USER_INPUT",
        ),
        (
            {"opens": timezone.now() + timedelta(minutes=30)},
            {"quantity": 1},
            "OFFERING_NOT_OPEN",
        ),
    ],
)
def test_what_an_offering_does_not_take_is_refused(
    ask: Ask,
    account: Account,
    terms: dict[str, Any],
    input: dict[str, Any],
    code: str,
):
    wanted = named(opened(**terms), account, **input)
    assert once(ask, SUBSCRIBE, **wanted).code == code
    checked = ask(CHECK, {"input": wanted})
    if code == "BAD_USER_INPUT":
        assert checked.code == code
    else:
        found = checked.data["checkSubscription"]
        assert found["code"] == code
        assert MESSAGES[code] in found["message"]
    assert head_of(account) == (100_000, 0)


MESSAGES = {
    "TICKET_SIZE": "Subscribe to",
    "PRICE_OUTSIDE_BAND": "must be 1,000 cents.",
    "INSUFFICIENT_FUNDS": "100,000 cents available; it needs 102,000.",
    "OFFERING_NOT_OPEN": "is OPEN; it takes subscriptions while it is OPEN, from ",
}


def test_a_rule_of_the_token_refuses_a_subscription(
    ask: Ask, offering: Offering, account: Account
):
    approved_rule(offering.token, "VERIFIED_HOLDERS", {})
    refused = once(ask, SUBSCRIBE, **named(offering, account, quantity=1))
    assert refused.code == "TRANSFER_REFUSED"
    [reason] = refused.errors[0]["extensions"]["refusals"]
    assert reason["code"] == "RECEIVER_NOT_VERIFIED"
    assert head_of(account) == (100_000, 0)


def test_more_gets_a_new_place_and_less_needs_the_reflection_period(
    ask: Ask, offering: Offering, account: Account
):
    made = subscribe(offering, account, 20)
    id = f"OfferingSubscription|{made.pk}"
    more = once(ask, AMEND, subscriptionID=id, version=1, quantity=30).data
    more = more["amendSubscription"]["subscription"]
    assert (more["quantity"], more["version"], more["reserved"]) == (30, 2, 30_000)
    assert more["rankedAt"] > more["createdAt"]
    assert head_of(account) == (100_000, 30_000)
    stale = once(ask, AMEND, subscriptionID=id, version=1, quantity=31)
    assert (stale.code, stale.errors[0]["extensions"]["version"]) == (
        "SUBSCRIPTION_CHANGED",
        2,
    )
    less = once(ask, AMEND, subscriptionID=id, version=2, quantity=10).data
    less = less["amendSubscription"]["subscription"]
    assert (less["quantity"], less["rankedAt"]) == (10, more["rankedAt"])
    set_reflection(made, timezone.now())
    bound = once(ask, AMEND, subscriptionID=id, version=3, quantity=9)
    assert bound.code == "REFLECTION_PERIOD_ENDED"
    assert once(ask, AMEND, subscriptionID=id, version=3, quantity=11).data
    assert head_of(account) == (100_000, 11_000)


@pytest.mark.parametrize(
    ("made_ago", "is_free"), [("95:59:00", True), ("96:00:01", False)]
)
def test_a_client_may_withdraw_for_four_days(
    ask: Ask, offering: Offering, account: Account, made_ago: str, is_free: bool
):
    made = subscribe(offering, account, 20)
    assert made.reflects_until - made.created_at == timedelta(hours=96)
    hours, minutes, seconds = map(int, made_ago.split(":"))
    ago = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    set_reflection(made, timezone.now() - ago + timedelta(hours=96))
    answer = once(ask, WITHDRAW, subscriptionID=f"OfferingSubscription|{made.pk}")
    if is_free:
        ended = answer.data["withdrawSubscription"]["subscription"]
        assert (ended["status"], ended["reserved"]) == ("WITHDRAWN", 0)
        assert head_of(account) == (100_000, 0)
        # Another subscription is possible.
        assert once(ask, SUBSCRIBE, **named(offering, account, quantity=1)).data
    else:
        assert answer.code == "REFLECTION_PERIOD_ENDED"
        assert head_of(account) == (100_000, 20_000)


def test_a_professional_client_is_bound_at_once(
    ask: Ask, offering: Offering, account: Account
):
    facts = investors.Facts("VERIFIED", None, None, InvestorClass.PROFESSIONAL)
    investors.decide(account.user, facts, asker())
    made = subscribe(offering, account, 20)
    assert made.reflects_until == made.created_at
    refused = once(ask, WITHDRAW, subscriptionID=f"OfferingSubscription|{made.pk}")
    assert refused.code == "REFLECTION_PERIOD_ENDED"


def test_others_see_neither_draft_nor_subscription(
    ask: Ask, offering: Offering, account: Account, world: World
):
    made = subscribe(offering, account, 20)
    other = Ask(approved_key(world.observer, list(Scope))[1])
    id = f"OfferingSubscription|{made.pk}"
    assert once(other, WITHDRAW, subscriptionID=id).code == "NOT_FOUND"
    found = other(NODE, {"id": id})
    assert found.data == {"node": None}
    token = f"Token|{offering.token_id}"
    listed = ask(OFFERINGS, {"token": token}).data["offerings"]
    assert listed["totalCount"] == 1
    assert listed["nodes"][0]["status"] == "OPEN"
    hidden = opened()
    Token.objects.filter(pk=hidden.token_id).update(visibility="PRIVATE")
    assert once(other, SUBSCRIBE, **named(hidden, account, quantity=1)).code == (
        "NOT_FOUND"
    )


def test_an_offering_shows_its_documents_in_their_order(partner: Ask):
    files = [
        Document.objects.new_document(f"{name}.png", picture_bytes(size=(width, 2)))
        for width, name in enumerate(("terms", "annex", "sheet"), start=1)
    ]
    for file in files:
        file.save()
    first, second, third = files
    shown = opened(documents=(third.pk, first.pk))
    other = opened(documents=(second.pk,))
    plain = opened()
    found = {
        node["id"]: node["documents"]
        for node in partner(OFFERINGS).data["offerings"]["nodes"]
    }
    names = {id: [document["name"] for document in of] for id, of in found.items()}
    assert names[f"Offering|{shown.pk}"] == ["sheet.png", "terms.png"]
    assert names[f"Offering|{other.pk}"] == ["annex.png"]
    assert names[f"Offering|{plain.pk}"] == []
    told = found[f"Offering|{shown.pk}"][1]
    assert told["checksumSha256"] == first.checksum_sha256
    assert (told["contentType"], told["sizeBytes"]) == ("image/png", first.size_bytes)
    assert told["url"].endswith(f"/documents/{first.pk}/terms.png")
    answer = partner(NODE, {"id": f"Document|{first.pk}"})
    assert answer.data == {"node": {"id": f"Document|{first.pk}"}}


def test_documents_of_a_private_token_need_a_grant(
    world: World, client: Client, stranger: Ask
):
    file = Document.objects.new_document("terms.png", picture_bytes())
    file.save()
    offering = opened(new_token(visibility="PRIVATE"), documents=(file.pk,))
    granted, blind = (
        approved_key(partner, list(Scope))[1]
        for partner in (world.partner, world.observer)
    )
    approved_grant(world.partner, offering.token.issuer)
    place, id = f"/documents/{file.pk}/terms.png", f"Document|{file.pk}"
    shown = client.get(place, headers={"X-Token-Auth": granted})
    assert (shown.status_code, shown.content) == (200, bytes(file.content))
    assert shown["Cache-Control"] == "private, no-store"
    assert Ask(granted)(NODE, {"id": id}).data == {"node": {"id": id}}
    for key in (None, blind):
        headers = {"X-Token-Auth": key} if key else {}
        assert client.get(place, headers=headers).status_code == 404
        assert (Ask(key) if key else stranger)(NODE, {"id": id}).data == {"node": None}
    wrong = client.get(place, headers={"X-Token-Auth": "service-apikey_demo_no"})
    assert (wrong.status_code, wrong["WWW-Authenticate"][:12]) == (401, "X-Token-Auth")
    Token.objects.filter(pk=offering.token_id).update(visibility="PUBLIC")
    assert client.get(place).content == bytes(file.content)


def test_documents_of_a_draft_are_not_public(partner: Ask):
    file = Document.objects.new_document("terms.png", picture_bytes())
    file.save()
    draft(new_token(), terms(documents=(file.pk,)), asker())
    found = partner(NODE, {"id": f"Document|{file.pk}"})
    assert found.data == {"node": None}


def test_a_draft_that_was_withdrawn_stays_hidden(partner: Ask):
    drafted = draft(new_token(), terms(), asker())
    deciding.withdraw_draft(drafted, "The board has another plan", asker())
    token = f"Token|{drafted.token_id}"
    listed = partner(OFFERINGS, {"token": token}).data["offerings"]
    assert listed == {"totalCount": 0, "nodes": []}
    found = partner(NODE, {"id": f"Offering|{drafted.pk}"})
    assert found.data == {"node": None}


def test_an_offering_that_closed_takes_nothing_but_withdrawals(
    ask: Ask, offering: Offering, account: Account
):
    made = subscribe(offering, account, 20)
    close(offering)
    set_reflection(made, timezone.now() + timedelta(hours=1))
    id = f"OfferingSubscription|{made.pk}"
    assert once(ask, AMEND, subscriptionID=id, version=1, quantity=30).code == (
        "OFFERING_NOT_OPEN"
    )
    assert once(ask, WITHDRAW, subscriptionID=id).data
    assert head_of(account) == (100_000, 0)
