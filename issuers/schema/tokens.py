"""Tokens."""

import json
from uuid import UUID

import graphene
from django.db.models.functions import Greatest

from accounts.access import Scope, requires, requires_grant_of
from issuers import models
from issuers.register.models import LedgerTransaction, TokenLedgerHead, TokenPrice
from issuers.register.publication import leaf, path_of, tree_of
from issuers.register.statement_models import StatedToken, Statement
from issuers.register.witnesses import witnesses_of
from issuers.schema.ledger import (
    PRICE_HISTORY,
    TRANSACTIONS,
    LedgerTransactionConnection,
    TokenPriceConnection,
)
from issuers.schema.rows import NULLS_TOKEN, ids, read_issuers
from issuers.schema.witnesses import WITNESSES
from partnerapi.graphql.cost import FOUND, Field
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
        MarketType.PRIMARY_MARKET: "Initial offering: the issuer sells tokens "
        "directly.",
        MarketType.SECONDARY_MARKET: "After the offering: investors trade tokens "
        "with each other.",
    },
)


Visibility = models.Token.Visibility


TokenVisibility = enumeration(
    Visibility,
    "TokenVisibility",
    "Visibility of a token.",
    {
        Visibility.PUBLIC: "Visible to everyone.",
        Visibility.PRIVATE: "Visible to partners with a grant for the issuer.",
    },
)


class LedgerHead(graphene.ObjectType):
    """The head of a token's ledger, with digests that cover its whole history.

    A stored head proves later that nothing before it was rewritten.
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
        required=True, description="Number of the last price, numbered the same way."
    )
    price_digest = graphene.String(
        required=True,
        description="End of the SHA-256 chain of the prices, hexadecimal.",
    )
    at = Time(
        required=True,
        description="Time of the last entry or price; the registration time if there "
        "is none.",
    )

    signed = graphene.Boolean(
        required=True,
        description="Whether the last public statement has exactly this head; false "
        "if entries or prices are newer.",
    )
    statement = Uint64(
        description="Number of the last public statement that has the token; null if "
        "there is none."
    )

    def resolve_signed(heads, info):
        return [
            head.stated is not None
            and (head.entry_digest.hex(), head.price_digest.hex())
            == (head.stated["entryDigest"], head.stated["priceDigest"])
            for head in heads
        ]

    def resolve_statement(heads, info):
        return [head.stated and int(head.stated["statement"]) for head in heads]

    def resolve_sequence(heads, info):
        return [head.last_seq for head in heads]

    def resolve_digest(heads, info):
        return [head.entry_digest.hex() for head in heads]

    def resolve_price_number(heads, info):
        return [head.last_price for head in heads]

    def resolve_price_digest(heads, info):
        return [head.price_digest.hex() for head in heads]


class TokenStatement(graphene.ObjectType):
    """What the last public statement says of a token, with the proof that it does.

    The statement's `tokensRoot` follows from record, salt and path; see
    `/docs/proof#public-statements`.
    """

    number = Uint64(required=True, description="Number of the statement.")
    at = Time(required=True, description="Its instant.")
    record = graphene.String(
        required=True,
        description="The token's record, canonical JSON: numbers of entries, prices "
        "and holders, both heads, supply and held units, the root of its holdings.",
    )
    salt = graphene.String(
        required=True, description="Salt of the record, 16 bytes, hexadecimal."
    )
    path = graphene.List(
        graphene.NonNull(graphene.String),
        required=True,
        description="Siblings from the leaf to the root: L or R for the side of the "
        "sibling, and its 64 hexadecimal digits.",
    )
    line = graphene.String(
        required=True, description="The statement, canonical JSON, as it was signed."
    )
    signature = graphene.String(
        required=True, description="Ed25519 signature of `line`, base64."
    )
    witnesses = WITNESSES

    def resolve_number(stated, info):
        return [one.statement_id for one in stated]

    def resolve_at(stated, info):
        return [one.statement.at for one in stated]

    def resolve_record(stated, info):
        return [one.record for one in stated]

    def resolve_salt(stated, info):
        return [one.salt.hex() for one in stated]

    def resolve_path(stated, info):
        return [
            path_of(
                tree_of(one.statement_id, json.loads(one.statement.said)["tokensRoot"]),
                leaf(bytes(one.salt), one.record),
            )
            for one in stated
        ]

    def resolve_line(stated, info):
        return [one.statement.said for one in stated]

    def resolve_signature(stated, info):
        return [one.statement.signature for one in stated]

    def resolve_witnesses(stated, info):
        found = witnesses_of([one.statement_id for one in stated])
        return [found[one.statement_id] for one in stated]


def last_stated(token_ids):
    """What the last public statement says of tokens, by their ids."""
    last = Statement.objects.order_by("-number").values("number")[:1]
    found = StatedToken.objects.filter(statement=last, token__in=token_ids)
    return {one.token_id: one for one in found.select_related("statement")}


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
    visibility = TokenVisibility(required=True, description="Visibility of the token.")
    created_at = Time(required=True, description="When the token was registered.")
    updated_at = Time(
        required=True,
        description="When a field of the token last changed; price and supply do not "
        "count, as events report them.",
    )
    current_price = Field(
        Uint64,
        cost=FOUND,
        description="Latest unit price, euro cents; null before the first price. Needs "
        "the scope `issuers:read`.",
    )
    total_supply = Field(
        Uint64,
        cost=FOUND,
        description="Units that exist now. Needs the scope `issuers:read`.",
    )
    ledger_head = graphene.Field(
        LedgerHead,
        description="The current head of the token's ledger, which can be stored as "
        "evidence. Needs the scope `captable:read` and a grant for the issuer.",
    )
    statement = Field(
        TokenStatement,
        cost=FOUND,
        description="What the last public statement says of the token; null if no "
        "statement has it. Needs the scope `captable:read` and a grant for the issuer.",
    )
    transactions = connection_field(
        LedgerTransactionConnection,
        "The entries of the token's ledger by number, oldest first: new entries are "
        "appended, so paging misses nothing. Needs the scope `captable:read` and a "
        f"grant for the issuer; {NULLS_TOKEN}.",
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
        stated = last_stated(ids(tokens))
        for key, head in heads.items():
            head.stated = json.loads(stated[key].record) if key in stated else None
        return [heads[UUID(token.id)] for token in tokens]

    @needs("issuer_id")
    @requires(Scope.CAPTABLE_READ)
    @requires_grant_of("issuer_id")
    def resolve_statement(tokens, info):
        stated = last_stated(ids(tokens))
        return [stated.get(UUID(token.id)) for token in tokens]

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
