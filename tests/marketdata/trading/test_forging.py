"""Decisions that the application's role invents, and gives to the market's writer."""

import uuid
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from accounts.accounts.models import Account
from accounts.keys.models import Partner
from issuers.models import Token
from marketdata.trading import controls, market, phases
from marketdata.trading.limits import Limits, taken
from marketdata.trading.models import Execution, Order
from marketdata.trading.queues import BUY, SELL
from marketdata.trading.writing import WRITE
from partnerapi.core.database import fetch, value_of
from tests.approved import asker, desk
from tests.marketdata.trading.test_tampering import Traded, refused
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
    placed,
    sell,
)
from tests.owner import tamper
from tests.threads import in_threads
from tests.waiting import until_waiting_for_a_lock

pytestmark = pytest.mark.django_db
Step = tuple[str, UUID, int, int | None, int | None, str | None, str]
New = tuple[UUID, UUID, int, str, datetime | None, str | None]
NINETY_DAYS = timedelta(days=90)


@pytest.fixture
def traded() -> Traded:
    return Traded()


class Forger:
    """Steps of a call, as the writer takes them."""

    def __init__(self, token: Token) -> None:
        self.token = token
        self.at: datetime = value_of("SELECT clock_timestamp()")
        self.steps: list[Step] = []
        self.new: list[New] = []
        self.actor = ""

    def take(
        self,
        account: Account,
        side: int,
        units: int,
        price: int,
        in_force: str = "GTC",
        expiry: timedelta | None = NINETY_DAYS,
        actor: str | None = None,
    ) -> UUID:
        id = uuid.uuid4()
        self.actor = account.partner.login if actor is None else actor
        expires_at = None if expiry is None else self.at + expiry
        self.new.append((id, account.pk, side, in_force, expires_at, None))
        self.steps.append(("ORDER_ACCEPTED", id, 1, units, price, None, self.actor))
        return id

    def amend(self, order: Order, units: int, price: int) -> None:
        login = order.partner.login
        self.steps.append(("ORDER_AMENDED", order.pk, 1, units, price, None, login))

    def fill(self, order: Order, units: int) -> None:
        self.steps.append(("ORDER_TRADED", order.pk, 1, units, None, None, self.actor))

    def end(self, order: UUID, reason: str, actor: str) -> None:
        kind = "ORDER_CANCELLED"
        if reason in ("END_OF_SESSION", "TIME_IN_FORCE"):
            kind = "ORDER_EXPIRED"
        self.steps.append((kind, order, 1, None, None, reason, actor))

    def write(self) -> None:
        write(self.token, self.at, self.steps, self.new)
        as_committed()


def write(
    token: Token, at: datetime, steps: Sequence[Step], new: Sequence[New] = ()
) -> None:
    columns = [list(column) for column in zip(*steps, strict=True)]
    of_new = [list(column) for column in zip(*new, strict=True)] or [[]] * 6
    fetch(WRITE, [token.pk, at, *columns, True, *of_new], tuple)


def test_what_is_true_is_written(traded: Traded):
    forger = Forger(traded.token)
    bought = forger.take(traded.buyer, BUY, 4, 105)
    forger.fill(traded.ask, 4)
    forger.write()
    assert Order.objects.get(pk=bought).status == "FILLED"
    assert Execution.objects.filter(buy_order=bought).get().price == 105


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("collar", {"price": 79}),
        ("collar", {"price": 121}),
        ("expiry", {"expiry": timedelta(days=365 * 50)}),
        ("expiry", {"expiry": timedelta(days=91), "in_force": "GTD"}),
        ("expiry", {"expiry": timedelta(days=300), "in_force": "DAY"}),
        ("who asked", {"actor": "ghost"}),
        ("who asked", {"actor": "staff@example.com"}),
    ],
)
def test_an_order_keeps_the_market_s_rules(
    traded: Traded, rule: str, values: dict[str, Any]
):
    forger = Forger(traded.token)
    forger.take(traded.buyer, BUY, 1, **({"price": 90} | values))
    with refused(f"the rule of {rule}"):
        forger.write()


@pytest.mark.parametrize(
    "limit", [{"orders_per_second": 2}, {"open_value_limit": 950 + 2 * 90}]
)
def test_no_order_exceeds_the_limits_of_its_partner(
    traded: Traded, limit: dict[str, int]
):
    # It has had a second of rest, with an order of 950 cents.
    tamper("UPDATE trading_order SET created_at = created_at - interval '1 day'")
    assert traded.ask.partner == traded.bid.partner
    market.cancel_each(
        traded.token.pk, [traded.ask.pk], "BY_PARTNER", traded.ask.partner.login
    )
    Partner.objects.filter(pk=traded.bid.partner_id).update(**limit)
    for number, is_allowed in ((3, False), (2, True)):
        forger = Forger(traded.token)
        for _ in range(number):
            forger.take(traded.buyer, BUY, 1, 90)
        with nullcontext() if is_allowed else refused("that has limits"):
            forger.write()
    amending = Forger(traded.token)
    amending.amend(traded.bid, 10, 95 if "orders_per_second" in limit else 96)
    with refused("that has limits") if "open_value_limit" in limit else nullcontext():
        amending.write()


