"""A token's market, and its tape."""

from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from uuid import UUID

import graphene
from django.db.models import F, Q
from django.utils import timezone

from accounts.access import Scope, requires
from issuers.models import Token as TokenModel
from issuers.schema.tokens import Token
from marketdata.books.collar import collar
from marketdata.books.days import day_of, midnight
from marketdata.models import Trade as TradeModel
from marketdata.trading.market import follows
from marketdata.trading.models import Auction, Bust, Phase
from marketdata.trading.models import Market as MarketModel
from marketdata.trading.ratios import Activity, activity
from marketdata.trading.schema.enums import MarketPhase, OrderSide, Side
from marketdata.trading.schema.parameters import ParametersOfMarket, parameters_of
from marketdata.trading.sessions import Session
from marketdata.trading.tariffs import in_force
from marketdata.trading.ticks import Ticks
from partnerapi.graphql.cost import FOUND, Field
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import Connection, ModelType, connection_field
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

TRADES = OrderedList(
    "trades",
    "Trade",
    TradeModel,
    (OrderKey("marketdata_trade.sequence", "bigint"),),
    descending=True,
    unique=True,
    parent="token_id",
    identity="token_id",
    # They are numbered from 1 under the lock of the head, and stay.
    count="SELECT coalesce(max(h.last_trade), 0) FROM marketdata_orderbookhead h"
    " WHERE h.token_id = p.key",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """The current and the next phase of a market at an instant."""

    phase: str
    since: str
    next_phase: str | None
    next_at: datetime | str | None


OF_PHASE = (
    "phase", "phase_since", "next_phase", "next_phase_at",
    "session_opens", "session_closes", "weekdays_only", "model", "holidays",
)  # fmt: skip


def judged_phase(market, at):
    """As orders are judged: what follows in its session, and then CLOSED, moved or not.

    A call ends by its auction only.
    """
    phase, since, ends = market.phase, market.phase_since, market.next_phase_at
    is_call = phase == Phase.CALL
    if ends is None or is_call or datetime.fromisoformat(ends) > at:
        return Shown(phase, since, market.next_phase, ends)
    session = Session(
        market.session_opens,
        market.session_closes,
        market.weekdays_only,
        frozenset(market.holidays),
    )
    due = follows(market)
    if session.is_open(at) and due != Phase.CLOSED:
        began = max(datetime.fromisoformat(ends), session.last_open(at))
        if due == Phase.CALL:
            return Shown(Phase.CALL, began, Phase.CONTINUOUS, None)
        return Shown(Phase.CONTINUOUS, began, Phase.CLOSED, session.next_close(at))
    if phase != Phase.CLOSED:
        since = ends
    return Shown(Phase.CLOSED, since, Phase.CONTINUOUS, session.next_open(at))


def at_this_moment(read):
    """A resolver of what `read` takes of a market as it is shown now."""

    @needs(*OF_PHASE)
    def resolve(markets, info):
        at = timezone.now()
        return [read(judged_phase(market, at)) for market in markets]

    return resolve


class OrderToTrade(graphene.ObjectType):
    """Your orders on a market since midnight, in the market's time zone."""

    orders = graphene.Int(
        required=True,
        description="Orders placed, their amendments, and those that you cancelled.",
    )
    trades = graphene.Int(
        required=True, description="Fills of these orders, busted or not."
    )
    ratio = graphene.Float(
        description="Orders divided by trades, minus 1; null without a trade."
    )


class Tariff(graphene.ObjectType):
    """What your orders pay on a market. An order keeps that of its acceptance."""

    maker_rate = graphene.Int(
        required=True,
        resolver=column("maker_bps"),
        description="Of the value that it trades as maker, basis points.",
    )
    taker_rate = graphene.Int(
        required=True,
        resolver=column("taker_bps"),
        description="Of the value that it trades as taker, basis points.",
    )
    minimum = Uint64(
        required=True,
        description="Lowest fee of an order once it has traded, without tax, euro "
        "cents.",
    )
    maximum = Uint64(
        description="Highest fee of an order, without tax, euro cents; null if none "
        "is set."
    )
    vat_rate = graphene.Int(
        required=True,
        resolver=column("vat_bps"),
        description="Value added tax of the fee, basis points.",
    )
    valid_from = Time(required=True, description="Since when.")
    valid_until = Time(
        resolver=column("ended_at"),
        description="When another follows, or none; null if that is not decided.",
    )


class Market(ModelType):
    """An internal market, where orders for a token are matched."""

    class Meta:
        model = MarketModel
        fields = ()

    token = graphene.Field(
        Token, required=True, description="The token that is traded."
    )
    phase = MarketPhase(
        required=True,
        resolver=at_this_moment(attrgetter("phase")),
        description="Current phase.",
    )
    phase_since = Time(
        required=True,
        resolver=at_this_moment(attrgetter("since")),
        description="Start of the current phase.",
    )
    next_phase = MarketPhase(
        resolver=at_this_moment(attrgetter("next_phase")),
        description="Next phase; null while the market is halted, because staff "
        "decide.",
    )
    next_phase_at = Time(
        resolver=at_this_moment(attrgetter("next_at")),
        description="Start of the next phase.",
    )
    tick_size = Uint64(
        required=True,
        description="Prices must be multiples of this, euro cents: the tick at the "
        "reference price, where `parameters` has a table.",
    )
    lot_size = Uint64(
        required=True,
        resolver=column("lot_units"),
        description="Quantities must be multiples of this, units.",
    )
    reference_price = Uint64(
        description="Centre of the collar, euro cents; set when continuous trading "
        "begins, null before the first time."
    )
    floor_price = Uint64(
        description="Lowest limit price accepted; null without a reference price."
    )
    cap_price = Uint64(
        description="Highest limit price accepted; null without a reference price."
    )
    order_to_trade = Field(
        OrderToTrade,
        cost=FOUND,
        description="Your orders of today on this market, and their trades. Needs the "
        "scope `trading:read`.",
    )
    tariff = Field(
        Tariff,
        cost=FOUND,
        description="The tariff that your next order gets: yours, if you have one of "
        "your own, else the market's; null if orders pay no fee.",
    )
    parameters = Field(
        ParametersOfMarket,
        required=True,
        cost=FOUND,
        description="What orders are judged by and when the market trades: now, and "
        "from the next opening on.",
    )
    indicative_price = Field(
        Uint64,
        cost=FOUND,
        description="In phase CALL: the price at which the auction would trade now, "
        "determined at most once a second; null if nothing would trade.",
    )
    indicative_quantity = Field(
        Uint64,
        cost=FOUND,
        description="In phase CALL: the units that would trade at this price.",
    )
    imbalance_side = Field(
        OrderSide,
        cost=FOUND,
        description="In phase CALL: the side of which more units would trade at this "
        "price, if the other side had them; null if both are equal.",
    )
    imbalance_quantity = Field(
        Uint64,
        cost=FOUND,
        description="In phase CALL: how many more units that side has at this price.",
    )

    @needs("token_id")
    def resolve_token(markets, info):
        tokens = TokenModel.objects.visible_to(info.context.caller)
        return read_rows("Token", info, tokens, [m.token_id for m in markets])

    @requires(Scope.TRADING_READ)
    @needs("token_id")
    def resolve_order_to_trade(markets, info):
        partner = UUID(info.context.caller.partner_id)
        since = midnight(day_of(timezone.now()))
        found = activity([m.token_id for m in markets], [partner], since)
        none = Activity(0, 0)
        return [found.get((UUID(m.token_id), partner), none) for m in markets]

    @needs("tick_cents", "tick_floors", "tick_steps", "reference_price")
    def resolve_tick_size(markets, info):
        return [
            Ticks(market.tick_cents, market.tick_floors, market.tick_steps).at(
                market.reference_price or 0
            )
            for market in markets
        ]

    @needs("reference_price", "collar_bps")
    def resolve_floor_price(markets, info):
        return [bounds(market)[0] for market in markets]

    @needs("reference_price", "collar_bps")
    def resolve_cap_price(markets, info):
        return [bounds(market)[1] for market in markets]

    @needs("token_id")
    def resolve_parameters(markets, info):
        found = parameters_of({market.token_id for market in markets})
        return [found[str(market.token_id)] for market in markets]

    @needs("token_id")
    def resolve_tariff(markets, info):
        partner = info.context.caller.partner_id
        standing = in_force(timezone.now()).filter(
            Q(partner=None) | Q(partner=partner),
            token__in={market.token_id for market in markets},
        )
        found = {}
        for tariff in standing.order_by(
            F("partner").asc(nulls_last=True), "-valid_from"
        ):
            found.setdefault(str(tariff.token_id), tariff)
        return [found.get(str(market.token_id)) for market in markets]

    @needs("token_id", "phase")
    def resolve_indicative_price(markets, info):
        return indications(markets, lambda price, units, surplus: price)

    @needs("token_id", "phase")
    def resolve_indicative_quantity(markets, info):
        return indications(markets, lambda price, units, surplus: units)

    @needs("token_id", "phase")
    def resolve_imbalance_side(markets, info):
        return indications(markets, lambda price, units, surplus: side_of(surplus))

    @needs("token_id", "phase")
    def resolve_imbalance_quantity(markets, info):
        return indications(markets, lambda price, units, surplus: abs(surplus))


def indications(markets, read):
    """What `read` takes of the price, the units and the surplus of each call."""
    called = {m.token_id for m in markets if m.phase == Phase.CALL}
    if not called:
        return [None for _ in markets]
    standing = Auction.objects.filter(
        token__in=called, ended=None, indicative_price__isnull=False
    )
    rows = standing.values_list(
        "token", "indicative_price", "indicative_quantity", "indicative_surplus"
    )
    found = {str(token): read(*figures) for token, *figures in rows}
    return [found.get(str(market.token_id)) for market in markets]


def side_of(surplus):
    if not surplus:
        return None
    return Side.BUY if surplus > 0 else Side.SELL


def bounds(market):
    if market.reference_price is None:
        return None, None
    return collar(market.reference_price, market.collar_bps)


class Trade(graphene.ObjectType):
    """A trade on the tape."""

    sequence = Uint64(
        required=True,
        description="Number of the trade: from 1, without gaps, per token.",
    )
    price = Uint64(
        required=True,
        resolver=column("price_cents"),
        description="Price of a unit, euro cents.",
    )
    quantity = Uint64(required=True, description="Units that changed hands.")
    at = Time(required=True, description="When.")
    busted = Field(
        graphene.Boolean,
        required=True,
        cost=FOUND,
        description="Whether staff busted it afterwards.",
    )

    @needs("token_id", "sequence")
    def resolve_busted(trades, info):
        busts = Bust.objects.filter(
            token__in={trade.token_id for trade in trades},
            sequence__in={trade.sequence for trade in trades},
        )
        undone = {(str(t), n) for t, n in busts.values_list("token", "sequence")}
        return [(trade.token_id, trade.sequence) in undone for trade in trades]


class TradeConnection(Connection):
    class Meta:
        node = Trade


@requires(Scope.MARKETDATA_READ)
def read_markets(tokens, info):
    ids = [token.id for token in tokens]
    return read_rows("Market", info, MarketModel.objects.all(), ids, "token_id")


@requires(Scope.MARKETDATA_READ)
def read_trades(tokens, info, **page):
    ids = [token.id for token in tokens]
    return read_pages(TRADES, info, TradeModel.objects.all(), ids, **page)


MARKET = Field(
    Market,
    cost=FOUND,
    resolver=read_markets,
    description="The internal market on which the token trades; null if there is none. "
    "Needs the scope `marketdata:read`.",
)
"""The field `market` of a token."""
TRADES_FIELD = connection_field(
    TradeConnection,
    "The tape: all trades, newest first. Needs the scope `marketdata:read`.",
    resolver=read_trades,
)
"""The field `trades` of a token."""
