"""Refused orders are kept: each of them, or counted, and only what was refused."""

import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from accounts.access import Scope
from marketdata.trading import refused
from marketdata.trading.errors import LotSize, TickSize
from marketdata.trading.models import RefusedOrder
from marketdata.trading.refused import RefusedOrders, refused_orders
from partnerapi.core.database import value_of
from partnerapi.sandbox.data.approvals import approved_key
from tests.api.test_orders import (
    AMEND,
    CHECK,
    PLACE,
    PLACE_EACH,
    Trading,
    once,
    trading,
)
from tests.characters import Ask, World
from tests.marketdata.trading.trading import buy, new_clients, new_market, new_partner
from tests.owner import tamper
from tests.threads import in_threads
from tests.tiers import count

__all__ = ["trading"]

COMMITS = pytest.mark.django_db(transaction=True)
REFUSED = """
query ($since: Time, $after: String) {
  refusedOrders(first: 100, since: $since, after: $after) { totalCount
    nodes { id at code message count side quantity limitPrice timeInForce
      clientOrderID account { id } token { id } order { id } }
    pageInfo { hasNextPage endCursor } } }
"""


@pytest.fixture(autouse=True)
def nothing_noted_before():
    refused_orders.noted.clear()
    refused_orders.counted.clear()
    refused_orders.minutes.clear()


def listed(ask: Ask, **values: Any) -> list[dict[str, Any]]:
    refused_orders.write()
    answer = ask(REFUSED, values).data
    nodes: list[dict[str, Any]] = answer["refusedOrders"]["nodes"]
    return nodes


@COMMITS
def test_a_refused_order_is_kept_as_it_was_sent(trading: Trading, partner: Ask):
    account = f"Account|{trading.buyer.pk}"
    order = trading.order(trading.buyer, "BUY", 2**63, 101, clientOrderID="big")
    assert once(partner, PLACE, **order).code == "ORDER_VALUE_TOO_LARGE"
    [kept] = listed(partner)
    assert kept.pop("id").startswith("RefusedOrder|")
    at = kept.pop("at")
    assert kept.pop("message").startswith("An order's value")
    assert kept == {
        "code": "ORDER_VALUE_TOO_LARGE", "count": 1, "side": "BUY", "quantity": 2**63,
        "limitPrice": 101, "timeInForce": "GTC", "clientOrderID": "big",
        "account": {"id": account}, "token": {"id": order["tokenID"]}, "order": None,
    }  # fmt: skip
    assert listed(partner, since=at)
    later = datetime.fromisoformat(at) + timedelta(seconds=1)
    assert not listed(partner, since=later.isoformat())
    # The name is not taken.
    assert once(partner, PLACE, **order | {"quantity": 1}).data


@COMMITS
def test_what_was_not_refused_by_a_market_is_not_kept(trading: Trading, partner: Ask):
    order = trading.order(trading.buyer, "BUY", 1, 79)
    tried = {"X-Validate-Only": "true"}
    assert partner(PLACE, {"input": order}, **tried).code == "PRICE_OUTSIDE_COLLAR"
    assert partner(CHECK, {"input": order}).data["checkOrder"]["code"]
    assert once(partner, PLACE, **order | {"quantity": 0}).code == "BAD_USER_INPUT"
    nowhere = {"accountID": "Account|00000000-0000-7000-8000-000000000000"}
    assert once(partner, PLACE, **order | nowhere).code == "NOT_FOUND"
    assert listed(partner) == []
    key = {"Idempotency-Key": str(uuid.uuid4())}
    for _ in range(2):
        assert partner(PLACE, {"input": order}, **key).code == "PRICE_OUTSIDE_COLLAR"
    assert len(listed(partner)) == 1


