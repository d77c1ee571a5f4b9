"""The clock leads a FIXING market from call to call, and a BOTH market into one."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from issuers.models import Token
from issuers.models.events import Event
from marketdata.trading import phases
from marketdata.trading.models import Execution, Market
from marketdata.trading.phases import PhaseRefused
from partnerapi.core.database import execute
from tests.approved import asker
from tests.characters import Ask
from tests.marketdata.trading.test_calls import OVER, breaches, end_call
from tests.marketdata.trading.test_market import Two, two
from tests.marketdata.trading.test_session_times import MARKET, around
from tests.marketdata.trading.trading import (
    approved_parameters,
    as_committed,
    buy,
    placed,
    sell,
)
from tests.owner import tamper

__all__ = ["two"]


def trade_by(token: Token, model: str, *hours: float, **more: Any) -> Market:
    """The market, closed for a moment, with fixings so many hours from now."""
    phases.change_phase(token.pk, "CLOSED", asker())
    tamper(
        f"UPDATE trading_market SET session_opens = '{around(-2)}',"
        f" session_closes = '{around(-1)}'"
    )
    tamper(
        f"UPDATE trading_marketparameters SET session_opens = '{around(-2)}',"
        f" session_closes = '{around(-1)}'"
    )
    approved_parameters(
        token, model=model, session_opens=around(-1), session_closes=around(4),
        fixings=sorted(map(around, hours)), **more,
    )  # fmt: skip
    tamper(
        "UPDATE trading_marketparameters SET opens_at = valid_from",
        "UPDATE trading_market SET next_phase_at = clock_timestamp()",
    )
    assert phases.move_due() == 1
    as_committed()
    return Market.objects.get(token=token)


def test_a_market_of_fixings_goes_from_call_to_call(two: Two, partner: Ask):
    market = trade_by(two.token, "FIXING", 1, 2)
    assert (market.phase, market.next_phase) == ("CALL", "CALL")
    assert market.next_phase_at
    lasts = market.next_phase_at - market.phase_since
    assert timedelta(minutes=59) <= lasts <= timedelta(minutes=61)
    with pytest.raises(PhaseRefused, match="by fixings"):
        phases.change_phase(two.token.pk, "CONTINUOUS", asker())
    placed(two.token, sell(two.seller, 4, 98))
    placed(two.token, buy(two.buyer, 4, 102, time_in_force="DAY"))
    end_call(two.token)
    assert Execution.objects.count() == 1
    market.refresh_from_db()
    assert (market.phase, market.shows_book) == ("CALL", False)
    told = Event.objects.filter(type="MARKET_PHASE_CHANGED").order_by("sequence")
    last = told.filter(partner_id=two.buyer.partner_id).last()
    assert last
    assert (last.reason, last.price, last.quantity) == ("CALL", 100, 4)
    shown = partner(MARKET, {"id": f"Token|{two.token.pk}"}).data["token"]["market"]
    assert (shown["phase"], shown["nextPhase"]) == ("CALL", "CALL")
    assert breaches() == []


def test_after_the_last_fixing_the_market_closes_until_the_next_session(two: Two):
    trade_by(two.token, "FIXING", 1)
    tamper(
        f"UPDATE trading_marketparameters SET fixings = ARRAY['{around(-0.5)}'::time]"
        " WHERE model = 'FIXING'",
        f"UPDATE trading_market SET fixings = ARRAY['{around(-0.5)}'::time]",
    )
    end_call(two.token)
    market = Market.objects.get(token=two.token)
    assert (market.phase, market.next_phase) == ("CLOSED", "CALL")
    assert market.next_phase_at == market.session.next_open(market.phase_since)
    assert phases.move_due() == 0
    with pytest.raises(PhaseRefused, match="fixings"):
        phases.change_phase(two.token.pk, "CONTINUOUS", asker())
    assert breaches() == []


def test_parameters_of_the_session_open_a_market_that_its_last_fixing_closed(two: Two):
    trade_by(two.token, "FIXING", 1)
    made = approved_parameters(
        two.token, session_opens=around(2), fixings=[around(3)], lot_units=10
    )
    tamper(
        f"UPDATE trading_marketparameters SET fixings = ARRAY['{around(-0.5)}'::time]"
        " WHERE model = 'FIXING' AND lot_units = 1",
        f"UPDATE trading_market SET fixings = ARRAY['{around(-0.5)}'::time]",
    )
    end_call(two.token)
    market = Market.objects.get(token=two.token)
    assert made.valid_from > market.phase_since
    assert (market.phase, market.next_phase) == ("CLOSED", "CALL")
    assert (market.next_phase_at, market.lot_units) == (made.opens_at, 10)
    assert breaches() == []


def test_a_continuous_market_with_fixings_calls_five_minutes_before(two: Two):
    market = trade_by(two.token, "BOTH", 1)
    assert (market.phase, market.next_phase) == ("CONTINUOUS", "CALL")
    assert market.next_phase_at
    begins = market.next_phase_at
    placed(two.token, sell(two.seller, 4, 98))
    tamper("UPDATE trading_market SET next_phase_at = clock_timestamp()")
    # An order that comes before the clock begins the call.
    order = placed(two.token, buy(two.buyer, 4, 102))
    as_committed()
    market.refresh_from_db()
    assert (order.status, market.phase) == ("OPEN", "CALL")
    assert market.next_phase_at == begins + timedelta(minutes=5)
    end_call(two.token)
    market.refresh_from_db()
    assert market.phase == "CONTINUOUS"
    assert Execution.objects.count() == 1
    assert breaches() == []


def test_a_call_that_ends_just_before_a_fixing_does_not_pass_it_by(two: Two):
    trade_by(two.token, "BOTH", 0.2, 1)
    placed(two.token, sell(two.seller, 4, 115))
    placed(two.token, buy(two.buyer, 4, 116))
    fixing = f"ARRAY['{around(0.06)}'::time]"
    tamper(
        f"UPDATE trading_marketparameters SET fixings = {fixing} WHERE model = 'BOTH'",
        f"UPDATE trading_market SET fixings = {fixing}",
    )
    end_call(two.token)
    market = Market.objects.get(token=two.token)
    assert (market.phase, market.next_phase) == ("CONTINUOUS", "CALL")
    assert market.next_phase_at == market.phase_since
    assert phases.move_due() == 1
    market.refresh_from_db()
    assert market.phase == "CALL"
    assert market.next_phase_at
    assert market.next_phase_at - market.phase_since < timedelta(minutes=4.5)
    assert breaches() == []


def test_a_session_that_ended_before_its_call_began_closes_the_market(two: Two):
    trade_by(two.token, "BOTH", 1)
    order = placed(two.token, sell(two.seller, 4, 98, time_in_force="DAY"))
    as_committed()
    hours = (
        f"session_opens = '{around(-5)}', session_closes = '{around(-1)}',"
        f" fixings = ARRAY['{around(-2)}'::time]"
    )
    tamper(
        f"UPDATE trading_market SET {hours},"
        " next_phase_at = clock_timestamp() - interval '2 hours',"
        " session_ends_at = clock_timestamp() - interval '1 hour'",
        f"UPDATE trading_marketparameters SET {hours} WHERE model = 'BOTH'",
        "UPDATE trading_order SET expires_at = clock_timestamp()",
    )
    assert phases.move_due() == 1
    as_committed()
    market = Market.objects.get(token=two.token)
    order.refresh_from_db()
    assert (market.phase, market.next_phase) == ("CLOSED", "CONTINUOUS")
    assert order.status == "EXPIRED"
    assert breaches() == []


def test_the_clock_alone_ends_a_call(two: Two):
    trade_by(two.token, "FIXING", 1)
    tamper(OVER)
    change = "SELECT trading_change_phase(%s, 'CALL', NULL, NULL, NULL, '', %s)"
    for who in ("market", asker()):
        refused = pytest.raises(DatabaseError, match="clock|by its auction")
        with refused, transaction.atomic():
            execute(change, [two.token.pk, who])
