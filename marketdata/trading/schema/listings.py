"""The root fields that list tokens and their markets."""

import django_filters
import graphene
from django.db.models import Q
from django.utils import timezone

from accounts.access import Scope, requires
from issuers.models import Token as TokenModel
from issuers.schema.tokens import IssuerMarketType, TokenConnection
from marketdata.trading.market import follows
from marketdata.trading.models import Market as MarketModel
from marketdata.trading.models import Phase
from marketdata.trading.schema.enums import MarketPhase
from marketdata.trading.schema.markets import Market
from partnerapi.core.filters import MOST_CODES, CodesFilter, narrow
from partnerapi.graphql.pages import read_pages
from partnerapi.graphql.relay import Connection, connection_field
from partnerapi.graphql.statements import OrderedList, OrderKey

ALL_TOKENS = OrderedList(
    "allTokens",
    "Token",
    TokenModel,
    (OrderKey("issuers_token.symbol", "text"),),
    unique=True,
)
ALL_MARKETS = OrderedList(
    "markets",
    "Market",
    MarketModel,
    (OrderKey("trading_market.token_id", "uuid"),),
    unique=True,
    identity="token_id",
)


def in_phase(phase, at):
    """Markets in a phase at an instant, as orders are judged: moved or not."""
    called = Q(phase=Phase.CALL)
    due = [*MarketModel.objects.filter(~called, next_phase_at__lte=at)]
    shown = [
        market.pk
        for market in due
        if phase == (follows(market) if market.session.is_open(at) else Phase.CLOSED)
    ]
    moved = ~Q(pk__in=[market.pk for market in due])
    return Q(pk__in=shown) | Q(phase=phase) & moved


class TokenFilter(django_filters.FilterSet):
    symbols = CodesFilter("with_symbols")
    isins = CodesFilter("with_isins")
    tradable = django_filters.Filter(method="that_trade")
    market_type = django_filters.Filter()

    class Meta:
        model = TokenModel
        fields = ["symbols", "isins", "tradable", "market_type"]

    def with_symbols(self, tokens, codes):
        return tokens.filter(symbol__in=codes)

    def with_isins(self, tokens, codes):
        return tokens.filter(isin__in=codes)

    def that_trade(self, tokens, name, value):
        open_now = MarketModel.objects.filter(
            in_phase(Phase.CONTINUOUS, timezone.now())
        )
        keep = tokens.filter if value else tokens.exclude
        return keep(pk__in=open_now.values("pk"))


class MarketConnection(Connection):
    class Meta:
        node = Market


def codes(which):
    return graphene.List(
        graphene.NonNull(graphene.String),
        description=f"Only tokens with one of these {which}, case ignored; at most "
        f"{MOST_CODES}. An empty list finds none.",
    )


class Query(graphene.ObjectType):
    tokens = connection_field(
        TokenConnection,
        "All tokens that you may see, by symbol.",
        symbols=codes("symbols"),
        isins=codes("ISINs"),
        tradable=graphene.Boolean(
            description="With `true`, only tokens whose market is CONTINUOUS now, so "
            "that it accepts orders; with `false`, only the others."
        ),
        market_type=IssuerMarketType(description="Only tokens of this market."),
    )
    markets = connection_field(
        MarketConnection,
        "The internal markets of all tokens that you may see, by the token's id. Needs "
        "the scope `marketdata:read`.",
        phase=MarketPhase(description="Only markets that are in this phase now."),
    )

    def resolve_tokens(
        roots, info, symbols=None, isins=None, tradable=None, market_type=None, **page
    ):
        caller = info.context.caller
        found = narrow(
            TokenFilter,
            TokenModel.objects.visible_to(caller),
            caller,
            symbols=symbols,
            isins=isins,
            tradable=tradable,
            market_type=market_type,
        )
        return read_pages(ALL_TOKENS, info, found, **page)

    @requires(Scope.MARKETDATA_READ)
    def resolve_markets(roots, info, phase=None, **page):
        tokens = TokenModel.objects.visible_to(info.context.caller)
        found = MarketModel.objects.filter(token__in=tokens.values("pk"))
        if phase is not None:
            found = found.filter(in_phase(phase, timezone.now()))
        return read_pages(ALL_MARKETS, info, found, **page)
