"""Omissions and falsifications of a writer that the database refuses."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.accounts.models import Account
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.register import writer
from marketdata.trading import judging, market, phases, placing
from marketdata.trading.models import Market, Order, Phase
from tests.approved import asker, desk
from tests.marketdata.trading.test_tampering import Traded, execute, refused
from tests.marketdata.trading.trading import as_committed, buy, place, sell
from tests.owner import tamper

pytestmark = pytest.mark.django_db


@pytest.fixture
def traded() -> Traded:
    return Traded()


def forgotten(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """Make a check of the writer find no error."""
    monkeypatch.setattr(module, name, lambda *arguments: None)


@pytest.mark.parametrize("phase", [Phase.CLOSED, Phase.HALTED])
def test_nothing_trades_outside_its_phase(
    traded: Traded, monkeypatch: pytest.MonkeyPatch, phase: str
):
    phases.change_phase(traded.token.pk, phase, asker(), "why")
    forgotten(monkeypatch, market, "check_phase")
    with refused("while the market is CONTINUOUS"):
        place(traded.token, buy(traded.buyer, 1, 105))


def test_nothing_trades_after_it_expires(
    traded: Traded, monkeypatch: pytest.MonkeyPatch
):
    over = timezone.now() - timedelta(seconds=1)
    tamper(
        f"UPDATE trading_order SET expires_at = '{over}' WHERE id = '{traded.ask.pk}'"
    )
    monkeypatch.setattr(Order, "is_over", lambda order, at: False)
    with refused("have not expired"):
        place(traded.token, buy(traded.buyer, 1, 105))


def test_who_is_suspended_places_nothing(
    traded: Traded, monkeypatch: pytest.MonkeyPatch
):
    traded.buyer.change_status("SUSPENDED", desk(), None)
    forgotten(monkeypatch, placing, "check_active")
    with refused("the rule of account"):
        place(traded.token, buy(traded.buyer, 1, 90))


@pytest.mark.parametrize(
    ("request_of", "rule"),
    [
        (lambda traded: buy(traded.buyer, 99, 100), "cash_reserved_within_balance"),
        (lambda traded: sell(traded.seller, 36, 110), "reserved_within_balance"),
    ],
)
def test_nobody_reserves_more_than_there_is(
    traded: Traded, monkeypatch: pytest.MonkeyPatch, request_of: Any, rule: str
):
    forgotten(monkeypatch, placing, "check_movement")
    with refused(rule):
        place(traded.token, request_of(traded))


@pytest.mark.parametrize(
    ("side", "order", "rule"),
    [("buyer", (buy, 105), "RECEIVER_FROZEN"), ("seller", (sell, 95), "SENDER_FROZEN")],
)
def test_a_frozen_holder_does_not_trade(
    traded: Traded, monkeypatch: pytest.MonkeyPatch, side: str, order: Any, rule: str
):
    # Nothing binds what a transaction has made with its issuer.
    tamper("UPDATE issuers_issuer SET recorded_in = NULL")
    account, (ask, price) = getattr(traded, side), order
    restrictions.restrict(account.user, Terms("FREEZE", "why"), asker())
    as_committed()
    for module in (judging, writer):
        monkeypatch.setattr(module, "refusals", lambda *arguments: [])
    with refused(rule):
        place(traded.token, ask(account, 1, price))


def test_the_one_who_came_first_names_the_price(
    traded: Traded, monkeypatch: pytest.MonkeyPatch
):
    """A buyer would pay its whole limit, as if the seller had come."""
    true = placing.trade

    def falsified(of: Any, taker: Order, maker: Order, quantity: int) -> Any:
        return true(of, maker, taker, quantity)

    monkeypatch.setattr(placing, "trade", falsified)
    with refused():
        place(traded.token, buy(traded.buyer, 1, 115))


def test_a_market_refers_to_its_last_price_and_to_no_other(traded: Traded):
    change = "SELECT trading_change_phase(%s, %s, NULL, NULL, %s, '', %s)"
    token = traded.token.pk
    with refused("to no other: 100"):
        execute(change, [token, "CLOSED", 100, asker()])
    execute(change, [token, "CLOSED", None, asker()])
    for price in (1, 99, 10**6):
        with refused("to no other: 100"):
            execute(change, [token, "CONTINUOUS", price, asker()])
    tamper(f"UPDATE trading_market SET reference_price = 7 WHERE token_id = '{token}'")
    execute(change, [token, "CONTINUOUS", None, asker()])
    assert Market.objects.get(token=token).reference_price == 100


@pytest.mark.parametrize("side", ["buyer", "seller"])
def test_an_account_does_not_leave_active_before_it_traded(traded: Traded, side: str):
    account = getattr(traded, side)
    market.cancel_all(Order.objects.filter(account=account), "BY_STAFF", asker())
    leaving = account.entry(account.Status.SUSPENDED, desk(), "why")
    for at in (account.updated_at, timezone.now()):
        leaving.created_at = at
        with refused("that of others goes on now"):
            Account.objects.write([leaving])
    account.change_status(account.Status.SUSPENDED, desk(), "why")
    as_committed()


def test_the_book_has_no_level_that_no_order_makes(traded: Traded):
    level = """SELECT marketdata_record(token_id, last_sequence, '{1}', '{104}', '{7}',
        '{t}', '{}', '{}', FALSE) FROM marketdata_orderbookhead WHERE token_id = %s"""
    with refused("The book is its open orders"):
        execute(level, [traded.token.pk])


def test_the_tape_has_no_trade_that_no_orders_make(traded: Traded):
    deal = """SELECT marketdata_record(token_id, last_sequence, '{1}', '{105}', '{10}',
        '{t}', '{104}', '{1}', FALSE) FROM marketdata_orderbookhead
        WHERE token_id = %s"""
    with refused("The tape of an internal market holds its executions"):
        execute(deal, [traded.token.pk])
