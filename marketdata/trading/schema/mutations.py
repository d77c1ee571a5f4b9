"""Orders that partners place, amend and cancel."""

from collections import defaultdict
from functools import partial
from operator import call
from typing import NamedTuple
from uuid import UUID

import graphene
from django.db import OperationalError, transaction
from django.utils import timezone

from accounts.access import Scope, check_scope
from issuers.compliance.errors import refusals_of
from issuers.schema.compliance import REFUSALS, TransferRefusal
from marketdata.trading import market
from marketdata.trading.controls import sweep
from marketdata.trading.errors import MarketClosed, NotTradable
from marketdata.trading.groups import Groups
from marketdata.trading.in_force import OrderStatusReason
from marketdata.trading.limits import limits_of
from marketdata.trading.models import Order as OrderModel
from marketdata.trading.models import OrderStatus
from marketdata.trading.refused import refused_orders
from marketdata.trading.round import Request
from marketdata.trading.schema import inputs
from marketdata.trading.schema.answers import OrderRow, execution_rows
from marketdata.trading.schema.controls import KILL_SWITCH, block, check_number
from marketdata.trading.schema.orders import Execution, Order
from marketdata.trading.schema.timing import within_time
from partnerapi.core.errors import (
    BadUserInput,
    NotFound,
    PartnerAPIError,
    RequestTimeout,
)
from partnerapi.core.lock_waits import LockTimeout
from partnerapi.core.postgresql.faults import took_too_long
from partnerapi.graphql.cost import MUTATION, OBJECT, Cost, Field
from partnerapi.graphql.relay import key_of
from partnerapi.graphql.resolvers import (
    check_first,
    commits_itself,
    in_groups,
    stops_orders,
)

MOST_POINTS, MOST_POINTS_OF_LIST = 70, 15
"""Of what is selected of an answer: the book is held until it is written."""
TRADE = Cost(points=MUTATION.points, most_below=MOST_POINTS)
TRADE_LIST = Cost(points=MUTATION.points, most_below=MOST_POINTS_OF_LIST)
EXECUTIONS = Cost(most=5_000)
"""An order trades with at most so many others at once."""


def check_place(context, input):
    check_scope(context.caller, Scope.TRADING_WRITE)
    if input:
        inputs.check_order(input)


def check_place_list(context, input):
    check_scope(context.caller, Scope.TRADING_WRITE)
    if not input:
        return
    count = len(input["orders"])
    if not 1 <= count <= inputs.MOST_ORDERS:
        raise BadUserInput(
            f"`orders` holds {count} orders; send 1 to {inputs.MOST_ORDERS}.",
            argument="input.orders",
            maximum=inputs.MOST_ORDERS,
        )
    for number, order in enumerate(input["orders"]):
        inputs.check_order(order, f"input.orders.{number}")


def check_amend(context, input):
    check_scope(context.caller, Scope.TRADING_WRITE)
    if not input:
        return
    if input.get("quantity") is None and input.get("limit_price") is None:
        raise BadUserInput(
            "`quantity` and `limitPrice` are both left out; send one of them, or both.",
            argument="input",
        )
    for name, field in (("quantity", "quantity"), ("limit_price", "limitPrice")):
        if input.get(name) == 0:
            raise BadUserInput(
                f"`{field}` is 0; send 1 or more.", argument=f"input.{field}"
            )


def check_cancel(context, input):
    check_scope(context.caller, Scope.TRADING_WRITE)


class OrderAndExecutions:
    # Placing and amending answer with it; each describes its `executions` itself.
    order = Field(Order, required=True, cost=OBJECT, description="The order.")

    def resolve_order(payloads, info):
        return [OrderRow(payload.order) for payload in payloads]

    def resolve_executions(payloads, info):
        return [execution_rows(p.order, p.executions) for p in payloads]


class PlaceOrderPayload(OrderAndExecutions, graphene.ObjectType):
    """The order after its immediate fills."""

    executions = Field(
        graphene.List(graphene.NonNull(Execution)),
        required=True,
        cost=EXECUTIONS,
        description="Its immediate fills, in order.",
    )


