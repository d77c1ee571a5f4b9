"""The parameters of a market, in force and next."""

import graphene
from django.utils import timezone

from marketdata.trading import models
from marketdata.trading.parameters import in_force
from marketdata.trading.schema.enums import TradingModel
from partnerapi.graphql.cost import Cost, Field
from partnerapi.graphql.resolvers import column
from partnerapi.graphql.scalars import Time, Uint64

TICKS = Cost(most=25)
"""A table has no more rows (`trading_set_parameters`)."""


class Tick(graphene.ObjectType):
    """A row of a market's tick table."""

    from_price = Uint64(
        required=True,
        description="The lowest price at which the row holds, euro cents; 0 in the "
        "first row.",
    )
    size = Uint64(
        required=True,
        description="Prices from there on are multiples of this, euro cents.",
    )


class MarketParameters(graphene.ObjectType):
    """What a market judges orders by, and when it trades. Times of day are those of
    the market's time zone, Paris unless `/docs/fix` says otherwise.
    """

    valid_from = Time(
        required=True,
        description="Since when: the end of the session in which they were approved, "
        "or their approval outside of a session.",
    )
    opens_at = Time(
        required=True, description="The first opening at which orders meet them."
    )
    ticks = Field(
        graphene.List(graphene.NonNull(Tick)),
        required=True,
        cost=TICKS,
        description="The tick table, lowest prices first; one row if one tick holds at "
        "all prices.",
    )
    lot_size = Uint64(
        required=True,
        resolver=column("lot_units"),
        description="The open units of an order must be a multiple of this.",
    )
    static_band = graphene.Int(
        required=True,
        resolver=column("collar_bps"),
        description="Greatest distance of a limit from `Market.referencePrice`, basis "
        "points: the collar.",
    )
    dynamic_band = graphene.Int(
        required=True,
        resolver=column("dynamic_band_bps"),
        description="Greatest distance of a price from the one before, basis points.",
    )
    session_opens = graphene.String(
        required=True, description="Time of day at which a session opens, HH:MM."
    )
    session_closes = graphene.String(
        required=True,
        description="Time of day at which it closes, HH:MM; on the next day if that is "
        "not later.",
    )
    weekdays_only = graphene.Boolean(
        required=True, description="Whether sessions open from Monday to Friday only."
    )
    holidays = graphene.List(
        graphene.NonNull(graphene.String),
        required=True,
        description="Days on which no session opens, YYYY-MM-DD.",
    )
    model = TradingModel(required=True, description="How orders trade in a session.")
    fixings = graphene.List(
        graphene.NonNull(graphene.String),
        required=True,
        description="Times of day at which calls end, HH:MM.",
    )
    at_last_minutes = graphene.Int(
        required=True,
        description="How long orders trade at the price of a fixing after it, phase "
        "AT_LAST; 0 if they do not.",
    )
    max_order_value = Uint64(
        resolver=column("most_value"),
        description="Highest value of an order at its limit, euro cents; null if none "
        "is set.",
    )
    max_order_quantity = Uint64(
        resolver=column("most_units"),
        description="Most units of an order; null if no number is set.",
    )

    def resolve_ticks(rows, info):
        return [
            [
                Tick(from_price=floor, size=size)
                for floor, size in zip(
                    (0, *row.tick_floors),
                    (row.tick_cents, *row.tick_steps),
                    strict=True,
                )
            ]
            for row in rows
        ]

    def resolve_holidays(rows, info):
        return [[day.isoformat() for day in row.holidays] for row in rows]

    def resolve_session_opens(rows, info):
        return [f"{row.session_opens:%H:%M}" for row in rows]

    def resolve_session_closes(rows, info):
        return [f"{row.session_closes:%H:%M}" for row in rows]

    def resolve_fixings(rows, info):
        return [[f"{one:%H:%M}" for one in row.fixings] for row in rows]


class ParametersOfMarket(graphene.ObjectType):
    """The parameters in force, and those that follow."""

    in_force = graphene.Field(
        MarketParameters, required=True, description="Those of now."
    )
    next = graphene.Field(
        MarketParameters,
        description="Those from the end of the present session on; null if none are "
        "decided.",
    )


def parameters_of(token_ids):
    """The parameters of each market, by the text of its token's id."""
    at = timezone.now()
    of = models.MarketParameters.objects.filter(token__in=token_ids)
    now = {row.token_id: row for row in in_force(at).filter(token__in=token_ids)}
    later = of.filter(valid_from__gt=at).order_by("valid_from", "id")
    following = {row.token_id: row for row in later}
    return {
        str(token): ParametersOfMarket(in_force=row, next=following.get(token))
        for token, row in now.items()
    }