@pytest.mark.django_db(transaction=True)
def test_orders_of_a_limited_partner_are_written_one_after_the_other():
    traded = Traded()
    limit = Limits(traded.bid.partner_id, 100, None)
    Partner.objects.filter(pk=limit.partner_id).update(orders_per_second=100)

    def forge(number: int) -> None:
        with transaction.atomic(), refused("that has limits"):
            forger = Forger(traded.token)
            forger.take(traded.buyer, BUY, 1, 90)
            forger.write()

    with transaction.atomic():
        taken([limit], holds=True)
        assert in_threads(1, forge) == []


@pytest.mark.parametrize(
    ("rule", "units", "price"), [("tick", 10, 101), ("lot", 5, 100)]
)
def test_an_order_is_of_ticks_and_lots(rule: str, units: int, price: int):
    token = new_market(tick_cents=5, lot_units=10)
    [client] = new_clients(1)
    deposit(client, 10_000)
    forger = Forger(token)
    forger.take(client, BUY, units, price)
    with refused(f"the rule of {rule}"):
        forger.write()


def test_a_suspended_account_takes_part_in_nothing(traded: Traded):
    traded.buyer.change_status("SUSPENDED", desk(), None)
    forger = Forger(traded.token)
    forger.take(traded.buyer, BUY, 1, 90)
    with refused("the rule of account"):
        forger.write()


@pytest.mark.parametrize(
    ("units", "price", "rule"),
    [(999, 90, "cash_reserved_within_balance"), (41, 110, "reserved_within_balance")],
)
def test_an_order_has_its_cover(traded: Traded, units: int, price: int, rule: str):
    forger = Forger(traded.token)
    side = BUY if price < 100 else SELL
    forger.take(traded.buyer if side == BUY else traded.seller, side, units, price)
    with refused(rule):
        forger.write()


def worse_first(forger: Forger, traded: Traded, other: Order) -> None:
    forger.take(traded.buyer, BUY, 1, 110)
    forger.fill(other, 1)


def left_alone(forger: Forger, traded: Traded, other: Order) -> None:
    taken = forger.take(traded.buyer, BUY, 1, 110, "IOC", None)
    forger.end(taken, "IMMEDIATE_OR_CANCEL", forger.actor)


def crossed(forger: Forger, traded: Traded, other: Order) -> None:
    forger.take(traded.buyer, BUY, 1, 105)


def met_late(forger: Forger, traded: Traded, other: Order) -> None:
    forger.take(traded.buyer, BUY, 1, 110)
    forger.fill(other, 1)
    forger.take(traded.buyer, BUY, 10, 110)
    forger.fill(traded.ask, 10)


@pytest.mark.parametrize("trick", [worse_first, left_alone, crossed, met_late])
@pytest.mark.parametrize("price", [105, 106])
def test_the_best_and_oldest_order_trades_first(
    traded: Traded, trick: Callable[[Forger, Traded, Order], None], price: int
):
    """Another ask stands behind that at 105: a younger one, or a worse one."""
    [client] = new_clients(1)
    give(traded.token, {client: 50})
    other = placed(traded.token, sell(client, 10, price))
    as_committed()
    forger = Forger(traded.token)
    trick(forger, traded, other)
    with refused("best price first"):
        forger.write()


def test_an_order_is_filled_or_killed(traded: Traded):
    forger = Forger(traded.token)
    taken = forger.take(traded.buyer, BUY, 12, 105, "FOK", None)
    forger.fill(traded.ask, 10)
    forger.end(taken, "FILL_OR_KILL", forger.actor)
    with refused("fill or kill|ends for a reason"):
        forger.write()


def overfilled(forger: Forger, traded: Traded) -> None:
    forger.take(traded.buyer, BUY, 11, 105)
    forger.fill(traded.ask, 11)


def beyond_its_limit(forger: Forger, traded: Traded) -> None:
    forger.take(traded.buyer, BUY, 1, 104)
    forger.fill(traded.ask, 1)


def with_itself(forger: Forger, traded: Traded) -> None:
    give(traded.token, {traded.buyer: 1})
    forger.at = value_of("SELECT clock_timestamp()")
    forger.take(traded.buyer, SELL, 1, 95)
    forger.fill(traded.bid, 1)


def of_one_side(forger: Forger, traded: Traded) -> None:
    forger.take(traded.seller, SELL, 1, 105)
    forger.fill(traded.ask, 1)


def after_its_end(forger: Forger, traded: Traded) -> None:
    forger.end(traded.ask.pk, "BY_PARTNER", traded.seller.partner.login)
    forger.take(traded.buyer, BUY, 1, 105)
    forger.fill(traded.ask, 1)


