"""Clients of the sandbox place orders in calls, too."""

from random import Random

import pytest

from accounts.keys.models import Partner
from marketdata.replay import own_book
from marketdata.replay.own_book import OwnBook
from marketdata.trading.models import Execution, Market, Order
from tests.marketdata.trading.test_calls import breaches, call, end_call, phase_of
from tests.marketdata.trading.trading import deposit, give, new_clients, new_market


@pytest.mark.django_db
def test_clients_place_orders_in_a_call_and_the_oldest_leave():
    token = new_market(1_000)
    partner = Partner.objects.create(login=own_book.PARTNER, name="Clients")
    clients = new_clients(6, partner)
    give(token, dict.fromkeys(clients, 10_000))
    for client in clients:
        deposit(client, 100_000_000)
    call(token)
    book = OwnBook(token.pk, Random(1))
    for _ in range(6):
        assert book.go_on(10).orders >= 10
    open_orders = Order.objects.filter(token=token, status="OPEN")
    assert open_orders.count() == own_book.MOST_IN_CALL
    assert {*open_orders.values_list("side", flat=True)} == {0, 1}
    assert not Execution.objects.exists()
    end_call(token)
    assert phase_of(token) == "CONTINUOUS"
    assert Execution.objects.filter(token=token).exists()
    market = Market.objects.get(token=token)
    assert abs(market.reference_price - 1_000) < 50
    assert breaches() == []
