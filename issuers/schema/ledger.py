"""The entries and the prices of a token's ledger."""

import graphene

from accounts.people.models import UserHolder as UserHolderModel
from accounts.people.schema import UserHolder
from issuers import models
from issuers.register.kinds import EntryKind
from issuers.register.models import LedgerTransaction as LedgerTransactionModel
from issuers.register.models import TokenPrice as TokenPriceModel
from issuers.register.reasons import ReasonCode
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.relay import Connection, enumeration
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey


def of_tokens(name, graphql_type, model, number, last):
    """A list of what tokens number from 1; their heads hold the last number."""
    return OrderedList(
        name,
        graphql_type,
        model,
        (OrderKey(f"{model._meta.db_table}.{number}", "bigint"),),
        unique=True,
        parent="token_id",
        identity="token_id",
        # Whoever writes holds the lock of the head until the end: a number is seen only
        # when all before it are. So the head has the total.
        count=f"SELECT h.{last} FROM issuers_tokenledgerhead h"
        " WHERE h.token_id = p.key",
    )


TRANSACTIONS = of_tokens(
    "transactions", "LedgerTransaction", LedgerTransactionModel, "seq", "last_seq"
)
PRICE_HISTORY = of_tokens(
    "priceHistory", "TokenPrice", TokenPriceModel, "number", "last_price"
)

LedgerTransactionKind = enumeration(
    EntryKind,
    "LedgerTransactionKind",
    "Kind of entry in a token's ledger.",
    {kind: kind.meaning for kind in EntryKind},
)
Source = TokenPriceModel.Source
TokenPriceSource = enumeration(
    Source,
    "TokenPriceSource",
    "Where a price comes from.",
    {
        Source.ISSUE: "The price of issue.",
        Source.TRADE: "A trade.",
        Source.NAV: "The net asset value.",
        Source.MANUAL: "Set by staff.",
    },
)


def hexadecimal(name):
    """The resolver of a column of bytes."""

    @needs(name)
    def resolve(rows, info):
        return [value and value.hex() for value in (getattr(r, name) for r in rows)]

    return resolve


@needs("private_digest")
def resolve_price_version(rows, info):
    return [1 if row.private_digest is None else 2 for row in rows]


@needs("private_digest", "reason_code")
def resolve_entry_version(rows, info):
    return [
        3 if row.reason_code else 1 if row.private_digest is None else 2 for row in rows
    ]


LINE_VERSION = (
    "Version of its line in the chain. All members of a line after version 1 are "
    "answered, so that a partner can compute the head from them; version 1 has others."
)
PRIVATE_DIGEST = (
    "SHA-256 of a secret salt and of the private part ({}), hexadecimal; null in "
    "version 1."
)
PREVIOUS_DIGEST = (
    "Digest of the chain before the first line of version 2, on that line; 64 zeros if "
    "it is the first line; null on all others."
)


def whole(name):
    """The resolver of a column of whole numbers, read as Decimals."""

    @needs(name)
    def resolve(rows, info):
        return [int(getattr(row, name)) for row in rows]

    return resolve


LedgerReason = enumeration(
    ReasonCode,
    "LedgerReason",
    "Why staff made an entry. More may be added.",
    {code: code.meaning for code in ReasonCode},
)


class LedgerTransaction(graphene.ObjectType):
    """An entry of a token's ledger: units created, moved or destroyed. It never
    changes.
    """

    id = graphene.ID(
        required=True,
        description="Identifier of the entry: its token's UUID and its number. `node` "
        "does not accept it.",
    )
    token = graphene.Field(
        "issuers.schema.tokens.Token", required=True, description="The token."
    )
    sequence = Uint64(
        required=True,
        resolver=column("seq"),
        description="Number of the entry: from 1, without gaps, per token.",
    )
    kind = LedgerTransactionKind(required=True, description="Kind of entry.")
    source = graphene.Field(
        UserHolder,
        description="Previous holder of the units; null if they come from the treasury "
        "or are created.",
    )
    target = graphene.Field(
        UserHolder,
        description="New holder of the units; null if they go to the treasury or are "
        "destroyed.",
    )
    amount = Uint64(
        required=True, resolver=whole("amount"), description="Number of units."
    )
    effective_at = Time(required=True, description="When it takes effect.")
    supply_after = Uint64(
        required=True,
        resolver=whole("supply_after"),
        description="Supply of the token after this entry.",
    )
    held_after = Uint64(
        required=True,
        resolver=whole("held_after"),
        description="Units held after this entry, excluding the treasury.",
    )
    holders_after = Uint64(
        required=True, description="Number of holders after this entry."
    )
    chain_reference = graphene.String(
        description="The transaction on a blockchain; null if there is none."
    )
    reverses = Uint64(
        description="For a REVERSAL, the number of the reversed entry; otherwise null."
    )
    source_before = Uint64(
        description="Number of the source's entry before this one, the treasury's "
        "included; 0 if there is none; null if units are created, and in version 1."
    )
    target_before = Uint64(
        description="Number of the target's entry before this one, the treasury's "
        "included; 0 if there is none; null if units are destroyed, and in version 1."
    )
    reason = LedgerReason(
        resolver=column("reason_code"),
        description="Why it was made, in version 3; null in others, which staff have "
        "not given a code.",
    )
    line_version = graphene.Int(
        required=True, resolver=resolve_entry_version, description=LINE_VERSION
    )
    private_digest = graphene.String(
        resolver=hexadecimal("private_digest"),
        description=PRIVATE_DIGEST.format(
            "actor, text of the reason, time of recording, delivered legacy shares"
        ),
    )
    previous_digest = graphene.String(
        resolver=hexadecimal("previous_digest"), description=PREVIOUS_DIGEST
    )

    @needs("token_id", "seq")
    def resolve_id(entries, info):
        return [f"LedgerTransaction|{e.token_id}.{e.seq}" for e in entries]

    @needs("token_id")
    def resolve_token(entries, info):
        # Its grant, which covers private tokens, has been checked.
        tokens = models.Token.objects.all()
        return read_rows("Token", info, tokens, [e.token_id for e in entries])

    @needs("source__holder_id")
    def resolve_source(entries, info):
        return read_holders([e.source__holder_id for e in entries], info)

    @needs("target__holder_id")
    def resolve_target(entries, info):
        return read_holders([e.target__holder_id for e in entries], info)


def read_holders(ids, info):
    return read_rows("UserHolder", info, UserHolderModel.objects.all(), ids)


class LedgerTransactionConnection(Connection):
    class Meta:
        node = LedgerTransaction


class TokenPrice(graphene.ObjectType):
    """The price of a unit of a token from an instant until the next price."""

    number = Uint64(
        required=True,
        description="Number of the price: from 1, without gaps, per token.",
    )
    price = Uint64(
        required=True,
        resolver=column("price_cents"),
        description="Price of a unit, euro cents.",
    )
    source = TokenPriceSource(required=True, description="Where it comes from.")
    effective_at = Time(required=True, description="When it takes effect.")
    line_version = graphene.Int(
        required=True, resolver=resolve_price_version, description=LINE_VERSION
    )
    private_digest = graphene.String(
        resolver=hexadecimal("private_digest"),
        description=PRIVATE_DIGEST.format("actor, time of recording"),
    )
    previous_digest = graphene.String(
        resolver=hexadecimal("previous_digest"), description=PREVIOUS_DIGEST
    )


class TokenPriceConnection(Connection):
    class Meta:
        node = TokenPrice
