import pytest

from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    codes,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    purse,
    sell,
    units,
)


@pytest.fixture
def one(db):
    pass


def test_two_orders_meet_and_settle(db):
    token = new_market()
    a, b = new_clients(2)
    deposit(a, 10_000)
    give(token, {b: 50})
    assert codes(place(token, sell(b, 10, 101), sell(b, 10, 100))) == ["OPEN", "OPEN"]
    as_committed()
    assert codes(place(token, buy(a, 15, 101))) == ["FILLED"]
    as_committed()
    assert purse(a) == (10_000 - 1000 - 505, 0)
    assert purse(b) == (1505, 0)
    assert units(token, a) == (15, 0)
    assert units(token, b) == (35, 5)
