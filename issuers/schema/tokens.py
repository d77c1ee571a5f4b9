"""Tokens."""

from uuid import UUID

import graphene
from django.db.models.functions import Greatest

from accounts.access import Scope, requires, requires_grant_of
from issuers import models
from issuers.register.models import LedgerTransaction, TokenLedgerHead, TokenPrice
from issuers.schema.ledger import (
    PRICE_HISTORY,
    TRANSACTIONS,
    LedgerTransactionConnection,
    TokenPriceConnection,
)
from issuers.schema.rows import NULLS_TOKEN, ids, read_issuers
from partnerapi.graphql.cost import FIGURE, Field
from partnerapi.graphql.pages import read_pages
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    connection_field,
    enumeration,
)
from partnerapi.graphql.resolvers import needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

TOKENS = OrderedList(
    "tokens",
    "Token",
    models.Token,
    (OrderKey("issuers_token.created_at", "timestamptz"),),
    parent="issuer_id",
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


class LedgerHead(graphene.ObjectType):
    """Where a token's ledger stands, and digests that cover all that led there.

    Whoever keeps one can prove later that nothing before it was rewritten.
    """

    sequence = Uint64(
        required=True,
        description="Number of the last entry: entries of a token are numbered from "
        "1, without gaps.",
    )
    digest = graphene.String(
        required=True,
        description="End of the SHA-256 chain of the entries, hexadecimal.",
    )
    price_number = Uint64(
        required=True, description="Number of the last price, numbered likewise."
    )
    price_digest = graphene.String(
        required=True,
        description="End of the SHA-256 chain of the prices, hexadecimal.",
    )
    at = Time(
        required=True,
        description="Since when it stands there; before the first entry or price, "
        "since the token was registered.",
    )

    def resolve_sequence(heads, info):
        return [head.last_seq for head in heads]

    def resolve_digest(heads, info):
        return [head.entry_digest.hex() for head in heads]

    def resolve_price_number(heads, info):
        return [head.last_price for head in heads]

    def resolve_price_digest(heads, info):
        return [head.price_digest.hex() for head in heads]


class Token(ModelType):
    """A tokenised share class of an issuer."""

    class Meta:
        model = models.Token
        fields = ["name", "symbol", "isin", "contract_address", "network"]
        interfaces = [Node]

    issuer = graphene.Field(
        "issuers.schema.issuers.Issuer",
        required=True,
        description="Issuer of the token.",
    )
    market_type = IssuerMarketType(
        required=True, description="Market on which the token is sold."
    )
    visibility = TokenVisibility(required=True, description="Who can see the token.")
    created_at = Time(required=True, description="When the token was registered.")
    updated_at = Time(
        required=True,
        description="When a field of the token last changed; its price and its supply "
        "do not count, which events tell.",
    )
    current_price = Field(
        Uint64,
        cost=FIGURE,
        description="Latest unit price, euro cents; null before the first. Needs the "
        "scope `issuers:read`.",
    )
    total_supply = Field(
        Uint64,
        cost=FIGURE,
        description="Units that exist now. Needs the scope `issuers:read`.",
    )
    ledger_head = graphene.Field(
        LedgerHead,
        description="Where the token's ledger stands, to be kept by whoever wants to "
        "prove it later. Needs the scope `captable:read` and a grant for the issuer.",
    )
    transactions = connection_field(
        LedgerTransactionConnection,
        "The entries of the token's ledger by number, oldest first: what is entered "
        "later comes at the end, so a walk misses nothing. Needs the scope "
        f"`captable:read` and a grant for the issuer; {NULLS_TOKEN}.",
    )
    price_history = connection_field(
        TokenPriceConnection,
        "The prices of a unit by number, oldest first. Needs the scope `captable:read` "
        f"and a grant for the issuer; {NULLS_TOKEN}.",
    )

    @needs("issuer_id")
    def resolve_issuer(tokens, info):
        return read_issuers([token.issuer_id for token in tokens], info)

    @requires(Scope.ISSUERS_READ)
    def resolve_current_price(tokens, info):
        heads = TokenLedgerHead.objects.in_bulk(ids(tokens))
        return [heads[UUID(token.id)].price_cents for token in tokens]

    @requires(Scope.ISSUERS_READ)
    def resolve_total_supply(tokens, info):
        heads = TokenLedgerHead.objects.in_bulk(ids(tokens))
        return [heads[UUID(token.id)].supply for token in tokens]

    @needs("issuer_id")
    @requires(Scope.CAPTABLE_READ)
    @requires_grant_of("issuer_id")
    def resolve_ledger_head(tokens, info):
        heads = TokenLedgerHead.objects.annotate(
            at=Greatest("last_effective_at", "last_price_at", "token__created_at")
        ).in_bulk(ids(tokens))
        return [heads[UUID(token.id)] for token in tokens]

    @needs("issuer_id")
    @requires(Scope.CAPTABLE_READ)
    @requires_grant_of("issuer_id")
    def resolve_transactions(tokens, info, **page):
        entries = LedgerTransaction.objects.all()
        return read_pages(TRANSACTIONS, info, entries, ids(tokens), **page)

    @needs("issuer_id")
    @requires(Scope.CAPTABLE_READ)
    @requires_grant_of("issuer_id")
    def resolve_price_history(tokens, info, **page):
        prices = TokenPrice.objects.all()
        return read_pages(PRICE_HISTORY, info, prices, ids(tokens), **page)


class TokenConnection(Connection):
    class Meta:
        node = Token
