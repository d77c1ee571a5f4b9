"""Clearly erroneous trades, by numbers worked by hand."""

from datetime import timedelta

import pytest

from marketdata.trading import erroneous
from marketdata.trading.models import Execution
from partnerapi.staff.approvals.kinds import KINDS
from tests.marketdata.trading.test_operating import Traded, approved, staff

__all__ = ["staff"]


@pytest.mark.parametrize(
    ("before", "just_far", "not_yet"),
    [
        (100, 110, 109),
        (100, 90, 91),
        (2_500, 2_750, 2_749),
        (2_501, 2_627, 2_626),
        (5_000, 4_750, 4_751),
        (5_001, 5_152, 5_151),
        (10_000, 10_300, 10_299),
    ],
)
def test_the_distance_of_a_band_counts_from_the_price_before(before, just_far, not_yet):
    assert erroneous.is_far(just_far, before)
    assert not erroneous.is_far(not_yet, before)


def test_the_approver_of_a_bust_sees_the_distance_and_what_the_rule_says(staff: None):
    traded = Traded()
    of_rule, not_of_rule = (
        KINDS["BUST"].preview(approved(traded.bust(trade, "--request")))
        for trade in ("2", "1")
    )
    row = ("Distance from the price before", "", "10.0 % from €1.00")
    assert row in of_rule.rows
    assert len(of_rule.warnings) == 1
    # The first trade has the reference price before it.
    said = "Not clearly erroneous: the price is less than 10 % from the price before."
    assert said in not_of_rule.warnings


def test_a_bust_is_requested_within_thirty_minutes(db: None):
    traded = Traded()
    trade = Execution.objects.get(token=traded.token, sequence=2)
    assert erroneous.beyond(trade, trade.at + timedelta(minutes=30)) == []
    [said] = erroneous.beyond(trade, trade.at + timedelta(minutes=30, microseconds=1))
    assert said.startswith("Requested late")


def test_a_busted_trade_is_no_price_before(one_person: None):
    traded = Traded()
    trade = Execution.objects.get(token=traded.token, sequence=2)
    traded.bust("1")
    assert erroneous.price_before(trade) == traded.token.market.reference_price
