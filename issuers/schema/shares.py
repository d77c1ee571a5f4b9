"""Tokens, and legacy shareholders from before them."""

from uuid import UUID

import graphene

from accounts.callers import Scope, requires
from accounts.schema import User
from issuers import models
from issuers.schema.rows import ids, read_issuers, read_users
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    enumeration,
)
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import Key, List

TOKENS = List(
    "tokens",
    "Token",
    models.Token,
    (Key("issuers_token.created_at", "timestamptz"),),
    parent="issuer_id",
)


LEGACY_SHAREHOLDERS = List(
    "legacyShareholders",
    "IssuerLegacyShareholder",
    models.LegacyShareholder,
    (Key("issuers_legacyshareholder.created_at", "timestamptz"),),
    parent="issuer_id",
)


Status = models.LegacyShareholder.Status


IssuerLegacyShareholderStatus = enumeration(
    Status,
    "IssuerLegacyShareholderStatus",
    "Whether legacy shares have become tokens.",
    {
        Status.PENDING: "Shares recorded, not yet delivered on-chain.",
        Status.DELIVERED: "Shares delivered on-chain.",
    },
)


MarketType = models.Token.MarketType


IssuerMarketType = enumeration(
    MarketType,
    "IssuerMarketType",
    "The market on which a token is sold.",
    {
        MarketType.PRIMARY_MARKET: "Initial offering phase, tokens sold directly by "
        "the issuer.",
        MarketType.SECONDARY_MARKET: "Post-offering phase, tokens traded between "
        "investors.",
    },
)


Visibility = models.Token.Visibility


TokenVisibility = enumeration(
    Visibility,
    "TokenVisibility",
    "Who can see a token.",
    {
        Visibility.PUBLIC: "Everybody.",
        Visibility.PRIVATE: "Partners with a grant for the issuer.",
    },
)


class IssuerLegacyShareholder(ModelType):
    """A line of the issuer's capitalization table from before the platform.

    It records the shares and whether they have been delivered as tokens.
    """

    class Meta:
        model = models.LegacyShareholder
        fields = ()
        interfaces = [Node]

    issuer = graphene.Field(
        "issuers.schema.issuer.Issuer",
        required=True,
        description="Issuer whose legacy table holds the record.",
    )
    user = graphene.Field(User, required=True, description="Linked user account.")
    status = IssuerLegacyShareholderStatus(
        required=True, description="Delivery status."
    )
    number_of_shares = graphene.Int(required=True, description="Legacy shares held.")
    price = graphene.Int(
        required=True,
        resolver=column("price_cents"),
        description="Price of one share at import time, euro cents.",
    )
    created_at = Time(required=True, description="When the record was imported.")

    @needs("issuer_id")
    def resolve_issuer(shareholders, info):
        return read_issuers([s.issuer_id for s in shareholders], info)

    @needs("user_id")
    def resolve_user(shareholders, info):
        return read_users([s.user_id for s in shareholders], info)


class LegacyShareholderConnection(Connection):
    class Meta:
        node = IssuerLegacyShareholder


class Token(ModelType):
    """A tokenised share class of an issuer."""

    class Meta:
        model = models.Token
        fields = ["name", "symbol", "isin", "contract_address", "network"]
        interfaces = [Node]

    issuer = graphene.Field(
        "issuers.schema.issuer.Issuer",
        required=True,
        description="Issuer of the token.",
    )
    market_type = IssuerMarketType(
        required=True, description="Market on which the token is sold."
    )
    visibility = TokenVisibility(required=True, description="Who can see the token.")
    created_at = Time(required=True, description="When the token was registered.")
    current_price = Uint64(
        description="Latest unit price, euro cents; null before the first. Needs the "
        "scope `issuers:read`."
    )
    total_supply = Uint64(
        description="Units that exist now. Needs the scope `issuers:read`."
    )

    @needs("issuer_id")
    def resolve_issuer(tokens, info):
        return read_issuers([token.issuer_id for token in tokens], info)

    @requires(Scope.ISSUERS_READ)
    def resolve_current_price(tokens, info):
        heads = models.TokenLedgerHead.objects.in_bulk(ids(tokens))
        return [heads[UUID(token.id)].price_cents for token in tokens]

    @requires(Scope.ISSUERS_READ)
    def resolve_total_supply(tokens, info):
        heads = models.TokenLedgerHead.objects.in_bulk(ids(tokens))
        return [heads[UUID(token.id)].supply for token in tokens]


class TokenConnection(Connection):
    class Meta:
        node = Token
