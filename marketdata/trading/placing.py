"""Processes an order: checks and matches it, and may leave the rest in the book.

All work happens on a `Round`; no code here uses the database.
"""

from datetime import datetime
from typing import NamedTuple

import uuid_utils.compat as uuid

from issuers.register.ledger import Entry, Kind
from marketdata.trading.fees import OrderFees
from marketdata.trading.in_force import Ending, Stop, TimeInForce
from marketdata.trading.judging import (
    LONGEST,
    Eligible,
    check_active,
    check_inside,
    check_level,
    check_limit,
    check_movement,
    check_once,
    check_open_value,
    check_rate,
    check_rests,
    check_shape,
)
from marketdata.trading.models import Execution, Order, OrderStatus, Phase, row_of
from marketdata.trading.queues import BUY, SELL, Match, Resting
from marketdata.trading.round import Event, Request, Round

OUTSIDE_BAND = "OUTSIDE_BAND"
"""The reason that the market's log gives for an order that interrupts it."""


class Placed(NamedTuple):
    """An accepted order in its present state, and its executions."""

    order: Order
    executions: list[Execution]


def place(of: Round, request: Request) -> Placed:
    """Judge an order, match it, and place the rest in the book.

    Raises:
        PartnerAPIError: the reason for its refusal; nothing has changed. RanOut: it
        reaches orders that were not read; discard the round.
    """
    of.actor = of.writer.actor = request.actor
    client = of.clients[request.account_id]
    check_shape(of, request)
    check_active(client)
    check_rate(of, client)
    check_open_value(of, client, request.quantity * request.limit_price)
    check_once(of, request)
    order = row_of(
        Order,
        {
            "id": uuid.uuid7(),
            "token_id": of.book.token_id,
            "account_id": client.account_id,
            "user_id": client.user_id,
            "ledger_account_id": client.ledger_account,
            "cash_account_id": client.cash_account,
            "partner_id": client.partner_id,
            "side": request.side,
            "limit_price": request.limit_price,
            "quantity": request.quantity,
            "filled": 0,
            "filled_value": 0,
            "time_in_force": request.time_in_force,
            "expires_at": expiry(of, request),
            "status": OrderStatus.OPEN,
            "status_reason": None,
            "priority": 0,
            "version": 1,
            "last_event": 0,
            "client_order_id": request.client_order_id,
            "created_at": of.at,
            "updated_at": of.at,
        },
    )
    if tariff := of.tariffs.get(client.partner_id):
        of.fees[order.pk] = OrderFees(tariff)
    check_movement(of, order, order.quantity)
    taker, match = meet(of, order)
    if request.post_only:
        check_rests(of, order, match)
    check_inside(of, match)
    close(of, match)
    of.orders[order.pk] = order
    of.new[order.pk] = order
    if taken := of.taken.get(order.partner_id):
        taken.orders += 1
    if request.client_order_id is not None:
        of.used_ids[order.account_id, request.client_order_id] = order.pk
    of.decide(
        Event.ORDER_ACCEPTED,
        order,
        order.quantity,
        order.limit_price,
        interrupts(match),
    )
    order.priority = of.tell(order)
    executions = settle(of, order, taker, match)
    of.open_counts[order.account_id] += order.status == OrderStatus.OPEN
    end_message(of, match)
    return Placed(order, executions)


def amend(
    of: Round, order: Order, quantity: int, limit_price: int, post_only: bool
) -> bool:
    """Change an order's quantity or limit; returns whether it kept its place.

    Raises:
        PartnerAPIError: the reason for its refusal; discard the round. RanOut: as
        `place`.
    """
    before = (order.limit_price, order.remaining)
    check_limit(of, quantity, limit_price, order.filled)
    of.release(order, order.remaining)
    of.reserve_fee(order, 0)
    if order.pk in of.queues.orders:
        of.queues.remove(order.pk)
    remaining = quantity - order.filled
    check_level(of, order.side, limit_price, remaining)
    client = of.clients[order.account_id]
    check_active(client)
    order.quantity, order.limit_price = quantity, limit_price
    check_open_value(of, client, limit_price * remaining)
    check_movement(of, order, remaining)
    keeps = limit_price == before[0] and remaining <= before[1]
    match = Match(left=remaining)
    taker = Resting(order.pk, order.user_id, order.side, limit_price, remaining)
    if not keeps:
        taker, match = meet(of, order)
        if post_only:
            check_rests(of, order, match)
    close(of, match)
    order.version += 1
    of.decide(Event.ORDER_AMENDED, order, quantity, limit_price, interrupts(match))
    number = of.tell(order)
    if not keeps:
        order.priority = number
    settle(of, order, taker, match)
    end_message(of, match)
    return keeps


