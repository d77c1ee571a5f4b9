"""In a call orders rest; its auction trades them at one price, all or nothing."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db import DatabaseError, transaction

from issuers.models import Token
from issuers.register import ledger
from issuers.register.models import TokenPrice
from issuers.register.verification import verify as verify_register
from marketdata.books.current_books import read_books
from marketdata.models import Trade
from marketdata.trading import busts, market, phases, uncrossing
from marketdata.trading.clock import Clock
from marketdata.trading.errors import MarketClosed
from marketdata.trading.fees import Terms
from marketdata.trading.following import OpenOrders
from marketdata.trading.market import Request
from marketdata.trading.models import Auction, Execution, Market, Order
from marketdata.trading.verification import verify
from partnerapi.core.database import execute, value_of
from partnerapi.core.lock_waits import LockTimeout
from tests.approved import approved_rule, asker
from tests.marketdata.trading.test_market import Two, two
from tests.marketdata.trading.trading import (
    approved_tariff,
    as_committed,
    buy,
    codes,
    give,
    place,
    placed,
    purse,
    sell,
    units,
)
from tests.owner import tamper

__all__ = ["two"]
OVER = "UPDATE trading_auction SET earliest_at = now(), ends_at = clock_timestamp()"


def call(token: Token) -> None:
    phases.change_phase(token.pk, "CALL", asker(), "Auction")


def end_call(token: Token) -> None:
    """Reach the drawn end; the clock then takes every step of the auction."""
    tamper(f"{OVER} WHERE token_id = '{token.pk}' AND ended IS NULL")
    while phases.uncross_due():
        pass
    as_committed()


def phase_of(token: Token) -> str:
    return Market.objects.get(token=token).phase


def book_of(token: Token) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    book = read_books([str(token.pk)])[str(token.pk)]
    bids, asks = ([(price, units) for price, units in side] for side in book[2:])
    return bids, asks


def breaches() -> list[str]:
    return [finding.rule for finding in verify() if finding.breaches]


def test_in_a_call_orders_rest_and_the_book_is_hidden(two: Two):
    before = placed(two.token, sell(two.seller, 5, 105))
    assert book_of(two.token) == ([], [(105, 5)])
    call(two.token)
    assert book_of(two.token) == ([], [])
    offer = placed(two.token, sell(two.seller, 10, 98))
    bid = placed(two.token, buy(two.buyer, 4, 102))
    assert [offer.status, bid.status] == ["OPEN", "OPEN"]
    assert not Execution.objects.exists()
    assert book_of(two.token) == ([], [])
    assert units(two.token, two.seller) == (50, 15)
    assert purse(two.buyer) == (10_000, 408)
    for in_force in ("IOC", "FOK"):
        refusal = two.refusal(buy(two.buyer, 1, 102, time_in_force=in_force))
        assert refusal.code == "ONLY_RESTING_ORDERS"
    kept = market.amend(offer.pk, 1, offer.partner.login, quantity=8)
    moved = market.amend(bid.pk, 1, bid.partner.login, limit_price=103)
    assert (kept.kept_priority, moved.kept_priority) == (True, False)
    market.cancel_each(two.token.pk, [before.pk], "BY_PARTNER", before.partner.login)
    as_committed()
    assert units(two.token, two.seller) == (50, 8)
    assert purse(two.buyer) == (10_000, 412)
    assert breaches() == []


def test_the_auction_trades_at_one_price_and_shows_the_rest(two: Two):
    call(two.token)
    placed(two.token, sell(two.seller, 10, 98))
    placed(two.token, buy(two.buyer, 4, 102))
    placed(two.token, buy(two.buyer, 3, 99, time_in_force="DAY"))
    assert not phases.uncross_due()
    assert phase_of(two.token) == "CALL"
    end_call(two.token)
    # Seven units trade at 98 or 99, and three more are offered: the lower price.
    trades = Execution.objects.order_by("sequence")
    found = [*trades.values_list("price", "quantity", "aggressor")]
    assert found == [(98, 4, None), (98, 3, None)]
    assert purse(two.seller) == (7 * 98, 0)
    assert purse(two.buyer) == (10_000 - 7 * 98, 0)
    assert units(two.token, two.buyer) == (7, 0)
    assert book_of(two.token) == ([], [(98, 3)])
    tape = Trade.objects.filter(token=two.token).order_by("sequence")
    assert [*tape.values_list("price_cents", "quantity")] == [(98, 4), (98, 3)]
    assert phase_of(two.token) == "CONTINUOUS"
    assert Market.objects.get(token=two.token).reference_price == 98
    assert codes(place(two.token, buy(two.buyer, 3, 98))) == ["FILLED"]
    as_committed()
    assert breaches() == []


def test_an_auction_in_which_nothing_trades_opens_the_market(two: Two):
    placed(two.token, sell(two.seller, 5, 105))
    call(two.token)
    end_call(two.token)
    assert phase_of(two.token) == "CONTINUOUS"
    assert book_of(two.token) == ([], [(105, 5)])
    assert Auction.objects.get(token=two.token).price is None
    assert breaches() == []


def test_an_order_after_the_drawn_second_is_not_in_the_call(two: Two):
    call(two.token)
    order = placed(two.token, sell(two.seller, 10, 98))
    tamper(OVER)
    for attempt in (
        lambda: place(two.token, buy(two.buyer, 4, 102)),
        lambda: market.check(two.token.pk, buy(two.buyer, 4, 102)),
        lambda: market.amend(order.pk, 1, order.partner.login, quantity=4),
    ):
        with pytest.raises(MarketClosed) as closed:
            attempt()
        assert closed.value.details["phase"] == "CALL"
    market.cancel_each(two.token.pk, [order.pk], "BY_PARTNER", order.partner.login)
    end_call(two.token)
    assert book_of(two.token) == ([], [])


def test_the_younger_of_two_orders_of_a_user_is_removed(two: Two):
    give(two.token, {two.buyer: 10})
    call(two.token)
    placed(two.token, buy(two.buyer, 10, 102))
    younger = placed(two.token, sell(two.buyer, 5, 98))
    placed(two.token, sell(two.seller, 10, 99))
    end_call(two.token)
    younger.refresh_from_db()
    assert (younger.status, younger.status_reason) == ("CANCELLED", "SELF_TRADE")
    assert units(two.token, two.buyer) == (20, 0)
    assert breaches() == []


def test_an_order_that_expired_before_the_end_takes_no_part(two: Two):
    call(two.token)
    gone = placed(two.token, sell(two.seller, 5, 98))
    placed(two.token, sell(two.seller, 5, 99))
    placed(two.token, buy(two.buyer, 10, 102))
    tamper(f"UPDATE trading_order SET expires_at = now() WHERE id = '{gone.pk}'")
    end_call(two.token)
    gone.refresh_from_db()
    assert (gone.status, gone.filled) == ("EXPIRED", 0)
    assert units(two.token, two.buyer) == (5, 0)
    assert breaches() == []


def crowded(two: Two, orders: int) -> list[Order]:
    """As many orders on each side, that all trade, and one more that does not."""
    requests: list[Request] = []
    for number in range(orders):
        requests.append(sell(two.seller, 2, 99 - number % 3))
        requests.append(buy(two.buyer, 2, 101 + number % 3))
    place(two.token, *requests, sell(two.seller, 1, 110))
    return [*Order.objects.filter(token=two.token)]


def test_a_large_auction_binds_first_and_settles_step_by_step(
    two: Two, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(uncrossing, "FILLS", 3)
    call(two.token)
    orders = crowded(two, 5)
    tamper(OVER)
    assert uncrossing.end(two.token.pk)
    auction = Auction.objects.get(token=two.token)
    assert (auction.fills, auction.settled) == (5, 0)
    assert not Execution.objects.exists()
    steps = 0
    while auction.ended is None:
        for order in orders[:2]:
            with pytest.raises(LockTimeout):
                market.cancel_each(two.token.pk, [order.pk], "BY_STAFF", asker())
            with pytest.raises(MarketClosed):
                market.amend(order.pk, 1, order.partner.login, quantity=1)
        with pytest.raises(MarketClosed):
            place(two.token, buy(two.buyer, 1, 100))
        with pytest.raises(LockTimeout), transaction.atomic():
            OpenOrders().hold([two.token.pk])
        with pytest.raises(DatabaseError, match="not halted"), transaction.atomic():
            phases.change_phase(two.token.pk, "HALTED", asker(), "News")
        with pytest.raises(LockTimeout):
            busts.bust(two.token.pk, 1, "Oops", asker(), "")
        assert not Trade.objects.filter(token=two.token).exists()
        assert breaches_but_of_the_replay() == []
        is_left = phases.uncross_due()
        steps += 1
        auction.refresh_from_db()
        assert is_left == (auction.ended is None)
    as_committed()
    assert (steps, auction.settled) == (2, 5)
    assert units(two.token, two.buyer) == (10, 0)
    assert book_of(two.token) == ([], [(110, 1)])
    assert Trade.objects.filter(token=two.token).count() == 5
    assert breaches() == []


def breaches_but_of_the_replay() -> list[str]:
    return [rule for rule in breaches() if not rule.startswith("replaying")]


def test_both_sides_of_an_auction_pay_as_makers(two: Two):
    approved_tariff(two.token, Terms(100, 1_000, 0, None, 0))
    call(two.token)
    placed(two.token, sell(two.seller, 10, 100))
    placed(two.token, buy(two.buyer, 10, 100))
    assert purse(two.buyer) == (10_000, 1_100)
    end_call(two.token)
    assert purse(two.buyer) == (10_000 - 1_000 - 10, 0)
    assert purse(two.seller) == (1_000 - 10, 0)
    assert breaches() == []


def decisions(of: Two, bid: Order, low: Order, high: Order) -> list[tuple[object, ...]]:
    return [
        (None, [], [], []),
        (99, [bid.pk], [low.pk], [3]),
        (99, [bid.pk, bid.pk], [low.pk, low.pk], [4, 4]),
        (98, [bid.pk], [high.pk], [4]),
        (99, [bid.pk], [high.pk], [4]),
        (103, [bid.pk], [low.pk], [4]),
        (99, [low.pk], [bid.pk], [4]),
    ]


def test_the_database_takes_no_other_auction(two: Two):
    call(two.token)
    low = placed(two.token, sell(two.seller, 4, 98))
    high = placed(two.token, sell(two.seller, 6, 99))
    bid = placed(two.token, buy(two.buyer, 4, 102))
    right = [99, [bid.pk], [low.pk], [4]]
    with pytest.raises(DatabaseError, match="at the second that was drawn"):
        uncross_as(two.token, *right)
    tamper(OVER)
    for wrong in decisions(two, bid, low, high):
        with pytest.raises(DatabaseError, match="auction"):
            uncross_as(two.token, *wrong)
    assert uncross_as(two.token, *right) == 1
    with pytest.raises(DatabaseError, match="ends once"):
        uncross_as(two.token, *right)


def uncross_as(token: Token, *decision: object) -> int:
    with transaction.atomic():
        listed: int = value_of(uncrossing.UNCROSS, [token.pk, *decision])
    return listed


def test_a_call_is_indicated_once_a_second(two: Two):
    call(two.token)
    clock = Clock()
    auction = Auction.objects.get(token=two.token)
    clock.indicate()
    auction.refresh_from_db()
    assert auction.indicative_price is None
    placed(two.token, sell(two.seller, 10, 98))
    placed(two.token, buy(two.buyer, 4, 102))
    clock.indicate()
    auction.refresh_from_db()
    assert auction.indicative_price is None
    clock.indicated.clear()
    clock.indicate()
    auction.refresh_from_db()
    figures = auction.indicative_price, auction.indicative_quantity
    assert (*figures, auction.indicative_surplus) == (98, 4, -6)
    assert not uncrossing.indicate(two.token.pk)
    end_call(two.token)
    assert not uncrossing.indicate(two.token.pk)


def test_a_holder_whom_a_rule_refuses_takes_no_part(two: Two):
    approved_rule(two.token, "MAX_BALANCE", {"units": 10})
    call(two.token)
    first, second = (
        placed(two.token, buy(two.buyer, quantity, 102)) for quantity in (6, 7)
    )
    placed(two.token, sell(two.seller, 20, 100))
    end_call(two.token)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.status, second.status) == ("FILLED", "CANCELLED")
    assert second.status_reason == "NOT_ELIGIBLE"
    assert units(two.token, two.buyer) == (6, 0)
    assert breaches() == []


def test_a_call_that_is_halted_goes_on_as_another_call(two: Two, one_person: None):
    call(two.token)
    order = placed(two.token, sell(two.seller, 10, 98))
    placed(two.token, buy(two.buyer, 4, 102))
    phases.change_phase(two.token.pk, "HALTED", asker(), "News")
    assert book_of(two.token) == ([], [])
    market.cancel_each(two.token.pk, [order.pk], "BY_PARTNER", order.partner.login)
    with pytest.raises(phases.PhaseRefused, match="cross"):
        phases.change_phase(two.token.pk, "CONTINUOUS", asker())
    call(two.token)
    end_call(two.token)
    assert phase_of(two.token) == "CONTINUOUS"
    assert book_of(two.token) == ([(102, 4)], [])
    assert breaches() == []


def test_a_price_stays_the_last_until_all_trades_of_its_auction_are_busted(
    two: Two, one_person: None
):
    placed(two.token, sell(two.seller, 1, 105))
    placed(two.token, buy(two.buyer, 1, 105))
    call(two.token)
    for price in (98, 99):
        placed(two.token, sell(two.seller, 3, price))
    placed(two.token, buy(two.buyer, 6, 102))
    end_call(two.token)
    last = TokenPrice.objects.filter(token=two.token).order_by("-number")
    found = []
    for trade in (3, 2):
        busts.bust(two.token.pk, trade, "Oops", asker(), "")
        found.append(last.values_list("price_cents", flat=True)[0])
    as_committed()
    assert found == [102, 105]
    assert breaches() == []


def bound(two: Two, monkeypatch: pytest.MonkeyPatch) -> list[Order]:
    """An auction whose five fills, of two units each, are listed and not settled."""
    monkeypatch.setattr(uncrossing, "FILLS", 1)
    call(two.token)
    orders = crowded(two, 5)
    tamper(OVER)
    assert uncrossing.end(two.token.pk)
    as_committed()
    return orders


def grow(two: Two) -> None:
    """Its buyer gets units, and may have no more."""
    give(two.token, {two.buyer: 1})


def freeze(two: Two) -> None:
    account = ledger.holder_accounts([two.buyer.user_id])[two.buyer.user_id]
    execute(RESTRICT, [uuid4(), asker(), account, two.token.pk])


def pause(two: Two) -> None:
    tamper(
        "INSERT INTO issuers_tokenrule (id, token_id, kind, parameters, created_by,"
        " approved_by, created_at, reason) SELECT gen_random_uuid(), token_id,"
        " 'TRANSFERS_PAUSED', '{}', created_by, approved_by, clock_timestamp(), reason"
        " FROM issuers_tokenrule"
    )


RESTRICT = "SELECT binds_restrict(%s, %s, %s, 'FREEZE', %s, NULL, NULL, '', 'A court')"


@pytest.mark.parametrize("change", [grow, freeze, pause])
def test_fills_that_bind_settle_whatever_comes_between(
    two: Two, monkeypatch: pytest.MonkeyPatch, change: Callable[[Two], None]
):
    approved_rule(two.token, "MAX_BALANCE", {"units": 10})
    bound(two, monkeypatch)
    phases.uncross_due()
    change(two)
    while phases.uncross_due():
        pass
    as_committed()
    assert phase_of(two.token) == "CONTINUOUS"
    assert units(two.token, two.buyer) == (10 + (change is grow), 0)
    assert purse(two.seller) == (10 * Execution.objects.all()[0].price, 0)
    assert units(two.token, two.seller)[1] == 1
    assert breaches() == []
    assert [found.rule for found in verify_register() if found.breaches] == []


def test_the_database_lists_no_fill_that_a_rule_forbids(two: Two):
    approved_rule(two.token, "MAX_BALANCE", {"units": 10})
    call(two.token)
    bids = [placed(two.token, buy(two.buyer, 6, 102)).pk for _ in range(2)]
    offer = placed(two.token, sell(two.seller, 12, 100)).pk
    tamper(OVER)
    with pytest.raises(DatabaseError, match="forbids fill 2: MAX_BALANCE_EXCEEDED"):
        uncross_as(two.token, 100, bids, [offer, offer], [6, 6])


def test_verification_finds_a_fill_that_a_rule_forbade(two: Two):
    approved_rule(two.token, "MAX_BALANCE", {"units": 10})
    call(two.token)
    placed(two.token, buy(two.buyer, 10, 102))
    placed(two.token, sell(two.seller, 10, 100))
    end_call(two.token)
    assert breaches() == []
    tamper("""UPDATE issuers_tokenrule SET parameters = '{"units": 9}'""")
    assert breaches() == [
        "rules admitted the fills of an auction when they were listed"
    ]


def test_an_auction_that_the_database_refuses_stops_no_other(
    two: Two, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    bound(two, monkeypatch)
    other = Two()
    call(other.token)
    placed(other.token, sell(other.seller, 4, 98))
    placed(other.token, buy(other.buyer, 4, 102))
    tamper(
        OVER + " WHERE fills IS NULL",
        "UPDATE issuers_holderbalance SET reserved = 0"
        f" WHERE token_id = '{two.token.pk}'",
    )
    while phases.uncross_due():
        pass
    as_committed()
    assert "holder_balance_reserved_within_balance" in caplog.text
    assert (phase_of(two.token), phase_of(other.token)) == ("CALL", "CONTINUOUS")
    assert units(other.token, other.buyer) == (4, 0)
