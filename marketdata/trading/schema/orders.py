"""Orders and executions, as the partner whose they are reads them."""

import graphene

from accounts.access import Scope, requires
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.schema import Account
from accounts.totals import Listed, totals
from issuers.models import Token as TokenModel
from issuers.schema.tokens import Token
from marketdata.trading import fees
from marketdata.trading.models import Order as OrderModel
from marketdata.trading.schema.enums import (
    Liquidity,
    OrderSide,
    OrderStatus,
    OrderStatusReason,
    OrderType,
    TimeInForce,
)
from marketdata.trading.schema.inputs import CLIENT_ORDER_ID
from marketdata.trading.telling import Fill
from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    connection_field,
    key_of,
)
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey


def newest_orders(name, parent=None):
    return OrderedList(
        name,
        "Order",
        OrderModel,
        (OrderKey("trading_order.created_at", "timestamptz"),),
        descending=True,
        parent=parent,
    )


def fills(name, parent, *keys, unique=False):
    return OrderedList(
        name,
        "Execution",
        Fill,
        tuple(OrderKey(f"trading_fill.{key}", type_) for key, type_ in keys),
        parent=parent,
        unique=unique,
    )


ORDERS = newest_orders("orders")
ORDERS_OF_ACCOUNT = newest_orders("accountOrders", "account_id")
FILLS_OF_ORDER = fills(
    "orderExecutions", "order_id", ("sequence", "bigint"), unique=True
)
BY_TIME = ("at", "timestamptz"), ("sequence", "bigint"), ("token_id", "uuid")
FILLS_OF_ACCOUNT = fills("accountExecutions", "account_id", *BY_TIME, unique=True)
# Both sides of a trade may be clients of one partner: the id tells them apart.
FILLS_OF_CLIENTS = fills("executions", None, *BY_TIME)


def orders_of(caller):
    """The orders of the caller's clients, given the scope."""
    if caller is None or Scope.TRADING_READ not in caller.scopes:
        return OrderModel.objects.none()
    return OrderModel.objects.filter(partner_id=caller.partner_id)


def read_tokens(rows, info):
    """Tokens of orders: a partner with an order for a token may see the token."""
    tokens = TokenModel.objects.all()
    return read_rows("Token", info, tokens, [row.token_id for row in rows])


class Fee(graphene.ObjectType):
    """A fee by the [tariff](/docs/trading#fees) of an order, in euro cents."""

    net = graphene.Int(required=True, description="Without tax, euro cents.")
    vat = graphene.Int(required=True, description="Value added tax, euro cents.")


class Execution(graphene.ObjectType):
    """Your order's side of a trade. The counterparty is never disclosed."""

    id = graphene.ID(
        required=True,
        description="Identifier of your side of the trade. `node` does not accept it.",
    )
    order = graphene.Field(
        lambda: Order, required=True, description="The order, as it is now."
    )
    token = graphene.Field(Token, required=True, description="The token.")
    side = OrderSide(required=True, description="Whether you bought or sold.")
    price = Uint64(required=True, description="Price of a unit, euro cents.")
    quantity = Uint64(required=True, description="Units that changed hands.")
    value = Uint64(required=True, description="Price times quantity, euro cents.")
    liquidity = Liquidity(
        required=True, description="Whether your order was maker or taker."
    )
    fee = graphene.Field(
        Fee,
        required=True,
        description="What your order paid for it, beside `value`: the fee of all its "
        "executions so far, less what it had paid. After a bust, less what came back: "
        "it may then be negative.",
    )
    trade_sequence = Uint64(
        required=True,
        resolver=column("sequence"),
        description="Number of the trade, as in `Token.trades` and on the FIX feed.",
    )
    ledger_sequence = Uint64(
        required=True,
        resolver=column("ledger_seq"),
        description="Number of the ledger entry that moved the units.",
    )
    at = Time(required=True, description="When it traded and settled.")
    busted_at = Time(description="When staff busted the trade; null if they did not.")

    def resolve_id(rows, info):
        return [f"Execution|{row.id}" for row in rows]

    @needs("fee_net", "fee_vat")
    def resolve_fee(rows, info):
        return [fees.Fee(int(row.fee_net), int(row.fee_vat)) for row in rows]

    @needs("order_id")
    def resolve_order(rows, info):
        # A partner that may read an execution may read its order.
        orders = OrderModel.objects.filter(partner_id=info.context.caller.partner_id)
        return read_rows("Order", info, orders, [row.order_id for row in rows])

    @needs("token_id")
    def resolve_token(rows, info):
        return read_tokens(rows, info)


