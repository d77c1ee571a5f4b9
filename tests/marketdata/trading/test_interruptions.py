"""A trade outside the bands does not happen: the market goes to a call, by itself."""

import re
from random import Random
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from issuers.models.events import Event
from marketdata.books.collar import collar
from marketdata.trading import market, placing
from marketdata.trading.market import Placed
from marketdata.trading.models import Auction, Execution, Market, Order, OrderEvent
from partnerapi.core.errors import PartnerAPIError
from tests.marketdata.trading.test_calls import book_of, breaches, end_call, phase_of
from tests.marketdata.trading.test_market import Two, two
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    codes,
    deposit,
    give,
    place,
    placed,
    purse,
    sell,
)
from tests.owner import tamper
from tests.sampling import sample
from tests.tiers import count

__all__ = ["two"]


@pytest.fixture
def asks(two: Two) -> list[Order]:
    """Resting sells within the band of 90 to 110, and outside it."""
    limits = (105, 110, 111, 115)
    return [placed(two.token, sell(two.seller, 5, price)) for price in limits]


def test_an_order_trades_inside_the_bands_and_rests(two: Two, asks: list[Order]):
    order = placed(two.token, buy(two.buyer, 20, 115))
    as_committed()
    assert (order.status, order.filled) == ("OPEN", 10)
    assert phase_of(two.token) == "CALL"
    assert book_of(two.token) == ([], [])
    told = Market.objects.get(token=two.token)
    lasts = (told.next_phase_at - told.phase_since).total_seconds()
    drawn = Auction.objects.get(token=two.token).ends_at - told.next_phase_at
    assert (lasts, 0 <= drawn.total_seconds() <= 60) == (270, True)
    assert breaches() == []
    end_call(two.token)
    # 105 and 110 have traded; 111 and 115 trade at one price, nearest the reference.
    trades = Execution.objects.order_by("sequence").values_list("price", flat=True)
    assert [*trades] == [105, 110, 115, 115]
    assert phase_of(two.token) == "CONTINUOUS"
    assert breaches() == []


def test_the_interruption_is_announced_before_the_next_event(
    two: Two, asks: list[Order]
):
    results = place(
        two.token,
        buy(two.buyer, 11, 115),
        sell(two.seller, 1, 90),
        buy(two.buyer, 1, 91, time_in_force="IOC"),
    )
    as_committed()
    assert codes(results) == ["OPEN", "OPEN", "ONLY_RESTING_ORDERS"]
    log = OrderEvent.objects.filter(token=two.token).order_by("number")
    kinds = [*log.values_list("kind", "phase")][-7:]
    assert kinds == [
        ("ORDER_ACCEPTED", None),
        *[("ORDER_TRADED", None)] * 4,
        ("PHASE_CHANGED", "CALL"),
        ("ORDER_ACCEPTED", None),
    ]
    told = Event.objects.filter(partner_id=two.buyer.partner_id).order_by("sequence")
    types = list(told.values_list("type", flat=True))[-7:]
    assert types == [
        "ORDER_ACCEPTED", *["ORDER_TRADED"] * 4, "MARKET_PHASE_CHANGED",
        "ORDER_ACCEPTED",
    ]  # fmt: skip
    assert breaches() == []


@pytest.mark.parametrize(
    ("in_force", "status", "filled", "phase"),
    [("IOC", "CANCELLED", 10, "CALL"), ("FOK", "OUTSIDE_BAND", 0, "CONTINUOUS")],
)
def test_an_order_that_cannot_rest(
    two: Two, asks: list[Order], in_force: str, status: str, filled: int, phase: str
):
    [result] = place(two.token, buy(two.buyer, 20, 115, time_in_force=in_force))
    as_committed()
    assert codes([result]) == [status]
    assert sum(x.quantity for x in Execution.objects.all()) == filled
    assert phase_of(two.token) == phase
    if isinstance(result, PartnerAPIError):
        assert result.details == {"floor": 90, "cap": 110}
    assert breaches() == []


def test_an_amendment_interrupts_too(two: Two, asks: list[Order]):
    order = placed(two.token, buy(two.buyer, 11, 90))
    amended = market.amend(order.pk, 1, order.partner.login, limit_price=112)
    as_committed()
    assert (amended.order.filled, phase_of(two.token)) == (10, "CALL")
    assert purse(two.buyer) == (10_000 - 5 * 105 - 5 * 110, 112)
    assert breaches() == []


def test_a_post_only_order_does_not_interrupt(two: Two):
    placed(two.token, sell(two.seller, 5, 111))
    refusal = two.refusal(buy(two.buyer, 1, 111, post_only=True))
    assert (refusal.code, phase_of(two.token)) == ("WOULD_TRADE", "CONTINUOUS")


