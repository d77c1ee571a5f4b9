"""The dry run of an order."""

import graphene
from django.utils import timezone

from accounts.access import Scope, requires
from issuers.compliance.errors import refusals_of
from issuers.schema.compliance import REFUSALS, TransferRefusal
from marketdata.trading import market
from marketdata.trading.errors import MarketClosed, NotTradable
from marketdata.trading.limits import limits_of
from marketdata.trading.schema import inputs
from marketdata.trading.schema.orders import Fee
from partnerapi.graphql.cost import CHECK, Field
from partnerapi.graphql.scalars import Time, Uint64


class OrderCheck(graphene.ObjectType):
    """The outcome of placing an order now; nothing is stored."""

    allowed = graphene.Boolean(
        required=True, description="Whether the order would be accepted."
    )
    code = graphene.String(
        description="Error code if it would be refused; null if it would be accepted."
    )
    refusals = Field(
        graphene.List(graphene.NonNull(TransferRefusal)),
        required=True,
        cost=REFUSALS,
        description="For TRANSFER_REFUSED: each rule that refuses it.",
    )
    reserves = Uint64(
        required=True,
        description="What it would reserve: euro cents for a buy order, its `fee` "
        "included, units for a sell order; including what would fill immediately.",
    )
    fee = graphene.Field(
        Fee,
        required=True,
        description="The highest fee if it trades whole at its limit; a buy order "
        "reserves it with the rest.",
    )
    would_fill_quantity = Uint64(
        required=True, description="Units that would trade immediately."
    )
    would_fill_value = Uint64(
        required=True, description="Value of these units, euro cents."
    )
    at = Time(required=True, description="The instant.")

    def resolve_allowed(checks, info):
        return [check.refused is None for check in checks]

    def resolve_code(checks, info):
        return [check.refused and check.refused.code for check in checks]

    def resolve_refusals(checks, info):
        return [refusals_of(c.refused) if c.refused else [] for c in checks]


class Query(graphene.ObjectType):
    check_order = Field(
        OrderCheck,
        required=True,
        cost=CHECK,
        input=inputs.PlaceOrderInput(
            required=True, description="The order that would be placed."
        ),
        description="A dry run of `placeOrder`: the same verdict and codes, provided "
        "that the market does not move meanwhile. Nothing is stored or "
        "reserved. An invalid order, or one that names an object that is "
        "not yours, is an error here too. Needs the scope `trading:read`.",
    )

    @requires(Scope.TRADING_READ)
    def resolve_check_order(roots, info, input):
        inputs.check_order(input)
        caller = info.context.caller
        token, account = inputs.named_in(caller, input)
        try:
            request = inputs.request_of(input, account, caller.login)
            return [market.check(token, request, limits_of(caller))]
        except (NotTradable, MarketClosed) as refusal:
            return [market.Check(refusal, 0, 0, 0, timezone.now())]