def test_those_that_are_counted_are_listed_since_any_instant_of_their_minute(
    trading: Trading, partner: Ask, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(refused, "MOST_A_MINUTE", 1)
    at = datetime(2027, 1, 14, 10, 31, 20, tzinfo=UTC)
    sent, token = buy(trading.buyer, 1, 100), trading.token
    for seconds in (0, 20):
        refused_orders.note(
            trading.buyer.partner_id, at + timedelta(0, seconds), token.pk, sent,
            LotSize("Odd."),
        )  # fmt: skip
    since = at + timedelta(0, 10)
    assert [one["side"] for one in listed(partner, since=since.isoformat())] == [None]
    later = since + timedelta(0, 60)
    assert not listed(partner, since=later.isoformat())


@COMMITS
def test_lists_and_amendments_are_kept_too(trading: Trading, partner: Ask):
    good = trading.order(trading.buyer, "BUY", 1, 100)
    token = good.pop("tokenID")
    orders = [good, good | {"limitPrice": 79}, good, good | {"quantity": 2_000}]
    answer = once(partner, PLACE_EACH, tokenID=token, orders=orders).data
    results = answer["placeOrders"]["results"]
    assert [k["code"] for k in reversed(listed(partner))] == [
        "PRICE_OUTSIDE_COLLAR",
        "INSUFFICIENT_FUNDS",
    ]
    mine = results[0]["order"]["id"]
    change = {"orderID": mine, "version": 2, "quantity": 5}
    assert once(partner, AMEND, **change).code == "ORDER_CHANGED"
    [last, *_] = listed(partner)
    assert (last["order"], last["quantity"]) == ({"id": mine}, 5)
    assert last["limitPrice"] == 100
    tamper("UPDATE trading_market SET phase = 'HALTED', next_phase_at = NULL")
    refused_list = once(partner, PLACE_EACH, tokenID=token, orders=orders)
    assert refused_list.code == "MARKET_CLOSED"
    assert [k["code"] for k in listed(partner)[:4]] == ["MARKET_CLOSED"] * 4


@COMMITS
def test_orders_that_go_together_are_kept_once(trading: Trading, partner: Ask):
    order = trading.order(trading.buyer, "BUY", 1, 79)

    def work(number: int) -> None:
        once(partner, PLACE, **order | {"clientOrderID": f"n{number}"})

    assert in_threads(8, work) == []
    kept = listed(partner)
    assert sorted(k["clientOrderID"] for k in kept) == [f"n{n}" for n in range(8)]


def test_others_see_nothing_of_them(trading: Trading, partner: Ask, world: World):
    order = trading.order(trading.buyer, "BUY", 1, 79)
    once(partner, PLACE, **order)
    assert len(listed(partner)) == 1
    assert listed(Ask(approved_key(new_partner(), [Scope.TRADING_READ])[1])) == []
    other = Ask(approved_key(world.partner, [Scope.TRADING_WRITE])[1])
    assert other(REFUSED, {}).code == "FORBIDDEN"


def test_of_many_in_a_minute_the_rest_is_counted(db: None):
    token, [account] = new_market(), new_clients(1)
    minute = datetime(2027, 1, 14, 10, 31, tzinfo=UTC)
    sent = buy(account, 1, 100)
    process = RefusedOrders()
    for number in range(refused.MOST_A_MINUTE + 100):
        error = LotSize("Odd.") if number % 2 else TickSize("Off.")
        at = minute + timedelta(seconds=number % 60)
        process.note(account.partner_id, at, token.pk, sent, error)
        if number % 250 == 0:
            process.write()
    process.note(
        account.partner_id, minute + timedelta(minutes=1), token.pk, sent, LotSize("")
    )
    process.write()
    rows = RefusedOrder.objects.filter(partner=account.partner_id)
    counted = rows.filter(account=None)
    assert sorted(counted.values_list("at", "code", "number")) == [
        (minute, "LOT_SIZE", 50),
        (minute, "TICK_SIZE", 50),
    ]
    assert rows.exclude(account=None).count() == refused.MOST_A_MINUTE + 1


def test_notes_stay_until_they_can_be_written(db: None):
    token, [account] = new_market(), new_clients(1)
    process = RefusedOrders()
    at = datetime(2027, 1, 14, tzinfo=UTC)
    process.note(account.partner_id, at, token.pk, buy(account, 1, 1), LotSize("x" * 9))
    tamper("ALTER TABLE trading_refusedorder RENAME TO away")
    with pytest.raises(DatabaseError), transaction.atomic():
        process.write()
    tamper("ALTER TABLE away RENAME TO trading_refusedorder")
    process.write()
    process.write()
    assert RefusedOrder.objects.get().message == "x" * 9


def test_they_are_kept_as_long_as_events(db: None, settings: Any):
    token, [account] = new_market(), new_clients(1)
    process = RefusedOrders()
    now = value_of("SELECT clock_timestamp()")
    for days in (41, 39):
        at = now - timedelta(days=days)
        process.note(account.partner_id, at, token.pk, buy(account, 1, 1), LotSize(""))
    process.write()
    settings.PARTNER_API_EVENT_DAYS = 40
    assert refused.prune() == 1
    assert RefusedOrder.objects.get().at > now - timedelta(days=40)


@COMMITS
def test_each_refused_order_of_many_lists_is_found(
    trading: Trading, world: World, settings: Any
):
    lists = count(5, 1_000)
    settings.PARTNER_API_BUDGET_SECONDS = 100_000
    world.partner.budget_points = world.partner.budget_refill = 10**9
    world.partner.save()
    partner = Ask(approved_key(world.partner, list(Scope))[1])
    order = trading.order(trading.buyer, "BUY", 1, 79)
    token = order.pop("tokenID")
    for number in range(lists):
        orders = [
            order | {"clientOrderID": f"{number}-{place}", "quantity": place + 1}
            for place in range(100)
        ]
        assert once(partner, PLACE_EACH, tokenID=token, orders=orders).status == 200
        if number % 50 == 0:
            refused_orders.write()
    refused_orders.write()
    found: Counter[str] = Counter()
    names, after = set(), None
    while True:
        page = partner(REFUSED, {"after": after}).data["refusedOrders"]
        for node in page["nodes"]:
            found[node["code"]] += node["count"]
            names |= {node["clientOrderID"]} - {None}
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert found == {"PRICE_OUTSIDE_COLLAR": lists * 100}
    assert len(names) >= min(lists * 100, refused.MOST_A_MINUTE)
