"""Computes a market's fees anew from its executions, busts and tariffs."""

from collections.abc import Iterator
from uuid import UUID

from marketdata.trading.fees import Fee, OrderFees
from marketdata.trading.models import (
    Bust,
    Execution,
    ExecutionFee,
    Order,
    OrderFee,
    OrderSide,
    OrderStatus,
    Tariff,
)
from marketdata.trading.queues import BUY, SELL

PAID, BACK = False, True


def replay_fees(token_id: UUID) -> Iterator[str]:
    """A sentence for each fee that is not what its order's tariff says.

    Executions and busts are taken in the order of the market's log.
    """
    tariffs = list(Tariff.objects.filter(token=token_id))
    found = OrderFee.objects.filter(order__token=token_id)
    rows = {row.order_id: row for row in found.select_related("order", "tariff")}
    fees = {order: OrderFees(row.tariff.terms) for order, row in rows.items()}
    for row in rows.values():
        if row.tariff_id != tariff_of(tariffs, row.order):
            yield f"order {row.order_id} has another tariff than that of its acceptance"
    due = dict(replayed(token_id, fees))
    paid = {
        (row.sequence, row.side, row.is_refund): Fee(row.net, row.vat)
        for row in ExecutionFee.objects.filter(token=token_id)
    }
    for key in sorted(due.keys() | paid.keys()):
        if due.get(key) != paid.get(key):
            trade, side, _ = key
            said = f"{paid.get(key)} instead of {due.get(key)}"
            yield f"trade {trade}, {OrderSide(side).label.lower()}: {said}"
    for order, row in rows.items():
        so_far, of = fees[order], row.order
        is_open = of.side == BUY and of.status == OrderStatus.OPEN
        so_far.reserved = so_far.held(of.limit_price * of.remaining) if is_open else 0
        if row.so_far != so_far:
            yield f"order {order}: {row.so_far} instead of {so_far}"


def tariff_of(tariffs: list[Tariff], order: Order) -> int | None:
    """The tariff in force at the acceptance of an order, a partner's own first."""
    standing = [
        (row.partner_id is not None, row.valid_from, row.pk)
        for row in tariffs
        if row.partner_id in (None, order.partner_id)
        and row.valid_from <= order.created_at
        and (row.ended_at is None or row.ended_at > order.created_at)
    ]
    return max(standing)[2] if standing else None


def replayed(
    token_id: UUID, fees: dict[UUID, OrderFees]
) -> Iterator[tuple[tuple[int, int, bool], Fee]]:
    """What each side of each execution pays, and gets back with its bust."""
    trades = {row.sequence: row for row in Execution.objects.filter(token=token_id)}
    busts = Bust.objects.filter(token=token_id)
    events = [(row.event, row.sequence, PAID) for row in trades.values()]
    events += [(row.event, row.sequence, BACK) for row in busts]
    for _, trade, is_back in sorted(events):
        row = trades[trade]
        for side, order in ((BUY, row.buy_order_id), (SELL, row.sell_order_id)):
            if order not in fees:
                continue
            change = fees[order].bust if is_back else fees[order].fill
            fee = change(row.price * row.quantity, row.aggressor == side, side == SELL)
            if fee.total:
                sign = -1 if is_back else 1
                yield (trade, side, is_back), Fee(sign * fee.net, sign * fee.vat)