def expiry(of: Round, request: Request) -> datetime | None:
    match TimeInForce(request.time_in_force).ending:
        case Ending.SESSION:
            return of.book.session.next_close(of.at)
        case Ending.LATEST:
            return of.at + LONGEST
        case Ending.CHOSEN:
            return request.expires_at
        case Stop():
            return None


def meet(of: Round, order: Order) -> tuple[Resting, Match]:
    taker = Resting(
        order.pk, order.user_id, order.side, order.limit_price, order.remaining
    )
    if of.book.phase == Phase.CALL:
        return taker, Match(left=taker.quantity)
    may = Eligible(of, order)
    return taker, of.queues.match(taker, order.time_in_force, may, of.book.band)


def interrupts(match: Match) -> str | None:
    """Why an order that is accepted or amended interrupts its market, if it does."""
    return OUTSIDE_BAND if match.is_outside else None


def end_message(of: Round, match: Match) -> None:
    if match.is_outside:
        of.interrupt()
    of.end_message()


def close(of: Round, match: Match) -> None:
    """End orders whose fill a rule forbids."""
    for maker in match.closed:
        order = of.orders[maker.order]  # type: ignore[index]
        of.end(order, OrderStatus.CANCELLED, "NOT_ELIGIBLE")
    match.closed.clear()


def settle(of: Round, order: Order, taker: Resting, match: Match) -> list[Execution]:
    fills = [
        (of.orders[fill.maker.order], fill.quantity)  # type: ignore[index]
        for fill in match.fills
    ]
    of.queues.apply(taker, match)
    executions = [trade(of, order, maker, quantity) for maker, quantity in fills]
    if executions:
        of.book.last_price = executions[-1].price
    if match.left and match.stop is None:
        of.reserve(order, match.left)
        of.reserve_fee(order, match.left)
    elif match.stop is not None:
        of.stop(order, OrderStatus.CANCELLED, match.stop.value)
    return executions


def trade(of: Round, taker: Order, maker: Order, quantity: int) -> Execution:
    price = maker.limit_price
    value = price * quantity
    buy, sell = (taker, maker) if taker.side == BUY else (maker, taker)
    of.release(maker, quantity)
    of.book.trade += 1
    entry = Entry(
        of.book.token_id,
        Kind.TRADE,
        quantity,
        sell.ledger_account_id,
        buy.ledger_account_id,
    )
    recorded = of.writer.enter(entry, of.moved)
    of.cash[buy.cash_account_id].balance -= value
    of.cash[sell.cash_account_id].balance += value
    of.decide(Event.ORDER_TRADED, maker, quantity)
    for order in (maker, taker):
        order.filled += quantity
        order.filled_value += value
        if not order.remaining:
            order.status = OrderStatus.FILLED
        of.tell(order)
    paid = {o.side: of.charge(o, value, o is taker) for o in (maker, taker)}
    of.reserve_fee(maker, maker.remaining)
    execution = row_of(
        Execution,
        {
            "token_id": of.book.token_id,
            "sequence": of.book.trade,
            "buy_order_id": buy.pk,
            "sell_order_id": sell.pk,
            "buyer_account_id": buy.account_id,
            "seller_account_id": sell.account_id,
            "price": price,
            "quantity": quantity,
            "aggressor": taker.side,
            "ledger_seq": recorded.number,
            "event": of.book.event,
            "at": of.at,
            "fees": (paid[BUY], paid[SELL]),
        },
    )
    of.executions.append(execution)
    return execution
