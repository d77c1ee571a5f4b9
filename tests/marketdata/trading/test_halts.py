"""A halt ends with an auction, on whatever way the market reopens."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction

from marketdata.trading import phases
from marketdata.trading.models import Auction, Execution, Market
from marketdata.trading.phases import PhaseRefused
from partnerapi.core.database import execute
from tests.approved import asker
from tests.marketdata.trading.test_calls import book_of, breaches, call, end_call
from tests.marketdata.trading.test_fixings import trade_by
from tests.marketdata.trading.test_market import Two, two
from tests.marketdata.trading.trading import approved_parameters, buy, placed, sell
from tests.owner import tamper

__all__ = ["two"]
pytestmark = pytest.mark.usefixtures("one_person")
CHANGE = "SELECT trading_change_phase(%s, %s, NULL, NULL, NULL, '', %s)"


def halt(two: Two) -> None:
    phases.change_phase(two.token.pk, "HALTED", asker(), "News")


def market_of(two: Two) -> Market:
    return Market.objects.get(token=two.token)


def test_a_halt_reopens_by_a_call_of_five_minutes(two: Two):
    placed(two.token, sell(two.seller, 10, 100))
    halt(two)
    call(two.token)
    market = market_of(two)
    assert market.next_phase_at
    assert (market.phase, market.next_phase) == ("CALL", "CONTINUOUS")
    assert market.next_phase_at - market.phase_since == timedelta(seconds=270)
    drawn = Auction.objects.get(token=two.token).ends_at - market.next_phase_at
    assert timedelta() <= drawn <= timedelta(seconds=60)
    placed(two.token, buy(two.buyer, 4, 102))
    assert not Execution.objects.exists()
    end_call(two.token)
    assert market_of(two).phase == "CONTINUOUS"
    assert Execution.objects.get().price == 100
    assert book_of(two.token) == ([], [(100, 6)])
    assert breaches() == []


def test_no_halt_ends_without_a_call(two: Two):
    halt(two)
    with pytest.raises(PhaseRefused, match="CALL after a halt"):
        phases.change_phase(two.token.pk, "CONTINUOUS", asker())
    for who in ("market", asker()):
        refused = pytest.raises(DatabaseError, match="does not become CONTINUOUS")
        with refused, transaction.atomic():
            execute(CHANGE, [two.token.pk, "CONTINUOUS", who])


def test_a_market_that_closes_after_a_halt_opens_with_a_call(two: Two):
    halt(two)
    phases.change_phase(two.token.pk, "CLOSED", asker())
    assert market_of(two).next_phase == "CALL"
    # Neither staff nor other parameters lead around it.
    with pytest.raises(PhaseRefused, match="CALL after a halt"):
        phases.change_phase(two.token.pk, "CONTINUOUS", asker())
    approved_parameters(two.token, lot_units=2)
    assert market_of(two).next_phase == "CALL"
    tamper("UPDATE trading_market SET next_phase_at = clock_timestamp()")
    assert phases.move_due() == 1
    assert market_of(two).phase == "CALL"
    end_call(two.token)
    phases.change_phase(two.token.pk, "CLOSED", asker())
    assert market_of(two).next_phase == "CONTINUOUS"
    assert breaches() == []


def test_the_clock_opens_with_a_call_what_was_to_be_continuous(two: Two):
    halt(two)
    phases.change_phase(two.token.pk, "CLOSED", asker())
    tamper(
        "UPDATE trading_market SET next_phase = 'CONTINUOUS',"
        " next_phase_at = clock_timestamp()"
    )
    assert phases.move_due() == 1
    assert market_of(two).phase == "CALL"


def test_a_market_of_fixings_reopens_until_its_next_fixing(two: Two):
    market = trade_by(two.token, "FIXING", 1, 2)
    fixing = market.next_phase_at
    halt(two)
    call(two.token)
    market.refresh_from_db()
    assert (market.phase, market.next_phase_at) == ("CALL", fixing)
