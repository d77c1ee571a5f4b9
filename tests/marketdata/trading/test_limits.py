"""Post-only orders, and the limits that staff set for a partner's orders."""

from typing import Any

import pytest
from django.db import transaction

from accounts.access import Scope
from accounts.accounts.models import Account
from marketdata.trading import limits, market
from marketdata.trading.errors import OpenValueExceeded, OrderRateExceeded, WouldTrade
from marketdata.trading.limits import Limits
from marketdata.trading.models import Order
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
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    codes,
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
    place,
    placed,
    purse,
    sell,
)
from tests.owner import tamper
from tests.threads import in_threads

__all__ = ["trading"]

COMMITS = pytest.mark.django_db(transaction=True)


def test_a_post_only_order_rests_or_is_refused(trading: Trading, partner: Ask):
    placed(trading.token, sell(trading.seller, 10, 100))
    order = trading.order(trading.buyer, "BUY", 1, 100, postOnly=True)
    refused = once(partner, PLACE, **order)
    assert refused.code == "WOULD_TRADE"
    assert refused.errors[0]["extensions"]["bestPrice"] == 100
    checked = partner(CHECK, {"input": order}).data["checkOrder"]
    assert (checked["allowed"], checked["code"]) == (False, "WOULD_TRADE")
    assert purse(trading.buyer) == (100_000, 0)
    rests = once(partner, PLACE, **order | {"limitPrice": 99}).data["placeOrder"]
    assert (rests["order"]["status"], rests["executions"]) == ("OPEN", [])
    # Without it, the same order trades.
    taken = once(partner, PLACE, **order | {"postOnly": False}).data["placeOrder"]
    assert taken["order"]["status"] == "FILLED"
    for time_in_force in ("IOC", "FOK"):
        bad = once(partner, PLACE, **order | {"timeInForce": time_in_force})
        assert bad.code == "BAD_USER_INPUT"
        assert bad.errors[0]["extensions"]["argument"] == "input.postOnly"


def test_a_post_only_amendment_keeps_the_order_where_it_would_trade(
    trading: Trading, partner: Ask
):
    placed(trading.token, sell(trading.seller, 10, 100))
    mine = placed(trading.token, buy(trading.buyer, 2, 98))
    change = {"orderID": f"Order|{mine.pk}", "version": 1, "postOnly": True}
    assert once(partner, AMEND, **change, limitPrice=100).code == "WOULD_TRADE"
    mine.refresh_from_db()
    assert (mine.limit_price, mine.version, mine.filled) == (98, 1, 0)
    assert once(partner, AMEND, **change, limitPrice=99).data
    free = change | {"version": 2, "postOnly": False}
    assert once(partner, AMEND, **free, limitPrice=100).data["amendOrder"]["executions"]


def test_a_post_only_order_in_a_list_leaves_the_others(trading: Trading, partner: Ask):
    sale = trading.order(trading.seller, "SELL", 5, 100)
    token = sale.pop("tokenID")
    bid = sale | {"accountID": f"Account|{trading.buyer.pk}", "side": "BUY"}
    orders = [sale, bid | {"postOnly": True}, bid | {"quantity": 2}]
    results = once(partner, PLACE_EACH, tokenID=token, orders=orders).data
    assert [
        r["code"] or r["order"]["status"] for r in results["placeOrders"]["results"]
    ] == ["OPEN", "WOULD_TRADE", "FILLED"]


def test_a_post_only_order_does_not_meet_its_own_users(db: None):
    token, [account] = new_market(), new_clients(1)
    deposit(account, 10_000)
    give(token, {account: 10})
    placed(token, sell(account, 1, 100))
    [refused] = place(token, buy(account, 1, 100, post_only=True))
    assert isinstance(refused, WouldTrade)
    assert Order.objects.filter(status="OPEN").count() == 1


def limited(account: Account, rate: int | None, value: int | None) -> list[Limits]:
    return [Limits(account.partner_id, rate, value)]


def results_of(token: Any, found: list[Limits], *requests: Any) -> list[str]:
    return codes(market.place_each(token.pk, requests, limits=found))


def test_orders_a_second_are_counted_over_all_markets(db: None):
    tokens, [account, other] = [new_market(), new_market()], new_clients(2)
    for each in (account, other):
        deposit(each, 100_000)
    bids, found = [buy(account, 1, 90)] * 2, limited(account, 3, None)
    assert results_of(tokens[0], found, *bids) == ["OPEN", "OPEN"]
    # However long the test takes, these are of the last second.
    tamper("UPDATE trading_order SET created_at = created_at + interval '1 hour'")
    assert results_of(tokens[1], found, *bids) == ["OPEN", "ORDER_RATE_EXCEEDED"]
    assert results_of(tokens[1], [], *bids) == ["OPEN", "OPEN"]
    tamper("UPDATE trading_order SET created_at = created_at + interval '1 hour'")
    refused = market.check(tokens[0].pk, bids[0], found).refused
    assert isinstance(refused, OrderRateExceeded)
    assert refused.details == {"maximum": 3}
    tamper("UPDATE trading_order SET created_at = created_at - interval '1 day'")
    assert results_of(tokens[0], found, *bids) == ["OPEN", "OPEN"]


