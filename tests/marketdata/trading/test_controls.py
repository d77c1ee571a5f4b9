"""Blocks of orders: whom they stop, since when, and who releases them."""

import random
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import product
from threading import Event, Thread
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from accounts.keys.models import Partner
from issuers.models import Token
from marketdata.trading import controls, locked, market, phases, uncrossing
from marketdata.trading.errors import OrdersBlocked, PriceOutsideCollar
from marketdata.trading.models import Order, OrderBlock
from partnerapi.core.database import value_of
from partnerapi.sandbox.data.approvals import (
    approved_key,
    carry_out_requests,
    file_and_approve,
)
from tests.api.test_orders import CHECK, PLACE, Trading, once, trading
from tests.approved import asker
from tests.characters import Answer, Ask, World
from tests.marketdata.trading.test_calls import OVER
from tests.marketdata.trading.test_clock import running
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    codes,
    deposit,
    new_clients,
    new_market,
    new_partner,
    place,
    placed,
    sell,
)
from tests.owner import tamper
from tests.threads import in_threads
from tests.waiting import until, until_waiting_for_a_lock

__all__ = ["trading"]

COMMITS = pytest.mark.django_db(transaction=True)
CANCEL = """
mutation ($input: CancelOrdersInput!) {
  cancelOrders(input: $input) { cancelled blocked }
}
"""
BLOCK = """
mutation ($input: BlockOrdersInput!) {
  blockOrders(input: $input) {
    block { account { id } token { id } byStaff reason since } } }
"""
RELEASE = """
mutation ($input: BlockOrdersInput!) { releaseOrders(input: $input) { released } }
"""
BLOCKS = "{ orderBlocks { account { id } token { id } byStaff reason } }"
EVENTS = """
{ events(types: [ORDERS_BLOCKED, ORDERS_RELEASED]) {
    nodes { type subject { id } account { id } token { id } } } }
"""


def test_orders_are_refused_until_the_partner_releases_them(
    trading: Trading, partner: Ask
):
    order = trading.order(trading.buyer, "BUY", 1, 100)
    resting = once(partner, PLACE, **order).data["placeOrder"]["order"]
    done = once(partner, CANCEL, block=True).data["cancelOrders"]
    assert done == {"cancelled": 1, "blocked": True}
    assert once(partner, PLACE, **order).code == "ORDERS_BLOCKED"
    checked = partner(CHECK, {"input": order}).data["checkOrder"]
    assert (checked["allowed"], checked["code"]) == (False, "ORDERS_BLOCKED")
    assert Order.objects.get(pk=resting["id"][6:]).status_reason == "BY_PARTNER"
    [block] = partner(BLOCKS).data["orderBlocks"]
    assert block == {"account": None, "token": None, "byStaff": False, "reason": ""}
    assert once(partner, RELEASE).data["releaseOrders"] == {"released": True}
    assert once(partner, RELEASE).data["releaseOrders"] == {"released": False}
    assert once(partner, PLACE, **order).data["placeOrder"]["order"]["status"] == "OPEN"
    as_committed()
    told = partner(EVENTS).data["events"]["nodes"]
    assert [e["type"] for e in told] == ["ORDERS_BLOCKED", "ORDERS_RELEASED"]


def test_a_block_of_an_account_names_it_and_open_orders_stay(
    trading: Trading, partner: Ask
):
    order = trading.order(trading.buyer, "BUY", 1, 100)
    open_one = once(partner, PLACE, **order).data["placeOrder"]["order"]["id"]
    account = f"Account|{trading.buyer.pk}"
    of = {"accountID": account, "tokenID": order["tokenID"]}
    block = once(partner, BLOCK, **of).data["blockOrders"]["block"]
    assert (block["account"]["id"], block["token"]["id"]) == tuple(of.values())
    assert once(partner, PLACE, **order).code == "ORDERS_BLOCKED"
    amend = partial(market.amend, open_one[6:], 1, trading.buyer.partner.login)
    with pytest.raises(OrdersBlocked):
        amend(quantity=2)
    # As of a new order, the form is judged before the account.
    with pytest.raises(PriceOutsideCollar):
        amend(limit_price=1)
    assert Order.objects.get(pk=open_one[6:]).status == "OPEN"
    # A release is of the same account and token.
    released = once(partner, RELEASE, accountID=account).data["releaseOrders"]
    assert released == {"released": False}
    assert once(partner, RELEASE, **of).data["releaseOrders"] == {"released": True}
    as_committed()
    for event in partner(EVENTS).data["events"]["nodes"]:
        assert event["subject"] == event["account"] == {"id": account}