def of_no_order(forger: Forger, traded: Traded) -> None:
    forger.fill(traded.ask, 1)


def of_another_token(forger: Forger, traded: Traded) -> None:
    other = Traded()
    forger.take(traded.buyer, BUY, 1, 105)
    forger.fill(other.ask, 1)


@pytest.mark.parametrize(
    "trick",
    [
        overfilled, beyond_its_limit, with_itself, of_one_side, after_its_end,
        of_no_order, of_another_token,
    ],
)  # fmt: skip
def test_a_trade_is_of_two_users_within_both_limits(
    traded: Traded, trick: Callable[[Forger, Traded], None]
):
    forger = Forger(traded.token)
    trick(forger, traded)
    with refused("A trade is of|An order is taken once|An entry moves|violates"):
        forger.write()


@pytest.mark.parametrize(
    "reason",
    [
        "BY_PARTNER", "BY_STAFF", "NOT_ELIGIBLE", "HOLDER_FROZEN", "UNITS_LOCKED",
        "RULE_CHANGED", "ACCOUNT_NOT_ACTIVE", "END_OF_SESSION", "TIME_IN_FORCE",
        "SELF_TRADE", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL",
    ],
)  # fmt: skip
@pytest.mark.parametrize("actor", ["ghost", "market", "other"])
def test_an_order_ends_for_a_reason_that_is_so(traded: Traded, reason: str, actor: str):
    if actor == "other":
        actor = new_partner().login
    forger = Forger(traded.token)
    forger.end(traded.ask.pk, reason, actor)
    with refused("An order ends for a reason|needs an active member of staff"):
        forger.write()


def test_a_friend_s_order_is_not_preferred(traded: Traded):
    """The best maker is ended as one that a rule refuses; there is no rule."""
    [friend] = new_clients(1)
    give(traded.token, {friend: 50})
    other = placed(traded.token, sell(friend, 10, 106))
    as_committed()
    forger = Forger(traded.token)
    forger.end(traded.ask.pk, "NOT_ELIGIBLE", traded.buyer.partner.login)
    forger.take(traded.buyer, BUY, 1, 110)
    forger.fill(other, 1)
    with refused("An order ends for a reason|needs an active member of staff"):
        forger.write()


@pytest.mark.parametrize("away", [timedelta(-1), timedelta(1)])
def test_an_order_is_judged_in_its_transaction(traded: Traded, away: timedelta):
    forger = Forger(traded.token)
    forger.at += away
    forger.take(traded.buyer, BUY, 1, 90)
    with refused("judged in the transaction"):
        forger.write()


def test_a_market_that_rests_takes_nothing(traded: Traded):
    phases.change_phase(traded.token.pk, "HALTED", asker(), "why")
    forger = Forger(traded.token)
    forger.take(traded.buyer, BUY, 1, 90)
    with refused("while the market is CONTINUOUS"):
        forger.write()


def test_a_call_has_an_end(traded: Traded):
    forger = Forger(traded.token)
    forger.steps = [
        ("ORDER_CANCELLED", traded.ask.pk, 1, None, None, "BY_PARTNER", "me")
    ] * 5_001
    with refused("5,000 steps"):
        forger.write()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_amended", [False, True])
def test_a_call_without_a_read_waits_for_a_block_under_way(is_amended: bool):
    token, [account] = new_market(), new_clients(1)
    deposit(account, 1_000)
    order = placed(token, buy(account, 1, 90))
    blocked = Event()

    def work(number: int) -> None:
        if number == 0:
            with transaction.atomic():
                controls.block(account.partner_id, None, None, account.partner.login)
                blocked.set()
                until_waiting_for_a_lock()
            return
        blocked.wait()
        with refused("the rule of blocks"):
            forger = Forger(token)
            if is_amended:
                forger.amend(order, 2, 90)
            else:
                forger.take(account, BUY, 1, 90)
            forger.write()

    assert in_threads(2, work) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_undone", [False, True])
def test_readers_of_an_instant_wait_for_a_call_without_a_read(is_undone: bool):
    traded = Traded()
    with transaction.atomic():
        assert value_of(MARKS, [traded.token.pk]) == 0
        if is_undone:
            fetch("SELECT trading_undo(%s, 1, 'why', '', '')", [traded.token.pk], tuple)
        else:
            forger = Forger(traded.token)
            forger.take(traded.buyer, BUY, 1, 90)
            write(traded.token, forger.at, forger.steps, forger.new)
        assert value_of(MARKS, [traded.token.pk]) == 1
        transaction.set_rollback(True)


MARKS = """
    SELECT count(*) FROM pg_locks
    WHERE pid = pg_backend_pid() AND locktype = 'advisory'
        AND classid = (hashtext('writers of the register')::bigint & 4294967295)::oid
        AND objid = (hashtext(%s::text)::bigint & 4294967295)::oid
"""
