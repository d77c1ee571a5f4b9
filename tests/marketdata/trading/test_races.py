"""Many at once want the same units, the same cash, or to freeze who trades."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.cash import lock_heads
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from marketdata.trading import market
from marketdata.trading.models import Order
from marketdata.trading.verification import INVARIANTS, verify
from partnerapi.core.invariants import kept
from tests.marketdata.trading.races import STOPS, Race
from tests.marketdata.trading.trading import (
    buy,
    cash_of,
    codes,
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
    place,
    purse,
    sell,
    units,
)
from tests.waiting import until_waiting_for_a_lock

AT_ONCE = 8
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_locks", "one_person"),
]


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """What the calls answer, which threads with connections of their own make."""

    def made(call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(made, calls))


def broken() -> list[Any]:
    return [finding for finding in kept(INVARIANTS) if finding.breaches]


def test_the_same_units_are_sold_once():
    token, other = new_market(), new_partner()
    [seller] = new_clients(1)
    [again] = new_clients(1, other, [seller.user])
    give(token, {seller: 100})
    said = at_once(
        [
            lambda n=n: codes(place(token, sell([seller, again][n % 2], 10, 100)))
            for n in range(40)
        ]
    )
    assert sorted(sum(said, [])) == ["INSUFFICIENT_UNITS"] * 30 + ["OPEN"] * 10
    assert units(token, seller) == (100, 100)
    assert broken() == []


def test_the_same_cash_is_spent_once_over_all_markets():
    tokens = [new_market(), new_market()]
    sellers = new_clients(2)
    [buyer] = new_clients(1)
    deposit(buyer, 100_000)
    for token, seller in zip(tokens, sellers, strict=True):
        give(token, {seller: 1_000})
        place(token, sell(seller, 1_000, 100))
    said = at_once(
        [
            lambda n=n: codes(place(tokens[n % 2], buy(buyer, 100, 100)))
            for n in range(40)
        ]
    )
    assert sorted(sum(said, [])) == ["FILLED"] * 10 + ["INSUFFICIENT_FUNDS"] * 30
    assert purse(buyer) == (0, 0)
    assert broken() == []


def test_an_order_of_one_client_id_is_taken_once_over_all_markets():
    tokens = [new_market(), new_market()]
    [buyer] = new_clients(1)
    deposit(buyer, 100_000)
    one = buy(buyer, 1, 100, client_order_id="once")
    said = at_once([lambda n=n: codes(place(tokens[n % 2], one)) for n in range(16)])
    assert sorted(sum(said, [])) == ["DUPLICATE_CLIENT_ORDER_ID"] * 15 + ["OPEN"]


def test_nobody_trades_after_a_freeze_a_suspension_or_a_rule():
    race = Race()
    race.run(6)
    assert race.traded() == race.left_open == dict.fromkeys(STOPS, 0)
    assert any(race.ended().values())
    assert [found for found in verify() if found.breaches] == []


@pytest.mark.parametrize("how", ["kill switch", "freeze"])
def test_ending_orders_of_several_markets_locks_cash_in_one_order(how: str):
    """Otherwise who places for both accounts, on a third market, meets a deadlock."""
    tokens = sorted([new_market(), new_market()], key=lambda token: token.pk)
    partner = new_partner()
    [first] = new_clients(1, partner)
    [second] = new_clients(1, new_partner(), [first.user])
    for account in (first, second):
        deposit(account, 1_000)
    [low, high] = sorted([first, second], key=cash_of)
    # The market that comes first holds the cash that comes last.
    for token, account in zip(tokens, (high, low), strict=True):
        assert codes(place(token, buy(account, 1, 100))) == ["OPEN"]

    def end() -> None:
        if how == "freeze":
            restrictions.restrict(first.user, Terms("FREEZE", "why"), "staff")
        else:
            market.cancel_all(Order.objects.all(), "BY_STAFF", "staff")

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            lock_heads([cash_of(low)])
            ended = pool.submit(at_once, [end])
            until_waiting_for_a_lock()
            lock_heads([cash_of(high)])
        ended.result()
    assert not Order.objects.filter(status="OPEN").exists()