def test_a_block_that_is_tried_does_not_stand_and_needs_the_scope(
    trading: Trading, partner: Ask, world: World
):
    tried = partner(BLOCK, {"input": {}}, **{"X-Validate-Only": "true"})
    assert tried.data["blockOrders"]["block"]["account"] is None
    reader = Ask(approved_key(world.partner, [Scope.TRADING_READ])[1])
    assert once(reader, BLOCK).code == "FORBIDDEN"
    assert once(partner, BLOCK, accountID="Account|x").code == "NOT_FOUND"
    assert not OrderBlock.objects.exists()


def test_a_block_that_stands_is_set_once_more_where_no_other_may_be(
    trading: Trading, partner: Ask, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(controls, "MOST_BLOCKS", 1)
    assert once(partner, CANCEL, block=True).data
    assert once(partner, CANCEL, block=True).data
    assert once(partner, BLOCK).data
    of = {"accountID": f"Account|{trading.buyer.pk}"}
    assert once(partner, BLOCK, **of).code == "BAD_USER_INPUT"
    tried = {"input": {**of, "block": True}}
    answer = partner(CANCEL, tried, **{"X-Validate-Only": "true"})
    assert answer.code == "BAD_USER_INPUT"


def test_whom_blocks_stop_is_as_their_rows_say(db: None):
    """Random blocks of two partners, by both and by staff, against four lines."""
    chance = random.Random(39)
    partners = [new_partner(), new_partner()]
    accounts = [a for partner in partners for a in new_clients(2, partner)]
    either: list[Account | None] = [None, *accounts]
    tokens = [new_market(), new_market()]
    for account in accounts:
        deposit(account, 1_000_000)
    stand: dict[tuple[object, object, object, bool], UUID] = {}
    for _ in range(40):
        of = chance.choice(either)
        token = chance.choice([None, *tokens])
        partner: Partner | None = of.partner if of else chance.choice(partners)
        is_staff = chance.random() < 0.3
        if is_staff:
            token = None
            partner = partner if of or chance.random() < 0.5 else None
        key = (partner, of, token, is_staff)
        if key in stand and chance.random() < 0.7:
            released(OrderBlock.objects.get(pk=stand.pop(key)))
        else:
            stand[key] = controls.block(
                partner.pk if partner else None,
                of.pk if of else None,
                token.pk if token else None,
                partner.login if partner and not is_staff else asker(),
                "Drill" if is_staff else "",
            )
        for account, traded in product(accounts, tokens):
            expected = any(
                p in (None, account.partner)
                and a in (None, account)
                and t in (None, traded)
                for p, a, t, _ in stand
            )
            code = "ORDERS_BLOCKED" if expected else "OPEN"
            assert codes(place(traded, buy(account, 1, 90))) == [code], stand
    assert OrderBlock.objects.filter(released_at=None).count() == len(stand)


def released(block: OrderBlock) -> None:
    if not block.is_staff:
        assert block.partner
        assert controls.release(block.pk, block.partner.login)
        return
    with pytest.raises(DatabaseError, match="approval"), transaction.atomic():
        controls.release(block.pk, asker())
    content = controls.release_content(block)
    with (
        transaction.atomic(),
        carry_out_requests(file_and_approve(ApprovalKind.RELEASE, content)),
    ):
        assert controls.release(block.pk, asker())


def test_no_partner_releases_what_is_not_its_own(db: None):
    one, other = new_partner(), new_partner()
    block = controls.block(one.pk, None, None, one.login)
    for name in (other.login, "guest"):
        with pytest.raises(DatabaseError), transaction.atomic():
            controls.release(block, name)
        with pytest.raises(DatabaseError), transaction.atomic():
            controls.block(one.pk, None, None, name, "why")
    [account] = new_clients(1, other)
    with pytest.raises(DatabaseError, match="account of the partner"):
        controls.block(one.pk, account.pk, None, one.login)


def test_the_database_refuses_blocked_orders_too(
    db: None, monkeypatch: pytest.MonkeyPatch
):
    token, [account] = new_market(), new_clients(1)
    deposit(account, 1_000)
    order = placed(token, buy(account, 2, 100))
    controls.block(account.partner_id, None, None, account.partner.login)
    monkeypatch.setattr(
        locked.Client, "is_blocked", property(lambda client: False), raising=True
    )
    for attempt in (
        lambda: place(token, buy(account, 1, 100)),
        lambda: market.amend(order.pk, 1, account.partner.login, quantity=1),
    ):
        with pytest.raises(DatabaseError, match="rule of blocks"), transaction.atomic():
            attempt()


def test_staff_stop_orders_by_a_command(trading: Trading, partner: Ask, capsys):
    order = trading.order(trading.buyer, "BUY", 1, 100)
    once(partner, PLACE, **order)
    why = ["--reason", "Runaway", "--staff", asker()]
    call_command("market", "block", "--partner", trading.buyer.partner.login, *why)
    assert "1 order cancelled" in capsys.readouterr().out
    assert once(partner, PLACE, **order).code == "ORDERS_BLOCKED"
    [block] = partner(BLOCKS).data["orderBlocks"]
    assert (block["byStaff"], block["reason"]) == (True, "Runaway")
    assert Order.objects.get().status_reason == "BY_STAFF"
    # What staff blocked, the partner does not release.
    assert once(partner, RELEASE).data["releaseOrders"] == {"released": False}
    call_command("market", "block", "--everything", *why)
    call_command("market", "block", "--account", str(trading.buyer.pk), *why)
    assert OrderBlock.objects.count() == 3
    for of in OrderBlock.objects.all():
        released(of)
    as_committed()
    assert len(partner(EVENTS).data["events"]["nodes"]) == 6
    assert once(partner, PLACE, **order).data


AFTER = """
mutation ($input: CancelOrdersAfterInput!) {
  cancelOrdersAfter(input: $input) { firesAt }
}
"""
DUE = "UPDATE trading_canceltimer SET fires_at = clock_timestamp()"


def test_the_orders_of_a_silent_partner_end(trading: Trading, partner: Ask):
    order = trading.order(trading.buyer, "BUY", 1, 100)
    once(partner, PLACE, **order)
    [other] = new_clients(1)
    deposit(other, 1_000)
    stays = placed(trading.token, buy(other, 1, 90))
    first = once(partner, AFTER, seconds=60).data["cancelOrdersAfter"]["firesAt"]
    renewed = once(partner, AFTER, seconds=90).data["cancelOrdersAfter"]["firesAt"]
    assert datetime.fromisoformat(renewed) > datetime.fromisoformat(first)
    assert controls.fire_due() == 0
    tamper(DUE)
    assert controls.fire_due() == 1
    assert controls.fire_due() == 0
    as_committed()
    ended = Order.objects.get(partner=trading.buyer.partner_id)
    assert (ended.status, ended.status_reason) == ("CANCELLED", "CANCEL_TIMER")
    stays.refresh_from_db()
    assert stays.status == "OPEN"
    # It blocks nothing, and fires once.
    assert once(partner, PLACE, **order).data
    assert once(partner, AFTER, seconds=0).data == {
        "cancelOrdersAfter": {"firesAt": None}
    }
    for seconds in (-1, 86_401):
        assert once(partner, AFTER, seconds=seconds).code == "BAD_USER_INPUT"


def test_an_auction_that_settles_holds_a_timer_back_in_its_market_alone(
    trading: Trading, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(uncrossing, "FILLS", 1)
    buyer, held, other = trading.buyer, trading.token, new_market()
    phases.change_phase(held.pk, "CALL", asker())
    for _ in range(2):
        placed(held, sell(trading.seller, 1, 100))
    bound = placed(held, buy(buyer, 3, 100))
    rests = placed(other, buy(buyer, 1, 100))
    controls.cancel_after(buyer.partner_id, 60, buyer.partner.login)
    tamper(OVER, DUE)
    assert uncrossing.end(held.pk)
    assert controls.fire_due() == 1
    for order, status in ((bound, "OPEN"), (rests, "CANCELLED")):
        order.refresh_from_db()
        assert order.status == status
    while phases.uncross_due():
        pass
    assert controls.fire_due() == 1
    bound.refresh_from_db()
    assert (bound.status_reason, bound.filled) == ("CANCEL_TIMER", 2)
    assert controls.fire_due() == 0
    as_committed()


def test_no_order_ends_for_a_timer_that_did_not_fire(trading: Trading):
    order = placed(trading.token, buy(trading.buyer, 1, 100))
    controls.cancel_after(trading.buyer.partner_id, 60, trading.buyer.partner.login)
    with pytest.raises(DatabaseError, match="ends for a reason"), transaction.atomic():
        market.cancel_each(trading.token.pk, [order.pk], "CANCEL_TIMER", "market")
    with pytest.raises(DatabaseError, match="its own timer"), transaction.atomic():
        controls.cancel_after(trading.buyer.partner_id, 60, "guest")


@COMMITS
def test_the_clock_fires_a_timer():
    token, [account] = new_market(), new_clients(1)
    deposit(account, 1_000)
    order = placed(token, buy(account, 1, 100))
    controls.cancel_after(account.partner_id, 1, account.partner.login)
    with running():
        until(lambda: Order.objects.get(pk=order.pk).status == "CANCELLED")


def test_a_block_ends_what_no_auction_holds(
    trading: Trading, partner: Ask, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(uncrossing, "FILLS", 1)
    buyer, seller = trading.buyer, trading.seller
    held = trading.token
    phases.change_phase(held.pk, "CALL", asker())
    placed(held, sell(seller, 1, 100))
    placed(held, sell(seller, 1, 100))
    bound = placed(held, buy(buyer, 2, 100))
    other = new_market()
    assert held.pk < other.pk
    rests = placed(other, buy(buyer, 1, 100))
    as_committed()
    tamper(OVER)
    assert uncrossing.end(held.pk)
    [error] = once(partner, CANCEL, block=True).errors
    found = error["extensions"]
    assert (found["code"], found["outcome"]) == ("TIMEOUT", "PARTLY_COMMITTED")
    for order, status in ((bound, "OPEN"), (rests, "CANCELLED")):
        order.refresh_from_db()
        assert order.status == status
    assert OrderBlock.objects.filter(released_at=None).count() == 1
    while phases.uncross_due():
        pass
    as_committed()


@COMMITS
def test_a_block_waits_for_no_market():
    token, [account] = new_market(), new_clients(1)

    def work(number: int) -> None:
        controls.block(account.partner_id, None, None, account.partner.login)

    with transaction.atomic():
        locked.books([token.pk])
        assert in_threads(1, work) == []
    assert controls.standing_of(account.partner_id).exists()


@COMMITS
def test_a_block_waits_for_orders_under_way():
    token, [account] = new_market(), new_clients(1)
    deposit(account, 1_000)
    read, go_on = Event(), Event()
    done: list[str] = []

    def work(number: int) -> None:
        if number == 0:
            with transaction.atomic():
                done.extend(codes(place(token, buy(account, 1, 100))))
                read.set()
                go_on.wait()
            done.append("committed")
        elif number == 1:
            read.wait()
            controls.block(account.partner_id, None, None, account.partner.login)
            done.append("blocked")
        else:
            read.wait()
            until_waiting_for_a_lock()
            done.append("waits")
            go_on.set()

    assert in_threads(3, work) == []
    # The block may go on before its thread hears of the commit.
    assert done[:2] == ["OPEN", "waits"]
    assert sorted(done[2:]) == ["blocked", "committed"]
    assert codes(place(token, buy(account, 1, 100))) == ["ORDERS_BLOCKED"]


@COMMITS
def test_a_block_stands_whose_orders_wait_too_long(trading: Trading, partner: Ask):
    order = trading.order(trading.buyer, "BUY", 1, 100)
    assert "errors" not in once(partner, PLACE, **order).body
    answers: list[Answer] = []

    def work() -> None:
        try:
            answers.append(once(partner, CANCEL, block=True))
        finally:
            connection.close()

    with transaction.atomic():
        locked.books([trading.token.pk])
        # It waits for locks as long as it does in production.
        asking = Thread(target=work)
        asking.start()
        asking.join()
    [error] = answers[0].errors
    assert error["message"].startswith("The block stands")
    assert (error["extensions"]["code"], error["extensions"]["outcome"]) == (
        "TIMEOUT",
        "PARTLY_COMMITTED",
    )
    assert OrderBlock.objects.filter(released_at=None).count() == 1
    assert Order.objects.get().status == "OPEN"
    again = once(partner, CANCEL, block=True).data["cancelOrders"]
    assert again == {"cancelled": 1, "blocked": True}


@COMMITS
def test_nothing_rests_that_was_sent_around_a_kill():
    """Sixteen senders on four markets; each writes until it is refused."""
    tokens = [new_market() for _ in range(4)]
    accounts = new_clients(16, new_partner())
    for account in accounts:
        deposit(account, 1_000_000)
    partner = accounts[0].partner
    bystander = new_clients(1)[0]
    deposit(bystander, 1_000)
    began = Event()

    def work(number: int) -> None:
        if number == len(accounts):
            began.wait()
            controls.block(partner.pk, None, None, partner.login)
            orders = Order.objects.filter(partner=partner)
            controls.sweep(orders, "BY_PARTNER", partner.login)
            return
        for token in tokens_from(tokens, number):
            found = codes(place(token, *[buy(accounts[number], 1, 99)] * 3))
            began.set()
            if found == ["ORDERS_BLOCKED"] * 3:
                return

    assert in_threads(len(accounts) + 1, work) == []
    assert not Order.objects.filter(partner=partner, status="OPEN").exists()
    assert value_of(LATER) == 0
    assert codes(place(tokens[0], buy(bystander, 1, 99))) == ["OPEN"]


def tokens_from(tokens: list[Token], number: int) -> Iterator[Token]:
    while True:
        number += 1
        yield tokens[number % len(tokens)]


LATER = """
    SELECT count(*) FROM trading_order o JOIN trading_orderblock b
        ON b.partner_id = o.partner_id WHERE o.created_at > b.blocked_at
"""