class PlaceOrderResult(graphene.ObjectType):
    """The result of one order of a list: accepted, or refused with `code`."""

    order = Field(
        Order,
        cost=OBJECT,
        description="The order after the whole list was processed; null if it was "
        "refused.",
    )
    code = graphene.String(
        description="Error code if it was refused; null if it was accepted."
    )
    message = graphene.String(description="The reason in words.")
    refusals = Field(
        graphene.List(graphene.NonNull(TransferRefusal)),
        required=True,
        cost=REFUSALS,
        description="For TRANSFER_REFUSED: each rule that refuses it.",
    )

    def resolve_order(results, info):
        return [None if is_refused(r) else OrderRow(r.order) for r in results]

    def resolve_code(results, info):
        return [result.code if is_refused(result) else None for result in results]

    def resolve_message(results, info):
        return [str(result) if is_refused(result) else None for result in results]

    def resolve_refusals(results, info):
        return [refusals_of(r) if is_refused(r) else [] for r in results]


def is_refused(result):
    return isinstance(result, PartnerAPIError)


def named_for_partner(refusal):
    """The refusal, with ids and arguments as partners know them."""
    details = refusal.details
    if "orderID" in details:
        details["orderID"] = f"Order|{details['orderID']}"
    if isinstance(refusal, BadUserInput):
        named = "quantity" if "minimum" in details else "expiresAt"
        details.setdefault("argument", f"input.{named}")
    return refusal


class PlaceOrdersPayload(graphene.ObjectType):
    """The results of a list of orders."""

    results = Field(
        graphene.List(graphene.NonNull(PlaceOrderResult)),
        required=True,
        cost=Cost(most=inputs.MOST_ORDERS),
        description="One per order, in the order of the list.",
    )

    def resolve_results(payloads, info):
        return payloads


class AmendOrderPayload(OrderAndExecutions, graphene.ObjectType):
    """The order after the immediate fills of the amendment."""

    executions = Field(
        graphene.List(graphene.NonNull(Execution)),
        required=True,
        cost=EXECUTIONS,
        description="Immediate fills of the amendment, in order.",
    )
    kept_priority = graphene.Boolean(
        required=True,
        description="Whether it kept its time priority: only a smaller quantity at the "
        "same limit price does.",
    )


class CancelOrderPayload(graphene.ObjectType):
    """The order, no longer in the book."""

    order = Field(
        Order,
        required=True,
        cost=OBJECT,
        description="The order: CANCELLED, or its previous status if it had already "
        "ended.",
    )

    def resolve_order(payloads, info):
        return [OrderRow(order) for order in payloads]


class Cancelled(NamedTuple):
    cancelled: int
    blocked: bool


class CancelOrdersPayload(graphene.ObjectType):
    """Number of orders cancelled."""

    cancelled = graphene.Int(
        required=True, description="Number of orders that were OPEN."
    )
    blocked = graphene.Boolean(
        required=True,
        description="Whether such orders are blocked now, because of `block: true`.",
    )


def own_order(caller, text):
    """An order of the caller's, as it is.

    Raises:
        NotFound
    """
    key = key_of(text, "Order")
    orders = OrderModel.objects.filter(partner_id=caller.partner_id)
    order = orders.filter(pk=key).first() if key else None
    if order is None:
        raise NotFound("You have no order of this id.", argument="input.orderID")
    return order


def market_of(selection, input):
    """The token of an order; None where its answer reads more than the writer holds."""
    parts = [f.selection for f in selection.fields(selection.type.name) if f.selection]
    reads = any(f.selection for part in parts for f in part.fields(part.type.name))
    return None if reads else key_of(input["token_id"], "Token")


def place_together(token_id, calls):
    orders = [(context, given["input"]) for context, given in calls]
    # Of a group that fails, each goes alone, and is refused then.
    return place(f"Token|{token_id}", orders, transaction.on_commit)


def is_trial_of(context):
    return context.trial is not None


def place(token_text, orders, when=call):
    """Place orders for one token, of several contexts, in one call of the market.

    Returns for each what came of it, or why it is refused. `when` is when to note that.
    """
    results = [None] * len(orders)
    requests, token = {}, None
    by_caller = defaultdict(list)
    for number, (context, _) in enumerate(orders):
        by_caller[context.caller].append(number)
    for caller, numbers in by_caller.items():
        sent = {number: orders[number][1] for number in numbers}
        try:
            token = inputs.token_named(caller, token_text)
        except NotFound as refusal:
            results = [refusal if n in sent else r for n, r in enumerate(results)]
            continue
        texts = [input["account_id"] for input in sent.values()]
        accounts = inputs.accounts_named(caller, texts)
        for number, input in sent.items():
            if account := accounts.get(input["account_id"]):
                requests[number] = inputs.request_of(input, account, caller.login)
            else:
                results[number] = inputs.no_account()
    in_turn = sorted(requests)
    wanted = [requests[number] for number in in_turn]
    is_trial = any(is_trial_of(context) for context, _ in orders)
    limits = [each for caller in by_caller for each in limits_of(caller)]
    for number, placed in zip(
        in_turn, place_each(token, wanted, is_trial, {*limits}), strict=True
    ):
        results[number] = placed
        if is_refused(placed):
            named_for_partner(placed)
            context, _ = orders[number]
            when(partial(note_refused, context, token, requests[number], placed))
    return results


