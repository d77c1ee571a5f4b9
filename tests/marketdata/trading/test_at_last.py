"""After the auction of a fixing orders trade at its price, for some minutes."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from accounts.keys.models import Partner
from issuers.models.events import Event
from marketdata.replay.own_book import PARTNER, OwnBook
from marketdata.trading import busts, judging, market, phases, placing
from marketdata.trading.errors import MarketClosed, OnlyAuctionPrice
from marketdata.trading.models import Execution, Market, OrderEvent
from marketdata.trading.replay import replay
from partnerapi.core.database import execute
from tests.approved import asker
from tests.characters import Ask
from tests.marketdata.trading.test_calls import (
    book_of,
    breaches,
    call,
    end_call,
    phase_of,
)
from tests.marketdata.trading.test_fixings import trade_by
from tests.marketdata.trading.test_market import Two, two
from tests.marketdata.trading.test_session_times import MARKET, around
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    codes,
    deposit,
    give,
    new_clients,
    place,
    placed,
    purse,
    sell,
    units,
)
from tests.owner import tamper

__all__ = ["two"]
MINUTES = timedelta(minutes=10)
DUE = "UPDATE trading_market SET next_phase_at = clock_timestamp()"


def auction(two: Two) -> None:
    """Four units trade at 98; six more are offered there, and others rest beside."""
    placed(two.token, sell(two.seller, 10, 98))
    placed(two.token, buy(two.buyer, 4, 102))
    placed(two.token, buy(two.buyer, 3, 95))
    placed(two.token, sell(two.seller, 2, 110))
    end_call(two.token)


def at_last(
    two: Two, model: str = "FIXING", hours: tuple[float, ...] = (1, 2), **more: Any
) -> Market:
    trade_by(two.token, model, *hours, **{"at_last_minutes": 10, **more})
    if model == "BOTH":
        tamper(DUE)
        assert phases.move_due() == 1
    auction(two)
    return Market.objects.get(token=two.token)


def test_after_a_fixing_orders_trade_at_its_price_alone(two: Two, partner: Ask):
    found = at_last(two)
    assert (found.phase, found.next_phase) == ("AT_LAST", "CALL")
    assert found.next_phase_at == found.phase_since + MINUTES
    assert (found.reference_price, found.last_price) == (98, 98)
    shown = [(95, 3)], [(98, 6), (110, 2)]
    assert book_of(two.token) == shown
    told = partner(MARKET, {"id": f"Token|{two.token.pk}"}).data["token"]["market"]
    assert (told["phase"], told["nextPhase"]) == ("AT_LAST", "CALL")
    [event] = Event.objects.filter(
        type="MARKET_PHASE_CHANGED", reason="AT_LAST", partner=two.buyer.partner_id
    )
    assert (event.price, event.quantity) == (98, 4)
    for request in (
        buy(two.buyer, 1, 97), buy(two.buyer, 1, 99), sell(two.seller, 1, 110),
        buy(two.buyer, 1, 130), sell(two.seller, 1, 99, time_in_force="IOC"),
    ):  # fmt: skip
        refusal = two.refusal(request)
        assert (refusal.code, refusal.details) == ("ONLY_AUCTION_PRICE", {"price": 98})
        refused = market.check(two.token.pk, request).refused
        assert isinstance(refused, OnlyAuctionPrice)
    assert book_of(two.token) == shown
    bought = placed(two.token, buy(two.buyer, 2, 98))
    assert (bought.status, bought.filled_value) == ("FILLED", 196)
    last = Execution.objects.latest("sequence")
    assert (last.price, last.quantity, last.aggressor) == (98, 2, 0)
    assert book_of(two.token) == ([(95, 3)], [(98, 4), (110, 2)])
    assert units(two.token, two.buyer) == (6, 0)
    assert purse(two.buyer) == (10_000 - 6 * 98, 3 * 95)
    assert purse(two.seller) == (6 * 98, 0)
    as_committed()
    assert breaches() == []


def test_at_the_price_older_orders_trade_first(two: Two):
    at_last(two)
    [other] = new_clients(1, two.seller.partner)
    give(two.token, {other: 20})
    younger = placed(two.token, sell(other, 5, 98))
    taken = placed(two.token, buy(two.buyer, 8, 98))
    younger.refresh_from_db()
    assert (taken.status, younger.filled) == ("FILLED", 2)
    fills = Execution.objects.order_by("sequence").values_list("quantity", flat=True)
    assert [*fills] == [4, 6, 2]
    results = place(
        two.token,
        buy(two.buyer, 4, 98, time_in_force="FOK"),
        buy(two.buyer, 4, 98, time_in_force="IOC"),
        buy(two.buyer, 5, 98, time_in_force="DAY"),
    )
    assert codes(results) == ["CANCELLED", "CANCELLED", "OPEN"]
    refusal = two.refusal(sell(other, 1, 98, post_only=True))
    assert refusal.code == "WOULD_TRADE"
    assert book_of(two.token) == ([(98, 5), (95, 3)], [(110, 2)])
    as_committed()
    assert breaches() == []


def test_orders_are_amended_to_the_price_alone(two: Two):
    at_last(two)
    rest = two.buyer.orders.get(limit_price=95)
    login = rest.partner.login
    for wanted in ({"limit_price": 97}, {"quantity": 2}, {"quantity": 5}):
        with pytest.raises(OnlyAuctionPrice):
            market.amend(rest.pk, 1, login, **wanted)
    amended = market.amend(rest.pk, 1, login, limit_price=98)
    assert (amended.order.status, amended.order.filled_value) == ("FILLED", 294)
    offer = two.seller.orders.get(limit_price=98)
    assert market.amend(offer.pk, 1, login, quantity=9).kept_priority
    off = two.seller.orders.get(limit_price=110)
    market.cancel_each(two.token.pk, [off.pk], "BY_PARTNER", login)
    assert book_of(two.token) == ([], [(98, 2)])
    as_committed()
    assert breaches() == []


def test_an_order_that_meets_its_own_user_is_cancelled(two: Two):
    at_last(two)
    deposit(two.seller, 1_000)
    order = placed(two.token, buy(two.seller, 2, 98))
    assert (order.status, order.status_reason) == ("CANCELLED", "SELF_TRADE")
    assert book_of(two.token) == ([(95, 3)], [(98, 6), (110, 2)])
    as_committed()
    assert breaches() == []


@pytest.mark.parametrize("by_clock", [True, False])
def test_the_clock_begins_the_next_call_or_an_order_that_comes_first(
    two: Two, by_clock: bool
):
    at_last(two)
    tamper(DUE)
    if by_clock:
        assert phases.move_due() == 1
        assert phases.move_due() == 0
    assert market.check(two.token.pk, buy(two.buyer, 1, 99)).refused is None
    order = placed(two.token, buy(two.buyer, 1, 99))
    found = Market.objects.get(token=two.token)
    assert (order.status, found.phase, found.shows_book) == ("OPEN", "CALL", False)
    assert book_of(two.token) == ([], [])
    end_call(two.token)
    assert phase_of(two.token) == "AT_LAST"
    as_committed()
    assert breaches() == []


def test_without_a_price_there_is_no_such_phase(two: Two):
    trade_by(two.token, "FIXING", 1, 2, at_last_minutes=10)
    placed(two.token, sell(two.seller, 10, 98))
    end_call(two.token)
    assert phase_of(two.token) == "CALL"
    auction(two)
    tamper(DUE)
    phases.move_due()
    end_call(two.token)
    assert phase_of(two.token) == "CALL"
    assert breaches() == []


def test_a_continuous_market_goes_on_after_it(two: Two):
    found = at_last(two, "BOTH")
    assert (found.phase, found.next_phase) == ("AT_LAST", "CONTINUOUS")
    assert found.next_phase_at == found.phase_since + MINUTES
    tamper(DUE)
    assert codes(place(two.token, buy(two.buyer, 2, 99))) == ["FILLED"]
    assert phase_of(two.token) == "CONTINUOUS"
    # A call that staff begin is no fixing.
    call(two.token)
    placed(two.token, buy(two.buyer, 2, 99))
    end_call(two.token)
    assert phase_of(two.token) == "CONTINUOUS"
    assert breaches() == []


def test_the_auction_of_an_interruption_is_no_fixing(two: Two):
    trade_by(two.token, "BOTH", 1, at_last_minutes=10)
    results = place(two.token, sell(two.seller, 2, 115), buy(two.buyer, 2, 116))
    assert (codes(results), phase_of(two.token)) == (["OPEN", "OPEN"], "CALL")
    end_call(two.token)
    assert Execution.objects.count() == 1
    assert phase_of(two.token) == "CONTINUOUS"
    assert breaches() == []


@pytest.mark.parametrize("model", ["FIXING", "BOTH"])
def test_it_ends_five_minutes_before_the_next_fixing(two: Two, model: str):
    # Times of day are whole seconds in these parameters.
    found = at_last(two, model, (0.2, 1))
    assert (found.phase, found.next_phase) == ("AT_LAST", "CALL")
    assert found.next_phase_at
    left = found.next_phase_at - found.phase_since
    assert timedelta(minutes=5) < left < timedelta(minutes=8)
    tamper(DUE)
    assert phases.move_due() == 1
    called = Market.objects.get(token=two.token)
    assert called.phase == "CALL"
    assert called.next_phase_at == found.next_phase_at + timedelta(minutes=5)


def test_it_ends_with_the_session(two: Two):
    trade_by(two.token, "FIXING", 1, at_last_minutes=10)
    tamper(
        "UPDATE trading_market SET session_ends_at = clock_timestamp()"
        " + interval '3 minutes'"
    )
    auction(two)
    found = Market.objects.get(token=two.token)
    assert (found.phase, found.next_phase) == ("AT_LAST", "CLOSED")
    assert found.next_phase_at == found.session_ends_at


def test_after_the_last_fixing_it_closes_the_market(two: Two):
    trade_by(two.token, "FIXING", 1, at_last_minutes=10)
    tamper(
        f"UPDATE trading_marketparameters SET fixings = ARRAY['{around(-0.5)}'::time]"
        " WHERE model = 'FIXING'",
        f"UPDATE trading_market SET fixings = ARRAY['{around(-0.5)}'::time]",
    )
    auction(two)
    found = Market.objects.get(token=two.token)
    assert (found.phase, found.next_phase) == ("AT_LAST", "CLOSED")
    assert found.next_phase_at == found.phase_since + MINUTES
    day = placed(two.token, buy(two.buyer, 7, 98, time_in_force="DAY"))
    assert day.expires_at == found.session_ends_at
    tamper(DUE)
    with pytest.raises(MarketClosed) as trial:
        market.check(two.token.pk, buy(two.buyer, 1, 98))
    assert trial.value.details["phase"] == "CLOSED"
    with pytest.raises(MarketClosed):
        place(two.token, buy(two.buyer, 1, 98))
    found.refresh_from_db()
    assert (found.phase, found.next_phase) == ("CLOSED", "CALL")
    assert found.next_phase_at == found.session.next_open(found.phase_since)
    assert phases.move_due() == 0
    as_committed()
    assert breaches() == []


def test_partners_read_what_follows_before_the_clock_has_moved(two: Two, partner: Ask):
    def told() -> tuple[str, datetime]:
        market_ = partner(MARKET, {"id": f"Token|{two.token.pk}"}).data["token"]
        return market_["market"]["phase"], market_["market"]["nextPhase"]

    at_last(two)
    tamper(DUE)
    assert told() == ("CALL", "CONTINUOUS")
    tamper("UPDATE trading_market SET next_phase = 'CLOSED'")
    assert told()[0] == "CLOSED"


def test_it_is_halted_and_reopens_by_a_call(two: Two, one_person: None):
    at_last(two)
    phases.change_phase(two.token.pk, "HALTED", asker(), "News")
    with pytest.raises(MarketClosed):
        place(two.token, buy(two.buyer, 2, 98))
    tamper(DUE.replace("clock_timestamp()", "NULL"))
    phases.change_phase(two.token.pk, "CALL", asker(), "News is out")
    placed(two.token, buy(two.buyer, 2, 99))
    end_call(two.token)
    assert phase_of(two.token) == "AT_LAST"
    assert breaches() == []


def test_staff_close_it_and_do_not_begin_it(two: Two):
    at_last(two)
    with pytest.raises(phases.PhaseRefused):
        phases.change_phase(two.token.pk, "CONTINUOUS", asker())
    phases.change_phase(two.token.pk, "CLOSED", asker())
    for phase in ("CALL", "CLOSED"):
        if phase == "CALL":
            call(two.token)
        with pytest.raises(phases.PhaseRefused):
            phases.change_phase(two.token.pk, "AT_LAST", asker())
        with pytest.raises(DatabaseError), transaction.atomic():
            execute(CHANGE, [two.token.pk, asker()])
    assert breaches() == []


CHANGE = "SELECT trading_change_phase(%s, 'AT_LAST', NULL, NULL, NULL, '', %s)"


def test_the_price_stays_where_trades_are_busted(two: Two, one_person: None):
    at_last(two)
    tamper("UPDATE trading_market SET dynamic_band_bps = 1")
    tamper("UPDATE trading_marketparameters SET dynamic_band_bps = 1")
    busts.bust(two.token.pk, 1, "Oops", asker(), "")
    assert codes(place(two.token, buy(two.buyer, 2, 98))) == ["FILLED"]
    assert two.refusal(buy(two.buyer, 2, 100)).code == "ONLY_AUCTION_PRICE"
    as_committed()
    assert breaches() == []


def test_the_database_takes_no_other_price(two: Two, monkeypatch: pytest.MonkeyPatch):
    at_last(two)
    rest = two.buyer.orders.get(limit_price=95)
    for module in (judging, placing):
        monkeypatch.setattr(module, "check_limit", lambda *order: None)
    for attempt in (
        lambda: place(two.token, buy(two.buyer, 1, 97)),
        lambda: market.amend(rest.pk, 1, rest.partner.login, limit_price=97),
    ):
        with pytest.raises(DatabaseError, match="auction price"), transaction.atomic():
            attempt()


def test_the_replay_knows_the_price(two: Two):
    at_last(two)
    placed(two.token, buy(two.buyer, 2, 98))
    as_committed()
    last = OrderEvent.objects.filter(token=two.token, kind="ORDER_ACCEPTED").latest(
        "number"
    )
    assert [*replay(two.token.pk)] == []
    tamper(f"UPDATE trading_orderevent SET price = 99 WHERE number = {last.number}")
    [wrong] = replay(two.token.pk)
    assert "trades at 98" in wrong


def test_only_markets_with_fixings_have_it(two: Two):
    with pytest.raises(IntegrityError, match="at_last"), transaction.atomic():
        tamper("UPDATE trading_marketparameters SET at_last_minutes = 10")


def test_clients_of_the_sandbox_trade_at_the_price(two: Two):
    at_last(two)
    clients = new_clients(6, Partner.objects.create(login=PARTNER, name="Clients"))
    give(two.token, dict.fromkeys(clients, 10_000))
    for client in clients:
        deposit(client, 1_000_000)
    happened = OwnBook(two.token.pk, Random(1)).go_on(20)
    assert happened.orders > 10
    assert happened.trades
    assert {*Execution.objects.values_list("price", flat=True)} == {98}
    as_committed()
    assert breaches() == []
