"""Legacy shareholders: the lines of tables from before the platform."""

import graphene

from accounts.people.schema import User
from issuers.legacy.models import LegacyShareholder
from issuers.schema.publications import twin
from issuers.schema.rows import read_issuers, read_users
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    enumeration,
)
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

LEGACY_SHAREHOLDERS = OrderedList(
    "legacyShareholders",
    "IssuerLegacyShareholder",
    LegacyShareholder,
    (OrderKey("issuers_legacyshareholder.created_at", "timestamptz"),),
    parent="issuer_id",
)


Status = LegacyShareholder.Status


IssuerLegacyShareholderStatus = enumeration(
    Status,
    "IssuerLegacyShareholderStatus",
    "Whether legacy shares have become tokens.",
    {
        Status.PENDING: "Shares recorded, not yet delivered on-chain.",
        Status.DELIVERED: "Shares delivered on-chain.",
    },
)


class IssuerLegacyShareholder(ModelType):
    """A line of the issuer's capitalization table from before it joined the platform.

    It records the shares and whether they have been delivered as tokens.
    """

    class Meta:
        model = LegacyShareholder
        fields = ()
        interfaces = [Node]

    issuer = graphene.Field(
        "issuers.schema.issuers.Issuer",
        required=True,
        description="Issuer to which the record belongs.",
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
    price_cents = Uint64(required=True, description=twin("price"))
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
