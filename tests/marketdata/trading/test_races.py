"""Many at once want the same units, the same cash, or to freeze who trades."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.cash import lock_heads
from accounts.models import Account, Actor
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.register.models import LedgerTransaction
from marketdata.trading import market
from marketdata.trading.models import Order
from marketdata.trading.verification import INVARIANTS, verify
from partnerapi.core.invariants import kept
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


def test_nobody_trades_after_a_freeze_or_a_suspension():
    tokens = [new_market(), new_market()]
    clients = new_clients(6)
    for client in clients:
        deposit(client, 10**7)
    for token in tokens:
        give(token, dict.fromkeys(clients, 10_000))
    times: dict[Account, Any] = {}
    lock = threading.Lock()

    def trade(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(15):
            requests = [
                dice.choice([buy, sell])(
                    dice.choice(clients), dice.randint(1, 9), dice.randint(98, 102)
                )
                for _ in range(4)
            ]
            place(dice.choice(tokens), *requests)

    def stop(client: Account, is_frozen: bool) -> None:
        if is_frozen:
            restrictions.restrict(client.user, Terms("FREEZE", "why"), "staff")
        else:
            client.change_status(
                "SUSPENDED", Actor("staff", is_staff=True), None, timezone.now()
            )
        with lock:
            times[client] = timezone.now()

    stops = [lambda n=n: stop(clients[n], n % 2 == 0) for n in range(4)]
    trades = [lambda n=n: trade(n) for n in range(6)]
    at_once([*trades[:3], *stops, *trades[3:]])
    for client, stopped in times.items():
        own = Order.objects.filter(account=client)
        assert not own.filter(status="OPEN").exists()
        ids = own.values_list("ledger_account", flat=True)
        late = LedgerTransaction.objects.filter(kind="TRADE", effective_at__gt=stopped)
        assert not late.filter(source__in=ids).exists()
        assert not late.filter(target__in=ids).exists()
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