class ExecutionConnection(Connection):
    class Meta:
        node = Execution


class Order(ModelType):
    """An order of one of your clients."""

    class Meta:
        model = OrderModel
        fields = ()
        interfaces = [Node]

    client_order_id = graphene.String(
        name="clientOrderID", description="Your name for it; null if you gave none."
    )
    account = graphene.Field(
        Account, required=True, description="The client's account with you."
    )
    token = graphene.Field(
        Token, required=True, description="The token that it buys or sells."
    )
    side = OrderSide(required=True, description="Buy or sell.")
    type = OrderType(required=True, description="Order type.")
    limit_price = Uint64(
        required=True,
        description="Worst price accepted per unit, euro cents.",
    )
    quantity = Uint64(
        required=True, description="Total units, including those already traded."
    )
    filled_quantity = Uint64(
        required=True, resolver=column("filled"), description="Units that have traded."
    )
    filled_value = Uint64(
        required=True,
        description="Value of the fills: sum of price times units, euro cents.",
    )
    remaining_quantity = Uint64(
        required=True,
        description="`quantity` minus `filledQuantity`; once the order is no longer "
        "OPEN, these units will not trade.",
    )
    time_in_force = TimeInForce(
        required=True, description="How long it stays in the book."
    )
    expires_at = Time(description="Expiry; null for IOC and FOK.")
    status = OrderStatus(required=True, description="Status.")
    status_reason = OrderStatusReason(
        description="Why it is CANCELLED or EXPIRED; null otherwise."
    )
    version = graphene.Int(
        required=True, description="From 1; each `amendOrder` adds 1."
    )
    created_at = Time(required=True, description="When it was accepted.")
    updated_at = Time(required=True, description="When it last changed or traded.")
    executions = connection_field(
        ExecutionConnection, "Its executions, in the order of the trades."
    )

    @needs("account_id")
    def resolve_account(orders, info):
        accounts = AccountModel.objects.of_partner(info.context.caller)
        return read_rows("Account", info, accounts, [o.account_id for o in orders])

    @needs("token_id")
    def resolve_token(orders, info):
        return read_tokens(orders, info)

    def resolve_type(orders, info):
        return ["LIMIT" for _ in orders]

    @needs("quantity", "filled")
    def resolve_remaining_quantity(orders, info):
        return [order.quantity - order.filled for order in orders]

    def resolve_executions(orders, info, **page):
        ids = [order.id for order in orders]
        return read_pages(FILLS_OF_ORDER, info, Fill.objects.all(), ids, **page)


class OrderConnection(Connection):
    class Meta:
        node = Order


def narrow(orders, token_id, status):
    """The orders of a token and of a status, each where it is given."""
    if token_id is not None:
        key = key_of(token_id, "Token")
        orders = orders.filter(token=key) if key else orders.none()
    return orders if status is None else orders.filter(status=status)


TOKEN_ID = graphene.ID(name="tokenID", description="Only orders for this token.")
STATUS = OrderStatus(description="Only orders with this status.")