def test_the_band_moves_with_the_last_trade_but_not_within_an_order(
    two: Two, asks: list[Order]
):
    [first] = place(two.token, buy(two.buyer, 5, 105))
    # 10 % around 105 is 95 to 115.
    [second] = place(two.token, buy(two.buyer, 15, 115))
    as_committed()
    assert codes([first, second]) == ["FILLED", "FILLED"]
    assert isinstance(second, Placed)
    assert [x.price for x in second.executions] == [110, 111, 115]


def test_the_static_band_is_around_the_reference_price(two: Two, asks: list[Order]):
    # Around 140 it begins at 112, above the resting asks of 105, 110 and 111.
    tamper("UPDATE trading_market SET reference_price = 140, last_price = 110")
    placed(two.token, buy(two.buyer, 5, 112))
    as_committed()
    assert not Execution.objects.exists()
    assert phase_of(two.token) == "CALL"
    assert breaches() == []


def lie(patch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    patch.setattr(placing, name, value)


def test_the_database_trades_nothing_outside_the_bands(
    two: Two, asks: list[Order], monkeypatch: pytest.MonkeyPatch
):
    meet = placing.meet

    def unbound(of: Any, order: Order) -> Any:
        of.book.dynamic_band_bps = of.book.collar_bps = 9_000
        return meet(of, order)

    lie(monkeypatch, "meet", unbound)
    for requests in (
        [buy(two.buyer, 20, 115)],
        [buy(two.buyer, 1, 100), buy(two.buyer, 20, 115)],
    ):
        with pytest.raises(DatabaseError, match="the bands"), transaction.atomic():
            place(two.token, *requests)


def test_the_database_interrupts_no_market_without_need(
    two: Two, asks: list[Order], monkeypatch: pytest.MonkeyPatch
):
    meet = placing.meet

    def timid(of: Any, order: Order) -> Any:
        taker, match = meet(of, order)
        match.is_outside = True
        return taker, match

    lie(monkeypatch, "meet", timid)
    for request in (buy(two.buyer, 1, 100), buy(two.buyer, 5, 105)):
        with pytest.raises(DatabaseError, match="is interrupted"), transaction.atomic():
            place(two.token, request)
    assert phase_of(two.token) == "CONTINUOUS"


LETTERS = {
    "ORDER_TRADED": "T", "ORDER_CANCELLED": "C", "PHASE_CHANGED": "P",
    "MARKET_PHASE_CHANGED": "P",
}  # fmt: skip


@pytest.mark.parametrize("seed", sample(range(20), count(1, 20), "walks"))
def test_no_walk_of_prices_trades_outside_the_bands(two: Two, seed: int):
    """Fifty walks in a market, of twelve orders each."""
    chance = Random(seed)
    for client in (two.buyer, two.seller):
        deposit(client, 10**9)
        give(two.token, {client: 10**6})
    assert sum(walk(two, chance) for _ in range(50)) > 5
    assert breaches() == []


def walk(two: Two, chance: Random) -> bool:
    """Send orders around the last price; whether they interrupted the market."""
    found = Market.objects.get(token=two.token)
    assert found.phase == "CONTINUOUS"
    last, reference = found.last_price or 0, found.reference_price or 0
    floor, cap = collar(reference, found.collar_bps)
    requests = []
    for _ in range(12):
        ask, client = chance.choice([(buy, two.buyer), (sell, two.seller)])
        limit = min(max(round(last * chance.uniform(0.86, 1.14)), floor), cap)
        in_force = chance.choice(["GTC", "GTC", "GTC", "IOC", "FOK"])
        units = chance.randint(1, 9)
        requests.append(ask(client, units, limit, time_in_force=in_force))
    for result in place(two.token, *requests):
        if isinstance(result, PartnerAPIError):
            assert result.code in ("OUTSIDE_BAND", "ONLY_RESTING_ORDERS")
            continue
        lowest, highest = collar(last, found.dynamic_band_bps)
        for trade in result.executions:
            assert max(lowest, floor) <= trade.price <= min(highest, cap)
            last = trade.price
    as_committed()
    log = OrderEvent.objects.filter(token=two.token, number__gt=found.last_event)
    events = [*log.order_by("number").values_list("kind", "reason")]
    letters = "".join(
        LETTERS.get(kind) or ("O" if reason == "OUTSIDE_BAND" else "A")
        for kind, reason in events
    )
    assert re.fullmatch("(AT*C?)*(OT*C?PA*)?", letters), letters
    told = Event.objects.filter(partner_id=two.buyer.partner_id).order_by("-sequence")
    types = [*told.values_list("type", flat=True)[: len(events)]][::-1]
    assert "".join(LETTERS.get(t, "A") for t in types) == letters.replace("O", "A")
    if phase_of(two.token) == "CONTINUOUS":
        return False
    end_call(two.token)
    return True
