"""What orders are made of, as partners send it, checked and taken apart."""

import re
from uuid import UUID

import graphene

from accounts.models import Account
from issuers.models import Token
from marketdata.trading.in_force import Ending, TimeInForce
from marketdata.trading.round import Request
from marketdata.trading.schema.enums import OrderSide, OrderType
from marketdata.trading.schema.enums import TimeInForce as TimeInForceEnum
from partnerapi.core.errors import BadUserInput, NotFound
from partnerapi.graphql.relay import key_of
from partnerapi.graphql.scalars import Time, Uint64

CLIENT_ORDER_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
MOST_ORDERS = 100
"""Of a list."""


class OrderOfListInput(graphene.InputObjectType):
    """An order of a list, whose token the list names."""

    account_id = graphene.ID(
        name="accountID",
        required=True,
        description="The client's account with you; ACTIVE.",
    )
    side = OrderSide(required=True, description="Whether it buys or sells.")
    quantity = Uint64(required=True, description="Units, from 1.")
    limit_price = Uint64(
        required=True,
        description="The most that a buyer pays, the least that a seller takes, for a "
        "unit: euro cents, from 1.",
    )
    type = OrderType(default_value="LIMIT", description="What kind it is.")
    time_in_force = TimeInForceEnum(
        default_value="DAY", description="How long it rests."
    )
    expires_at = Time(description="Of GTD, and no other: until when it rests.")
    client_order_id = graphene.String(
        name="clientOrderID",
        description="What you call it: 1 to 64 letters, digits, `.`, `_`, `:` and `-`. "
        "An account uses each once, forever; so you find out later whether it was "
        "accepted.",
    )


class PlaceOrderInput(OrderOfListInput):
    """An order."""

    token_id = graphene.ID(
        name="tokenID", required=True, description="What it buys or sells."
    )


class PlaceOrdersInput(graphene.InputObjectType):
    """Orders for one token, in the order in which they are judged and may trade."""

    token_id = graphene.ID(
        name="tokenID", required=True, description="What all of them buy or sell."
    )
    orders = graphene.List(
        graphene.NonNull(OrderOfListInput),
        required=True,
        description=f"1 to {MOST_ORDERS} orders.",
    )


class AmendOrderInput(graphene.InputObjectType):
    """Which order, and what becomes of it: `quantity`, `limitPrice` or both."""

    order_id = graphene.ID(name="orderID", required=True, description="The order's id.")
    version = graphene.Int(
        required=True,
        description="The version that you have read: another one is ORDER_CHANGED.",
    )
    quantity = Uint64(
        description="The whole quantity, what has traded included; above that, or "
        "cancel the order. Left out: as it is."
    )
    limit_price = Uint64(description="The limit, euro cents. Left out: as it is.")


class CancelOrderInput(graphene.InputObjectType):
    """Which order."""

    order_id = graphene.ID(name="orderID", required=True, description="The order's id.")


class CancelOrdersInput(graphene.InputObjectType):
    """Which orders: of an account, of a token, of both; with neither, all of yours."""

    account_id = graphene.ID(
        name="accountID", description="Only orders of this account."
    )
    token_id = graphene.ID(name="tokenID", description="Only orders of this token.")


def check_order(input, at="input"):
    """Refuse what is no order, whatever the market does.

    Raises:
        BadUserInput: `argument` is the place in the input.
    """

    def wrong(field, why):
        return BadUserInput(f"`{field}` {why}", argument=f"{at}.{field}")

    for name, field in (("quantity", "quantity"), ("limit_price", "limitPrice")):
        if input[name] < 1:
            raise wrong(field, "is 0; send 1 or more.")
    in_force = input.get("time_in_force")
    is_gtd = in_force is not None and TimeInForce(in_force).ending is Ending.CHOSEN
    if is_gtd != (input.get("expires_at") is not None):
        raise wrong(
            "expiresAt",
            "is missing: GTD needs it." if is_gtd else "is for GTD only; leave it out.",
        )
    for name in ("type", "time_in_force"):
        if name in input and input[name] is None:
            field = "type" if name == "type" else "timeInForce"
            raise wrong(field, "is null; leave it out.")
    called = input.get("client_order_id")
    if called is not None and not CLIENT_ORDER_ID.fullmatch(called):
        raise wrong(
            "clientOrderID", "needs 1 to 64 letters, digits, `.`, `_`, `:` and `-`."
        )


def token_named(caller, text):
    """The id of a token that the caller may see.

    Raises:
        NotFound
    """
    key = key_of(text, "Token")
    if not key or not Token.objects.visible_to(caller).filter(pk=key).exists():
        raise NotFound(
            "There is no token of this id that you may see.", argument="input.tokenID"
        )
    return UUID(key)


def accounts_named(caller, texts):
    """By the ids that are sent, those of the caller's accounts that exist."""
    keys = {text: key for text in texts if (key := key_of(text, "Account"))}
    accounts = Account.objects.of_partner(caller).filter(pk__in=set(keys.values()))
    found = {str(pk): pk for pk in accounts.values_list("pk", flat=True)}
    return {text: found[key] for text, key in keys.items() if key in found}


def no_account(at="input"):
    return NotFound("You have no account of this id.", argument=f"{at}.accountID")


def named_in(caller, input):
    """The token and the account that an order names.

    Raises:
        NotFound
    """
    token = token_named(caller, input["token_id"])
    account = accounts_named(caller, [input["account_id"]])
    if not account:
        raise no_account()
    return token, account[input["account_id"]]


def request_of(input, account_id):
    return Request(
        account_id=account_id,
        side=int(input["side"]),
        quantity=input["quantity"],
        limit_price=input["limit_price"],
        time_in_force=str(input.get("time_in_force", TimeInForce.DAY)),
        expires_at=input.get("expires_at"),
        client_order_id=input.get("client_order_id"),
    )
