"""What orders are made of, as partners send it, checked and taken apart."""

import re
from uuid import UUID

import graphene

from accounts.accounts.models import Account
from issuers.models import Token
from marketdata.trading.in_force import Ending, TimeInForce
from marketdata.trading.round import Request
from marketdata.trading.schema.enums import OrderSide, OrderType
from marketdata.trading.schema.enums import TimeInForce as TimeInForceEnum
from partnerapi.core.errors import BadUserInput, NotFound
from partnerapi.graphql.relay import key_of
from partnerapi.graphql.scalars import Time, Uint64

CLIENT_ORDER_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
MOST_SECONDS = 86_400
"""Of the timer that cancels all orders."""
MOST_ORDERS = 100
"""Of a list."""


class OrderOfListInput(graphene.InputObjectType):
    """One order of a list; the list names the token."""

    account_id = graphene.ID(
        name="accountID",
        required=True,
        description="The client's account; it must be ACTIVE.",
    )
    side = OrderSide(required=True, description="Buy or sell.")
    quantity = Uint64(required=True, description="Number of units, at least 1.")
    limit_price = Uint64(
        required=True,
        description="Worst price accepted per unit, euro cents; at least 1.",
    )
    type = OrderType(default_value="LIMIT", description="Order type.")
    time_in_force = TimeInForceEnum(
        default_value="DAY", description="How long it stays in the book."
    )
    expires_at = Time(description="Expiry; required for GTD, rejected otherwise.")
    client_order_id = graphene.String(
        name="clientOrderID",
        description="Your name for the order: 1 to 64 letters, digits, `.`, `_`, `:` "
        "and `-`. It can never be reused for the account, so you can find "
        "out later whether the order was accepted.",
    )
    post_only = graphene.Boolean(
        default_value=False,
        description="Whether it is only to rest: if it would trade at once, or meet an "
        "order of its own user, it is refused with WOULD_TRADE. Not for IOC and FOK.",
    )


class PlaceOrderInput(OrderOfListInput):
    """The order to place."""

    token_id = graphene.ID(
        name="tokenID", required=True, description="The token that it buys or sells."
    )


class PlaceOrdersInput(graphene.InputObjectType):
    """Orders for one token, in the order in which they are processed."""

    token_id = graphene.ID(
        name="tokenID", required=True, description="The token of all orders."
    )
    orders = graphene.List(
        graphene.NonNull(OrderOfListInput),
        required=True,
        description=f"1 to {MOST_ORDERS} orders.",
    )


class AmendOrderInput(graphene.InputObjectType):
    """The order, and its new `quantity`, `limitPrice` or both."""

    order_id = graphene.ID(name="orderID", required=True, description="The order's id.")
    version = graphene.Int(
        required=True,
        description="The version that you read; any other is ORDER_CHANGED.",
    )
    quantity = Uint64(
        description="The new total quantity, including traded units; it must exceed "
        "these. Unchanged if omitted."
    )
    limit_price = Uint64(
        description="The new limit price, euro cents. Unchanged if omitted."
    )
    post_only = graphene.Boolean(
        default_value=False,
        description="Whether the amendment is refused with WOULD_TRADE if the order "
        "would trade at once.",
    )


class CancelOrderInput(graphene.InputObjectType):
    """The order to cancel."""

    order_id = graphene.ID(name="orderID", required=True, description="The order's id.")


class BlockOrdersInput(graphene.InputObjectType):
    """Which orders: of an account, for a token, or both; if empty, all your orders."""

    account_id = graphene.ID(
        name="accountID", description="Only orders of this account."
    )
    token_id = graphene.ID(name="tokenID", description="Only orders for this token.")


class CancelOrdersAfterInput(graphene.InputObjectType):
    """When to cancel."""

    seconds = graphene.Int(
        required=True,
        description=f"1 to {MOST_SECONDS:,}, or 0 to stop the timer.",
    )


class CancelOrdersInput(BlockOrdersInput):
    """The orders to cancel: of an account, of a token, or of both; if empty, all your
    orders.
    """

    block = graphene.Boolean(
        default_value=False,
        description="Also block such orders, before any is cancelled, until you call "
        "`releaseOrders`.",
    )


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
    rests = in_force is None or TimeInForce(in_force).rests
    if input.get("post_only") and not rests:
        raise wrong("postOnly", "is not for IOC and FOK; leave it out.")
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
    return NotFound("You have no account with this id.", argument=f"{at}.accountID")


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


def scope_named(caller, input):
    """The account and the token that an input names; None where it names none.

    Raises:
        NotFound
    """
    account = token = None
    if input.get("account_id") is not None:
        accounts = accounts_named(caller, [input["account_id"]])
        if not accounts:
            raise no_account()
        [account] = accounts.values()
    if input.get("token_id") is not None:
        token = token_named(caller, input["token_id"])
    return account, token


def request_of(input, account_id, actor):
    return Request(
        account_id=account_id,
        side=int(input["side"]),
        quantity=input["quantity"],
        limit_price=input["limit_price"],
        actor=actor,
        time_in_force=str(input.get("time_in_force", TimeInForce.DAY)),
        expires_at=input.get("expires_at"),
        client_order_id=input.get("client_order_id"),
        post_only=bool(input.get("post_only")),
    )