def test_the_open_value_is_what_rests_with_the_new_order(db: None):
    tokens, [account, seller] = [new_market(), new_market()], new_clients(2)
    deposit(account, 100_000)
    give(tokens[0], {seller: 10})
    found = limited(account, None, 1_000)
    assert results_of(tokens[0], found, buy(account, 6, 100)) == ["OPEN"]
    assert results_of(tokens[1], found, buy(account, 5, 100), buy(account, 4, 100)) == [
        "OPEN_VALUE_EXCEEDED",
        "OPEN",
    ]
    [refused] = market.place_each(tokens[1].pk, [buy(account, 1, 90)], limits=found)
    assert isinstance(refused, OpenValueExceeded)
    assert refused.details == {"maximum": 1_000, "open": 1_000, "required": 90}
    # What trades is no longer open; within a list, too.
    mine = Order.objects.get(token=tokens[0])
    placed(tokens[0], sell(seller, 2, 100))
    assert results_of(tokens[0], found, buy(account, 2, 100)) == ["OPEN"]
    mine.refresh_from_db()
    with pytest.raises(OpenValueExceeded), transaction.atomic():
        market.amend(mine.pk, 1, account.partner.login, quantity=7, limits=found)
    smaller = market.amend(mine.pk, 1, account.partner.login, quantity=3, limits=found)
    assert smaller.kept_priority


@COMMITS
def test_the_open_value_is_exact_where_orders_come_at_once():
    tokens = [new_market() for _ in range(4)]
    [account] = new_clients(1)
    deposit(account, 1_000_000)
    found = limited(account, None, 1_000)
    told: list[str] = []

    def work(number: int) -> None:
        for _ in range(5):
            told.extend(results_of(tokens[number % 4], found, buy(account, 1, 100)))

    assert in_threads(8, work) == []
    assert sorted(told) == ["OPEN"] * 10 + ["OPEN_VALUE_EXCEEDED"] * 30


@COMMITS
def test_orders_of_others_do_not_wait_for_a_limit():
    token, [account], [other] = new_market(), new_clients(1), new_clients(1)
    deposit(other, 1_000)
    told: list[str] = []

    def work(number: int) -> None:
        told.extend(results_of(token, limited(other, 9, 900), buy(other, 1, 90)))

    with transaction.atomic():
        limits.taken(limited(account, 1, None), holds=True)
        assert in_threads(1, work) == []
    assert told == ["OPEN"]


def test_staff_set_limits_that_partners_see(world: World, trading: Trading):
    query = "{ viewer { orderLimits { ordersPerSecond openValue } } }"
    ask = Ask(approved_key(world.partner, list(Scope))[1])
    assert ask(query).data["viewer"]["orderLimits"] is None
    world.partner.orders_per_second, world.partner.open_value_limit = 2, 150
    world.partner.save()
    ask = Ask(approved_key(world.partner, list(Scope))[1])
    assert ask(query).data["viewer"]["orderLimits"] == {
        "ordersPerSecond": 2, "openValue": 150,
    }  # fmt: skip
    order = trading.order(trading.buyer, "BUY", 2, 100)
    assert once(ask, PLACE, **order).code == "OPEN_VALUE_EXCEEDED"
    assert partner_checks(ask, order) == "OPEN_VALUE_EXCEEDED"
    assert once(ask, PLACE, **order | {"quantity": 1}).data
    cheap = trading.order(trading.buyer, "BUY", 1, 81)
    assert once(ask, PLACE, **cheap).code == "OPEN_VALUE_EXCEEDED"
    as_committed()


def partner_checks(ask: Ask, order: dict[str, Any]) -> str:
    code: str = ask(CHECK, {"input": order}).data["checkOrder"]["code"]
    return code


ACTIVITY = """
query ($id: ID!) { token(id: $id) { market { orderToTrade { orders trades ratio } } } }
"""


def test_orders_and_trades_of_today_are_told_for_each_market(
    trading: Trading, partner: Ask
):
    token = {"id": f"Token|{trading.token.pk}"}

    def told(ask: Ask) -> dict[str, Any]:
        shown: dict[str, Any] = ask(ACTIVITY, token).data["token"]["market"]
        return shown["orderToTrade"]

    nothing = {"orders": 0, "trades": 0, "ratio": None}
    assert told(partner) == nothing
    place(new_market(), buy(trading.buyer, 1, 99))
    assert told(partner) == nothing
    mine = placed(trading.token, sell(trading.seller, 10, 99))
    market.amend(mine.pk, 1, mine.partner.login, quantity=9)
    ended = placed(trading.token, buy(trading.buyer, 1, 98))
    market.cancel_each(trading.token.pk, [ended.pk], "BY_PARTNER", mine.partner.login)
    assert told(partner) == nothing | {"orders": 4}
    # Both sides of the trade are its clients': two fills.
    placed(trading.token, buy(trading.buyer, 4, 101))
    assert told(partner) == {"orders": 5, "trades": 2, "ratio": 1.5}
    other = Ask(approved_key(new_partner(), list(Scope))[1])
    assert told(other) == nothing
    blind = Ask(approved_key(new_partner(), [Scope.MARKETDATA_READ])[1])
    assert blind(ACTIVITY, token).code == "FORBIDDEN"
    tamper("UPDATE trading_order SET created_at = created_at - interval '1 day'")
    assert told(partner) == nothing
