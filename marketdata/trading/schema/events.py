"""The fields of order events, apart from their subject."""

import graphene

from issuers.models.events import EventType
from marketdata.trading.models import Auction
from marketdata.trading.schema.enums import MarketPhase, OrderStatusReason
from marketdata.trading.schema.fills import fills_of_orders
from marketdata.trading.schema.orders import Execution, Order, orders_of
from partnerapi.graphql.cost import FOUND, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Int64, Time, Uint64

OF_ORDERS = [t for t in EventType if t.startswith(("ORDER_", "TRADE_"))]


@needs("type", "subject_id")
def read_orders(events, info):
    orders = orders_of(info.context.caller)
    ids = [e.subject_id if e.type in OF_ORDERS else None for e in events]
    return read_rows("Order", info, orders, ids)


@needs("type", "subject_id", "trade")
def read_executions(events, info):
    wanted = {(e.subject_id, e.trade) for e in events if e.trade is not None}
    if not wanted:
        return [None for _ in events]
    found = fills_of_orders(wanted)
    return [found.get((e.subject_id, e.trade)) for e in events]


@needs("type", "reason")
def read_reasons(events, info):
    return [e.reason if e.type in OF_ORDERS else None for e in events]


@needs("type", "remaining")
def read_rests(events, info):
    return [e.remaining if e.type in OF_ORDERS else None for e in events]


@needs("type", "remaining")
def read_imbalances(events, info):
    is_indicated = EventType.AUCTION_INDICATED
    return [e.remaining if e.type == is_indicated else None for e in events]


@needs("type", "token_id", "order_event")
def read_ends_of_calls(events, info):
    wanted = {
        (e.token_id, e.order_event)
        for e in events
        if e.type == EventType.MARKET_PHASE_CHANGED
    }
    ended = Auction.objects.filter(
        token__in={token for token, _ in wanted},
        ended__in={number for _, number in wanted},
    )
    rows = ended.values_list("token", "ended", "ends_at")
    found = {(str(token), number): at for token, number, at in rows}
    return [found.get((e.token_id, e.order_event)) for e in events]


@needs("type", "reason")
def read_phases(events, info):
    return [
        e.reason if e.type == EventType.MARKET_PHASE_CHANGED else None for e in events
    ]


FIELDS = {
    "order": graphene.Field(
        Order,
        resolver=read_orders,
        description="For order events: the order, as it is now.",
    ),
    "execution": graphene.Field(
        Execution,
        resolver=read_executions,
        description="For ORDER_TRADED, TRADE_BUSTED and TRADE_BUST_REQUESTED: your "
        "side of the trade.",
    ),
    "price": graphene.Field(
        Uint64,
        resolver=column("price"),
        description="For ORDER_ACCEPTED, ORDER_AMENDED and ORDER_ENDS_AT_OPENING: the "
        "limit price at the time. For ORDER_TRADED and TRADE_BUSTED: the trade price. "
        "For TRADE_BUST_REQUESTED: the price of the trade that would take its place. "
        "For AUCTION_INDICATED, and MARKET_PHASE_CHANGED after an auction: the price "
        "of the auction, null if nothing trades. Euro cents.",
    ),
    "quantity": graphene.Field(
        Uint64,
        resolver=column("quantity"),
        description="For ORDER_ACCEPTED, ORDER_AMENDED and ORDER_ENDS_AT_OPENING: the "
        "order's units at the time. For ORDER_TRADED, TRADE_BUSTED and "
        "TRADE_BUST_REQUESTED: the trade's units. For AUCTION_INDICATED, and "
        "MARKET_PHASE_CHANGED after an auction: the units that trade in it.",
    ),
    "remaining_quantity": graphene.Field(
        Uint64,
        resolver=read_rests,
        description="Untraded units of the order after the event.",
    ),
    "imbalance": graphene.Field(
        Int64,
        resolver=read_imbalances,
        description="For AUCTION_INDICATED: how many units more are bid than offered "
        "at the price; negative: how many more are offered.",
    ),
    "reason": graphene.Field(
        OrderStatusReason,
        resolver=read_reasons,
        description="For ORDER_CANCELLED, ORDER_EXPIRED and ORDER_ENDS_AT_OPENING: the "
        "reason.",
    ),
    "phase": graphene.Field(
        MarketPhase,
        resolver=read_phases,
        description="For MARKET_PHASE_CHANGED: the phase that began.",
    ),
    "call_ended_at": Field(
        Time,
        cost=FOUND,
        resolver=read_ends_of_calls,
        description="For MARKET_PHASE_CHANGED that ends a call: the instant of its "
        "end, which was drawn and secret until then.",
    ),
}
"""The fields of an event that trading adds."""