def note_refused(context, token_id, request, refusal, order_id=None):
    """Keep what a market has refused, unless it was only tried."""
    if not is_trial_of(context):
        refused_orders.note(
            UUID(context.caller.partner_id), timezone.now(), token_id, request,
            refusal, order_id,
        )  # fmt: skip


def place_each(token, requests, is_trial, limits):
    if not requests:
        return []
    try:
        with within_time():
            return market.place_each(token, requests, is_trial, limits)
    except (NotTradable, MarketClosed) as refusal:
        return [refusal for _ in requests]


LOCKS = (
    "If the book stays locked for 2 seconds, the request fails with TIMEOUT: "
    "nothing happened, and you can retry it."
)
BLOCK_STANDS = (
    "The block stands, but the wait for a lock or a statement took too long, or an "
    "auction settles, and some orders are still open; send the same request again to "
    "cancel them."
)
SELECTION = (
    f"The selection may cost at most {MOST_POINTS} points, because other orders wait "
    "meanwhile; a list of any number counts as one item."
)


class Mutation(graphene.ObjectType):
    place_order = Field(
        PlaceOrderPayload,
        cost=TRADE,
        input=inputs.PlaceOrderInput(required=True, description="The order."),
        description="Place an order. Immediate fills are settled when you get the "
        "response: units in the register, cash in the accounts. While the "
        "order rests, its cash or units are reserved. If it is refused, "
        "with one of the codes NOT_TRADABLE, MARKET_CLOSED, "
        "ORDERS_BLOCKED, ACCOUNT_NOT_ACTIVE, INSUFFICIENT_FUNDS, INSUFFICIENT_UNITS, "
        "TICK_SIZE, LOT_SIZE, PRICE_OUTSIDE_COLLAR, ORDER_VALUE_TOO_LARGE, "
        "ONLY_RESTING_ORDERS, TOO_MANY_OPEN_ORDERS, ORDER_RATE_EXCEEDED, "
        "OPEN_VALUE_EXCEEDED, TRANSFER_REFUSED, WOULD_TRADE, OUTSIDE_BAND and "
        f"DUPLICATE_CLIENT_ORDER_ID, it does not exist. {LOCKS} {SELECTION} "
        "Needs the scope `trading:write`.",
    )
    place_orders = Field(
        PlaceOrdersPayload,
        cost=TRADE_LIST,
        input=inputs.PlaceOrdersInput(
            required=True, description="The token and the orders."
        ),
        description="Place a list of orders for one token, one after the other in one "
        "transaction. Refusals of individual orders are in their results; an "
        f"error refuses the whole list. {LOCKS} The selection may cost at most "
        f"{MOST_POINTS_OF_LIST} points, with one result and one refusal. Needs the "
        "scope `trading:write`.",
    )
    amend_order = Field(
        AmendOrderPayload,
        cost=TRADE,
        input=inputs.AmendOrderInput(
            required=True, description="The order and its new values."
        ),
        description="Change the quantity or the limit price of an OPEN order. If the "
        "amendment is refused, with a code of `placeOrder`, ORDER_NOT_OPEN or "
        f"ORDER_CHANGED, the order stays as it was. {LOCKS} {SELECTION} Needs the "
        "scope `trading:write`.",
    )
    cancel_order = Field(
        CancelOrderPayload,
        cost=TRADE,
        input=inputs.CancelOrderInput(
            required=True, description="The order to cancel."
        ),
        description="Cancel the untraded units of an order, in any phase of the "
        "market. For an order that has ended it also succeeds, and the "
        f"response shows its status. {LOCKS} {SELECTION} Needs the scope "
        "`trading:write`.",
    )
    cancel_orders = Field(
        CancelOrdersPayload,
        cost=TRADE,
        input=inputs.CancelOrdersInput(
            required=True,
            description="The orders to cancel; if empty, all your orders.",
        ),
        description="Cancel all open orders of an account, of a token, or all your "
        f"orders, in one transaction. {LOCKS} With `block: true` it first blocks such "
        "orders, and then cancels market by market. What it has done stays done, even "
        "if it fails later: send it again. It stores no answer, and each repetition "
        f"blocks anew. {KILL_SWITCH} Needs the scope `trading:write`.",
    )

    @in_groups(Groups(market_of, place_together))
    @check_first(check_place)
    def resolve_place_order(roots, info, input):
        [placed] = roots
        return [placed] if placed else place(input["token_id"], [(info.context, input)])

    @check_first(check_place_list)
    def resolve_place_orders(roots, info, input):
        caller, orders = info.context.caller, input["orders"]
        token = inputs.token_named(caller, input["token_id"])
        accounts = inputs.accounts_named(caller, [o["account_id"] for o in orders])
        requests = [
            inputs.request_of(order, accounts[order["account_id"]], caller.login)
            for order in orders
            if order["account_id"] in accounts
        ]
        keep = partial(note_refused, info.context, token)
        try:
            with within_time():
                is_trial = is_trial_of(info.context)
                results = market.place_each(
                    token, requests, is_trial, limits_of(caller)
                )
        except (NotTradable, MarketClosed) as refusal:
            for request in requests:
                keep(request, refusal)
            raise
        for request, result in zip(requests, results, strict=True):
            if is_refused(result):
                # Nothing is kept of a list whose commit fails.
                transaction.on_commit(partial(keep, request, result))
        placed = iter(results)
        return [
            [
                next(placed)
                if order["account_id"] in accounts
                else inputs.no_account(f"input.orders.{number}")
                for number, order in enumerate(orders)
            ]
        ]

    @check_first(check_amend)
    def resolve_amend_order(roots, info, input):
        caller = info.context.caller
        order = own_order(caller, input["order_id"])
        wanted = {name: input.get(name) for name in ("quantity", "limit_price")}
        try:
            with within_time():
                amended = market.amend(
                    order.pk,
                    input["version"],
                    caller.login,
                    **wanted,
                    post_only=bool(input["post_only"]),
                    is_trial=is_trial_of(info.context),
                    limits=limits_of(caller),
                )
        except RequestTimeout:
            raise
        except PartnerAPIError as refusal:
            asked = Request(
                order.account_id,
                order.side,
                wanted["quantity"] or order.quantity,
                wanted["limit_price"] or order.limit_price,
                caller.login,
                order.time_in_force,
                client_order_id=order.client_order_id,
            )
            note_refused(info.context, order.token_id, asked, refusal, order.pk)
            raise named_for_partner(refusal) from None
        return [amended]

    @check_first(check_cancel)
    def resolve_cancel_order(roots, info, input):
        caller = info.context.caller
        order = own_order(caller, input["order_id"])
        if order.status != OrderStatus.OPEN:
            return [order]
        with within_time():
            cancelled = market.cancel_each(
                order.token_id,
                [order.pk],
                OrderStatusReason.BY_PARTNER,
                caller.login,
                is_trial_of(info.context),
            )
        # It may have ended before the book was ours.
        return cancelled or [own_order(caller, input["order_id"])]

    @stops_orders
    @commits_itself(lambda input: input["block"])
    @check_first(check_cancel)
    def resolve_cancel_orders(roots, info, input):
        caller = info.context.caller
        account, token = inputs.scope_named(caller, input)
        orders = OrderModel.objects.filter(partner_id=caller.partner_id)
        if account:
            orders = orders.filter(account=account)
        if token:
            orders = orders.filter(token=token)
        if is_trial_of(info.context):
            if input["block"]:
                check_number(caller, account, token)
            count = orders.filter(status=OrderStatus.OPEN).count()
            return [Cancelled(count, input["block"])]
        by = OrderStatusReason.BY_PARTNER, caller.login
        with within_time():
            if not input["block"]:
                return [Cancelled(market.cancel_all(orders, *by), False)]
            block(caller, account, token)
        try:
            return [Cancelled(sweep(orders, *by), True)]
        except (OperationalError, LockTimeout) as error:
            if isinstance(error, OperationalError) and not took_too_long(error):
                raise
            raise RequestTimeout(BLOCK_STANDS, outcome="PARTLY_COMMITTED") from error
