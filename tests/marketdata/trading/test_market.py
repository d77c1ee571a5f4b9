"""Orders rest, trade, change and end, each in one transaction with its cash."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from issuers.models import Token
from issuers.register.models import LedgerTransaction, TokenPrice
from marketdata.books import log
from marketdata.books.livebook import LiveBook
from marketdata.books.reading import read_heads
from marketdata.models import BookLevel
from marketdata.trading import market, phases
from marketdata.trading.errors import MarketClosed, OrderChanged, OrderNotOpen
from marketdata.trading.models import Execution, Order, OrderEvent
from marketdata.trading.sessions import parse
from partnerapi.core.database import rows_of
from partnerapi.core.errors import PartnerAPIError
from tests.approved import asker
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    codes,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    placed,
    purse,
    sell,
    units,
)
from tests.owner import tamper


class Two:
    """A market, a buyer with 10,000 cents, and a seller with 50 units."""

    def __init__(self) -> None:
        self.token = new_market()
        self.buyer, self.seller = new_clients(2)
        deposit(self.buyer, 10_000)
        give(self.token, {self.seller: 50})

    def refusal(self, request: market.Request) -> PartnerAPIError:
        [result] = place(self.token, request)
        assert isinstance(result, PartnerAPIError)
        return result


@pytest.fixture
def two(db: None) -> Two:
    return Two()


def events(token: Token) -> list[tuple[int, str]]:
    rows = OrderEvent.objects.filter(token=token).order_by("number")
    return list(rows.values_list("number", "kind"))


def test_two_orders_meet_and_settle(two: Two):
    assert codes(
        place(two.token, sell(two.seller, 10, 101), sell(two.seller, 10, 100))
    ) == ["OPEN", "OPEN"]
    as_committed()
    assert units(two.token, two.seller) == (50, 20)
    assert codes(place(two.token, buy(two.buyer, 15, 101))) == ["FILLED"]
    as_committed()
    # Each at the resting order's price: 10 at 100 and 5 at 101.
    assert purse(two.buyer) == (10_000 - 1_505, 0)
    assert purse(two.seller) == (1_505, 0)
    assert units(two.token, two.buyer) == (15, 0)
    assert units(two.token, two.seller) == (35, 5)
    trades = Execution.objects.filter(token=two.token).order_by("sequence")
    assert [(t.sequence, t.price, t.quantity) for t in trades] == [
        (1, 100, 10),
        (2, 101, 5),
    ]
    entries = LedgerTransaction.objects.filter(token=two.token, kind="TRADE")
    assert [int(e.amount) for e in entries.order_by("seq")] == [10, 5]
    levels = BookLevel.objects.filter(token=two.token).values_list()
    assert [row[1:] for row in levels] == [(two.token.pk, 1, 101, 5)] or len(
        levels
    ) == 1
    prices = TokenPrice.objects.filter(token=two.token, source="TRADE")
    assert [p.price_cents for p in prices] == [101]
    assert [kind for _, kind in events(two.token)][2:] == [
        "ORDER_ACCEPTED",
        "ORDER_ACCEPTED",
        "ORDER_ACCEPTED",
        *["ORDER_TRADED"] * 4,
    ]


def test_a_list_is_judged_order_by_order_and_may_use_what_it_has_earned(two: Two):
    placed(two.token, buy(two.buyer, 10, 100))
    results = place(
        two.token,
        buy(two.seller, 5, 90),
        sell(two.seller, 10, 100),
        buy(two.seller, 5, 90),
        sell(two.seller, 41, 101),
        sell(two.seller, 40, 101),
    )
    assert codes(results) == [
        "INSUFFICIENT_FUNDS",
        "FILLED",
        "OPEN",
        "INSUFFICIENT_UNITS",
        "OPEN",
    ]
    as_committed()
    assert purse(two.seller) == (1_000, 450)
    assert units(two.token, two.seller) == (40, 40)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"quantity": 0}, "BAD_USER_INPUT"),
        ({"limit_price": 79}, "PRICE_OUTSIDE_COLLAR"),
        ({"limit_price": 121}, "PRICE_OUTSIDE_COLLAR"),
        ({"quantity": 2**62}, "ORDER_VALUE_TOO_LARGE"),
        ({"limit_price": 2**64 - 1}, "ORDER_VALUE_TOO_LARGE"),
        ({"side": 1, "limit_price": 2**63}, "ORDER_VALUE_TOO_LARGE"),
        ({"quantity": 101}, "INSUFFICIENT_FUNDS"),
        ({"time_in_force": "GTD"}, "BAD_USER_INPUT"),
        ({"expires_at": datetime(2100, 1, 1, tzinfo=UTC)}, "BAD_USER_INPUT"),
    ],
)
def test_what_is_refused_changes_nothing(two: Two, change: dict, code: str):
    actor = two.buyer.partner.login
    values = {"side": 0, "quantity": 1, "limit_price": 100, "actor": actor} | change
    before = events(two.token)
    assert two.refusal(market.Request(two.buyer.pk, **values)).code == code
    assert events(two.token) == before


def test_prices_and_quantities_are_of_ticks_and_lots(db: None):
    token = new_market(tick_cents=5, lot_units=10)
    [client] = new_clients(1)
    deposit(client, 10_000)
    refused = place(token, buy(client, 10, 101), buy(client, 11, 100))
    assert codes(refused) == ["TICK_SIZE", "LOT_SIZE"]
    assert codes(place(token, buy(client, 20, 105))) == ["OPEN"]


def test_a_client_order_id_is_used_once_for_ever(two: Two):
    request = buy(two.buyer, 1, 100, client_order_id="a")
    first, second = place(two.token, request, request)
    assert codes([first, second]) == ["OPEN", "DUPLICATE_CLIENT_ORDER_ID"]
    assert two.refusal(request).details == {"orderID": first.order.pk}
    # Another account may use it, too.
    assert codes(place(two.token, sell(two.seller, 1, 110, client_order_id="a")))


def test_an_order_is_amended_and_keeps_its_place_if_it_shrinks(two: Two):
    first = placed(two.token, sell(two.seller, 10, 105))
    placed(two.token, sell(two.seller, 10, 105))
    kept = market.amend(first.pk, 1, first.partner.login, quantity=4)
    assert kept.kept_priority
    assert kept.order.priority == first.priority
    as_committed()
    moved = market.amend(first.pk, 2, first.partner.login, quantity=5)
    assert not moved.kept_priority
    as_committed()
    placed(two.token, buy(two.buyer, 3, 104))
    traded = market.amend(first.pk, 3, first.partner.login, limit_price=104)
    as_committed()
    assert [(e.price, e.quantity) for e in traded.executions] == [(104, 3)]
    order = Order.objects.get(pk=first.pk)
    assert (order.version, order.status, order.remaining) == (4, "OPEN", 2)
    assert units(two.token, two.seller) == (47, 12)
    with pytest.raises(OrderChanged):
        market.amend(first.pk, 3, first.partner.login, quantity=9)
    with pytest.raises(PartnerAPIError) as refused:
        market.amend(first.pk, 4, first.partner.login, quantity=3)
    assert refused.value.details == {"minimum": 4}


def test_final_orders_are_not_amended_and_cancelled_without_effect(two: Two):
    order = placed(two.token, sell(two.seller, 10, 105))
    [ended] = market.cancel_each(
        two.token.pk, [order.pk], "BY_PARTNER", order.partner.login
    )
    as_committed()
    assert (ended.status, ended.status_reason) == ("CANCELLED", "BY_PARTNER")
    assert market.cancel_each(two.token.pk, [order.pk], "BY_STAFF", asker()) == []
    with pytest.raises(OrderNotOpen):
        market.amend(order.pk, 1, order.partner.login, quantity=3)
    assert units(two.token, two.seller) == (50, 0)


def test_an_order_whose_time_is_over_never_trades(two: Two):
    old = placed(two.token, sell(two.seller, 10, 100))
    young = placed(two.token, sell(two.seller, 10, 100, time_in_force="DAY"))
    tamper(f"UPDATE trading_order SET expires_at = now() WHERE id = '{old.pk}'")
    assert codes(place(two.token, buy(two.buyer, 10, 100))) == ["FILLED"]
    as_committed()
    rows = {order.pk: order for order in Order.objects.filter(token=two.token)}
    assert rows[old.pk].status_reason == "TIME_IN_FORCE"
    assert rows[young.pk].status == "FILLED"


def test_the_sweep_ends_orders_in_any_phase(two: Two):
    order = placed(two.token, sell(two.seller, 10, 100, time_in_force="DAY"))
    phases.change_phase(two.token.pk, "HALTED", asker(), "why")
    tamper(f"UPDATE trading_order SET expires_at = now() WHERE id = '{order.pk}'")
    assert market.expire_due(timezone.now()) == 1
    as_committed()
    order.refresh_from_db()
    assert (order.status, order.status_reason) == ("EXPIRED", "END_OF_SESSION")


def test_phases_take_orders_or_not_and_refer_to_a_price(two: Two, one_person: None):
    order = placed(two.token, sell(two.seller, 10, 110))
    placed(two.token, buy(two.buyer, 1, 110))
    phases.change_phase(two.token.pk, "CLOSED", asker())
    with pytest.raises(MarketClosed) as closed:
        place(two.token, buy(two.buyer, 1, 100))
    assert closed.value.details["phase"] == "CLOSED"
    with pytest.raises(MarketClosed):
        market.amend(order.pk, 1, order.partner.login, quantity=5)
    phases.change_phase(two.token.pk, "HALTED", asker(), "why")
    market.cancel_each(two.token.pk, [order.pk], "BY_PARTNER", order.partner.login)
    phases.change_phase(two.token.pk, "CALL", asker())
    as_committed()
    # 20 % around the last trade, which was at 110.
    assert two.refusal(buy(two.buyer, 1, 133)).details == {"floor": 88, "cap": 132}


def test_a_feed_reads_the_phase(two: Two):
    [(token_id, *facts, _, _, _)] = read_heads([two.token.pk])
    book = LiveBook(token_id, *facts)
    assert book.phase == "CONTINUOUS"
    phases.change_phase(two.token.pk, "HALTED", asker(), "News")
    [(_, *facts, _, _, _)] = read_heads([two.token.pk])
    assert book.describe(*facts)
    assert (book.phase, book.halt_reason) == ("HALTED", "News")


def test_reopening_needs_a_second_person(two: Two):
    phases.change_phase(two.token.pk, "HALTED", asker(), "why")
    with pytest.raises(Exception, match="needs an approval"):
        phases.change_phase(two.token.pk, "CALL", asker())


def test_sessions_open_and_close_by_the_clock(two: Two):
    assert phases.move_due() == 0
    tamper("UPDATE trading_market SET next_phase_at = now()")
    assert phases.move_due() == 1
    two.token.market.refresh_from_db()
    assert (two.token.market.phase, two.token.market.next_phase) == (
        "CLOSED",
        "CONTINUOUS",
    )
    # It lasts all day, and so opens again at once.
    assert phases.move_due() == 1


def test_times_of_sessions():
    summer = datetime(2026, 7, 3, 16, 0, tzinfo=UTC)  # A Friday, 18:00 in Paris.
    session = parse("09:00-17:30", weekdays_only=True)
    assert not session.is_open(summer)
    assert session.next_open(summer) == datetime(2026, 7, 6, 7, 0, tzinfo=UTC)
    assert session.next_close(summer) == datetime(2026, 7, 6, 15, 30, tzinfo=UTC)
    assert session.is_open(datetime(2026, 7, 6, 7, 0, tzinfo=UTC))
    all_day = parse("22:00-22:00", weekdays_only=False)
    assert all_day.is_open(summer)
    assert all_day.next_close(summer) == datetime(2026, 7, 3, 20, 0, tzinfo=UTC)


def test_the_dry_run_says_what_would_come_of_it(two: Two):
    placed(two.token, sell(two.seller, 10, 100))
    before = events(two.token)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        found = market.check(two.token.pk, buy(two.buyer, 15, 101))
    assert found[:4] == (None, 1_515, 10, 1_000)
    refused = market.check(two.token.pk, buy(two.buyer, 100, 101)).refused
    assert refused is not None
    assert refused.code == "INSUFFICIENT_FUNDS"
    assert events(two.token) == before
    locks = ("UPDATE", "trading_lock", "accounts_hold")
    assert not [q["sql"] for q in asked if any(lock in q["sql"] for lock in locks)]


def test_the_dry_run_of_a_client_who_never_held_anything(two: Two):
    """It has no account in the ledger, and a dry run opens none."""
    placed(two.token, sell(two.seller, 10, 100))
    placed(two.token, buy(two.buyer, 1, 90))
    [client, poor] = new_clients(2)
    deposit(client, 10_000)
    found = market.check(two.token.pk, buy(client, 15, 101))
    assert found[:4] == (None, 1_515, 10, 1_000)
    codes = [
        refused and refused.code
        for refused in (
            market.check(two.token.pk, sell(client, 1, 90)).refused,
            market.check(two.token.pk, buy(poor, 1, 100)).refused,
            market.check(two.token.pk, sell(poor, 1, 90)).refused,
        )
    ]
    assert codes == ["INSUFFICIENT_UNITS", "INSUFFICIENT_FUNDS", "INSUFFICIENT_UNITS"]


def test_the_book_of_an_internal_market_is_fed_by_nothing_else(two: Two):
    placed(two.token, sell(two.seller, 10, 100))
    orders = "nothing else feeds an internal market"
    executions = "tape of an internal market holds its executions and nothing else"
    for message, rule in (
        (log.Message([log.Change(1, 100, 9)]), orders),
        (log.Message([log.Change(0, 50, 1)]), orders),
        (log.Message([], [log.Deal(100, 1)]), executions),
    ):
        with pytest.raises(Exception, match=rule):
            log.record(two.token.pk, [message], "feed")


def statements(token: Token, requests: list[market.Request]) -> int:
    with CaptureQueriesContext(connection) as asked:
        place(token, *requests)
    return len([q for q in asked if "SAVEPOINT" not in (q["sql"] or "")])


def test_a_hundred_orders_take_as_many_statements_as_one(two: Two):
    for _ in range(2):
        place(two.token, *[sell(two.seller, 1, 100) for _ in range(25)])
        one = statements(two.token, [buy(two.buyer, 1, 100)])
        place(two.token, *[buy(two.buyer, 1, 100) for _ in range(24)])
    place(two.token, *[sell(two.buyer, 1, 100) for _ in range(50)])
    deposit(two.seller, 10_000)
    both = [[buy(two.seller, 1, 100), buy(two.seller, 1, 90)] for _ in range(50)]
    hundred = statements(two.token, [request for pair in both for request in pair])
    as_committed()
    assert units(two.token, two.seller) == (50, 0)
    assert hundred == one


@pytest.mark.django_db
def test_a_self_trade_is_judged_without_the_past_of_its_market():
    fetched = []
    for past in (0, 200):
        token = new_market()
        buyer, other = new_clients(2)
        for account in (buyer, other):
            deposit(account, 10**6)
        give(token, {buyer: 10})
        place(token, *[buy(other, 1, 100, time_in_force="IOC") for _ in range(past)])
        place(token, sell(buyer, 1, 100))
        before = rows_fetched("trading_order")
        [stopped] = place(token, buy(buyer, 1, 100))
        assert isinstance(stopped, market.Placed)
        assert stopped.order.status_reason == "SELF_TRADE"
        fetched.append(rows_fetched("trading_order") - before)
    assert fetched[1] < fetched[0] + 100


def rows_fetched(table: str) -> int:
    """The rows that this transaction has looked up by indexes of a table."""
    [(count,)] = rows_of(
        "SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = %s", [table]
    )
    return int(count)