class Query(graphene.ObjectType):
    order = graphene.Field(
        Order,
        id=graphene.ID(description="The order's id."),
        account_id=graphene.ID(
            name="accountID", description="The account; requires `clientOrderID`."
        ),
        client_order_id=graphene.String(
            name="clientOrderID", description="Your name for it; requires `accountID`."
        ),
        description="One of your orders, by id, or by account and `clientOrderID`; "
        "null if there is none, which means that it was never accepted. Needs "
        "the scope `trading:read`.",
    )
    orders = connection_field(
        OrderConnection,
        "Your orders, newest first. Needs the scope `trading:read`.",
        account_id=graphene.ID(
            name="accountID", description="Only orders of this account."
        ),
        token_id=TOKEN_ID,
        status=STATUS,
    )

    executions = connection_field(
        ExecutionConnection,
        "The executions of all your orders, oldest first. Needs the scope "
        "`trading:read`.",
        since=Time(description="Only executions at or after this instant."),
    )

    @requires(Scope.TRADING_READ)
    def resolve_executions(roots, info, since=None, **page):
        accounts = AccountModel.objects.of_partner(info.context.caller)
        found = Fill.objects.filter(account__in=accounts.values("pk"))
        if since is not None:
            found = found.filter(at__gte=since)
        return read_pages(FILLS_OF_CLIENTS, info, found, **page)

    @requires(Scope.TRADING_READ)
    def resolve_order(roots, info, id=None, account_id=None, client_order_id=None):
        by_account = account_id is not None and client_order_id is not None
        if (id is not None) + by_account != 1 or (
            id is not None and (account_id or client_order_id)
        ):
            raise BadUserInput(
                "Pass `id`, or both `accountID` and `clientOrderID`.", argument="id"
            )
        orders = orders_of(info.context.caller)
        if id is None:
            account = key_of(account_id, "Account")
            if account is None or not CLIENT_ORDER_ID.fullmatch(client_order_id):
                return [None]
            orders = orders.filter(account=account)
            return read_rows(
                "Order", info, orders, [client_order_id], "client_order_id"
            )
        return read_rows("Order", info, orders, [key_of(id, "Order")])

    @requires(Scope.TRADING_READ)
    def resolve_orders(
        roots, info, account_id=None, token_id=None, status=None, **page
    ):
        caller = info.context.caller
        orders = narrow(orders_of(caller), token_id, status)
        is_whole = (account_id, token_id, status) == (None, None, None)
        known = totals(Listed.ORDERS, [caller.partner_id]) if is_whole else None
        if account_id is not None:
            key = key_of(account_id, "Account")
            orders = orders.filter(account=key) if key else orders.none()
        return read_pages(ORDERS, info, orders, known=known, **page)


@requires(Scope.TRADING_READ)
def read_account_orders(accounts, info, token_id=None, status=None, **page):
    orders = narrow(orders_of(info.context.caller), token_id, status)
    ids = [account.id for account in accounts]
    is_whole = token_id is None and status is None
    known = totals(Listed.ACCOUNT_ORDERS, ids) if is_whole else None
    return read_pages(ORDERS_OF_ACCOUNT, info, orders, ids, known=known, **page)


@requires(Scope.TRADING_READ)
def read_account_executions(accounts, info, traded_after=None, **page):
    # A partner that may read an account may read its executions.
    found = Fill.objects.all()
    if traded_after is not None:
        found = found.filter(at__gt=traded_after)
    ids = [account.id for account in accounts]
    return read_pages(FILLS_OF_ACCOUNT, info, found, ids, **page)


ACCOUNT_ORDERS = connection_field(
    OrderConnection,
    "The account's orders, newest first. Needs the scope `trading:read`.",
    resolver=read_account_orders,
    token_id=TOKEN_ID,
    status=STATUS,
)
"""The field `orders` of an account."""
ACCOUNT_EXECUTIONS = connection_field(
    ExecutionConnection,
    "The account's executions, oldest first. Needs the scope `trading:read`.",
    resolver=read_account_executions,
    traded_after=Time(description="Only executions after this instant."),
)
"""The field `executions` of an account."""
NODES = {"Order": orders_of}
