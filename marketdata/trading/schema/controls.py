"""Blocks of orders, which a partner and staff set and release."""

from datetime import datetime, timedelta
from typing import NamedTuple

import graphene
from django.utils import timezone

from accounts.access import Scope, check_scope, requires
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.schema import Account
from issuers.models import Token as TokenModel
from issuers.schema.tokens import Token
from marketdata.trading import controls
from marketdata.trading.schema import inputs
from marketdata.trading.schema.timing import within_time
from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.cost import MUTATION, OBJECT, Cost, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.resolvers import check_first, commits_itself, stops_orders
from partnerapi.graphql.scalars import Time

KILL_SWITCH = (
    "With the header `X-Kill-Switch: 1`, it is answered beside all other requests, "
    "even if your budget is spent: ten times a minute for each key."
)


def texts(ids):
    return [None if each is None else str(each) for each in ids]


class OrderBlock(graphene.ObjectType):
    """While it stands, orders are refused with ORDERS_BLOCKED."""

    account = graphene.Field(
        Account, description="The account that is blocked; null: every account."
    )
    token = graphene.Field(
        Token, description="The token for which orders are blocked; null: every token."
    )
    by_staff = graphene.Boolean(
        required=True, description="Whether staff set it, and two of them release it."
    )
    reason = graphene.String(required=True, description="Why staff set it, or empty.")
    since = Time(required=True, description="When it was set.")

    def resolve_account(blocks, info):
        accounts = AccountModel.objects.visible_to(info.context.caller)
        return read_rows("Account", info, accounts, texts(b.account_id for b in blocks))

    def resolve_token(blocks, info):
        tokens = TokenModel.objects.visible_to(info.context.caller)
        return read_rows("Token", info, tokens, texts(b.token_id for b in blocks))

    def resolve_by_staff(blocks, info):
        return [block.is_staff for block in blocks]

    def resolve_since(blocks, info):
        return [block.blocked_at for block in blocks]

    def resolve_reason(blocks, info):
        return [block.reason for block in blocks]


class BlockOrdersPayload(graphene.ObjectType):
    """The block that stands."""

    block = Field(
        OrderBlock, required=True, cost=OBJECT, description="The block that stands."
    )

    def resolve_block(payloads, info):
        return payloads


class ReleaseOrdersPayload(graphene.ObjectType):
    """Whether a block was released."""

    released = graphene.Boolean(
        required=True,
        description="False: you had no block of this account and this token.",
    )

    def resolve_released(payloads, info):
        return payloads


class CancelOrdersAfterPayload(graphene.ObjectType):
    """The timer."""

    fires_at = Time(description="When your orders are cancelled; null: no timer runs.")

    def resolve_fires_at(payloads, info):
        return [payload.fires_at for payload in payloads]


class Timer(NamedTuple):
    fires_at: datetime | None


def check_control(context, input):
    check_scope(context.caller, Scope.TRADING_WRITE)


def check_timer(context, input):
    check_control(context, input)
    if input and not 0 <= input["seconds"] <= inputs.MOST_SECONDS:
        raise BadUserInput(
            f"`seconds` is {input['seconds']}; send 0 to {inputs.MOST_SECONDS:,}.",
            argument="input.seconds",
            maximum=inputs.MOST_SECONDS,
        )


def check_number(caller, account, token):
    """
    Raises:
        BadUserInput: too many blocks of the partner stand, and this one does not.
    """
    own = controls.standing_of(caller.partner_id).filter(is_staff=False)
    stands = own.filter(account=account, token=token).exists()
    if not stands and own.count() >= controls.MOST_BLOCKS:
        raise BadUserInput(
            f"You have {controls.MOST_BLOCKS} blocks; release some, or block all your "
            "orders.",
            argument="input",
            maximum=controls.MOST_BLOCKS,
        )


def block(caller, account, token):
    """Block orders for a partner.

    Raises:
        BadUserInput
    """
    check_number(caller, account, token)
    return controls.block(caller.partner_id, account, token, caller.login)


class Query(graphene.ObjectType):
    order_blocks = Field(
        graphene.List(graphene.NonNull(OrderBlock)),
        required=True,
        cost=Cost(reads=True, most=controls.MOST_BLOCKS),
        description="The blocks of orders that stand: yours, and those that staff set "
        "for you or for all. Needs the scope `trading:read`.",
    )

    @requires(Scope.TRADING_READ)
    def resolve_order_blocks(roots, info):
        return [[*controls.standing_of(info.context.caller.partner_id)]]


class Mutation(graphene.ObjectType):
    block_orders = Field(
        BlockOrdersPayload,
        cost=MUTATION,
        input=inputs.BlockOrdersInput(
            required=True, description="The orders to block; if empty, all your orders."
        ),
        description="Refuse new orders and amendments with ORDERS_BLOCKED until you "
        "call `releaseOrders` with the same input. It waits for orders under way and "
        "for no other; open orders stay. It stores no answer, and each repetition "
        f"blocks anew. {KILL_SWITCH} Needs the scope `trading:write`.",
    )
    release_orders = Field(
        ReleaseOrdersPayload,
        cost=MUTATION,
        input=inputs.BlockOrdersInput(
            required=True, description="The account and the token of the block."
        ),
        description="Release a block that you set. Needs the scope `trading:write`.",
    )

    cancel_orders_after = Field(
        CancelOrdersAfterPayload,
        cost=MUTATION,
        input=inputs.CancelOrdersAfterInput(
            required=True, description="The seconds until all orders are cancelled."
        ),
        description="Cancel all your open orders in so many seconds, unless you call "
        "this before: a market maker that goes silent leaves no order behind. Each "
        "call replaces the timer before it, and 0 stops it. The orders end with the "
        "reason CANCEL_TIMER; new ones are not blocked. A repetition with the same "
        "Idempotency-Key does not renew the timer. Needs the scope `trading:write`.",
    )

    @check_first(check_timer)
    def resolve_cancel_orders_after(roots, info, input):
        caller, seconds = info.context.caller, input["seconds"]
        if info.context.trial is not None:
            return [Timer(timezone.now() + timedelta(0, seconds) if seconds else None)]
        with within_time():
            at = controls.cancel_after(caller.partner_id, seconds, caller.login)
        return [Timer(at)]

    @stops_orders
    @commits_itself()
    @check_first(check_control)
    def resolve_block_orders(roots, info, input):
        caller = info.context.caller
        account, token = inputs.scope_named(caller, input)
        if info.context.trial is not None:
            check_number(caller, account, token)
            return [controls.would_be(caller.partner_id, account, token, caller.login)]
        with within_time():
            made = block(caller, account, token)
        return [controls.OrderBlock.objects.get(pk=made)]

    @check_first(check_control)
    def resolve_release_orders(roots, info, input):
        caller = info.context.caller
        account, token = inputs.scope_named(caller, input)
        own = controls.standing_of(caller.partner_id).filter(
            is_staff=False, account=account, token=token
        )
        if info.context.trial is not None:
            return [own.exists()]
        return [any(controls.release(of.pk, caller.login) for of in own)]
