"""Refused orders, as the partner that sent them reads them."""

import graphene
from django.db.models import Q

from accounts.access import Scope, requires
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.schema import Account
from issuers.models import Token as TokenModel
from issuers.schema.tokens import Token
from marketdata.trading.models import RefusedOrder as RefusedOrderModel
from marketdata.trading.schema.enums import OrderSide, TimeInForce
from marketdata.trading.schema.orders import Order, orders_of
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import Connection, connection_field
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

REFUSED_ORDERS = OrderedList(
    "refusedOrders",
    "RefusedOrder",
    RefusedOrderModel,
    (OrderKey("trading_refusedorder.at", "timestamptz"),),
    descending=True,
)


def whole(number):
    """A number as sent: it may be more than a bigint holds."""
    return None if number is None else int(number)


class RefusedOrder(graphene.ObjectType):
    """One of your orders or amendments that was refused, as you sent it.

    If more than 600 of your orders are refused in a minute, the others are counted by
    their code: `count` is their number, and the members of an order are null.
    """

    id = graphene.ID(
        required=True, description="Identifier. `node` does not accept it."
    )
    at = Time(
        required=True,
        description="When it was refused; of those that are counted, the minute.",
    )
    code = graphene.String(required=True, description="Error code.")
    message = graphene.String(description="The reason in words.")
    count = graphene.Int(
        required=True,
        resolver=column("number"),
        description="The number of orders, 1 unless they are counted.",
    )
    account = graphene.Field(Account, description="The client's account with you.")
    token = graphene.Field(Token, description="The token that it buys or sells.")
    order = graphene.Field(
        Order, description="The order whose amendment was refused; null for new orders."
    )
    side = OrderSide(description="Buy or sell.")
    quantity = Uint64(description="Total units.")
    limit_price = Uint64(description="Worst price accepted per unit, euro cents.")
    time_in_force = TimeInForce(description="How long it would stay in the book.")
    client_order_id = graphene.String(
        name="clientOrderID", description="Your name for it; null if you gave none."
    )

    @needs("quantity")
    def resolve_quantity(rows, info):
        return [whole(row.quantity) for row in rows]

    @needs("limit_price")
    def resolve_limit_price(rows, info):
        return [whole(row.limit_price) for row in rows]

    def resolve_id(rows, info):
        return [f"RefusedOrder|{row.id}" for row in rows]

    @needs("account_id")
    def resolve_account(rows, info):
        accounts = AccountModel.objects.of_partner(info.context.caller)
        return read_rows("Account", info, accounts, [row.account_id for row in rows])

    @needs("token_id")
    def resolve_token(rows, info):
        tokens = TokenModel.objects.visible_to(info.context.caller)
        return read_rows("Token", info, tokens, [row.token_id for row in rows])

    @needs("order_id")
    def resolve_order(rows, info):
        orders = orders_of(info.context.caller)
        return read_rows("Order", info, orders, [row.order_id for row in rows])


class RefusedOrderConnection(Connection):
    class Meta:
        node = RefusedOrder


class Query(graphene.ObjectType):
    refused_orders = connection_field(
        RefusedOrderConnection,
        "Your orders and amendments that a market refused, newest first; they appear "
        "within a second. Needs the scope `trading:read`.",
        since=Time(
            description="Only those refused at or after this instant. Those that are "
            "counted are of its whole minute."
        ),
    )

    @requires(Scope.TRADING_READ)
    def resolve_refused_orders(roots, info, since=None, **page):
        found = RefusedOrderModel.objects.filter(
            partner_id=info.context.caller.partner_id
        )
        if since is not None:
            minute = since.replace(second=0, microsecond=0)
            found = found.filter(Q(at__gte=since) | Q(account=None), at__gte=minute)
        return read_pages(REFUSED_ORDERS, info, found, **page)
