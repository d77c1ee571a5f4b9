"""Subscriptions of your clients to offerings."""

import graphene

from accounts.access import Scope, requires
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.schema import Account
from issuers.offerings import models
from issuers.schema.offerings import Offering
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    connection_field,
    enumeration,
)
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

SUBSCRIPTIONS = OrderedList(
    "accountSubscriptions",
    "OfferingSubscription",
    models.Subscription,
    (OrderKey("issuers_subscription.created_at", "timestamptz"),),
    descending=True,
    parent="account_id",
)
Stage = models.SubscriptionStatus
SubscriptionStatus = enumeration(
    Stage,
    "OfferingSubscriptionStatus",
    "Status of a subscription; all but ACTIVE are final.",
    {
        Stage.ACTIVE: "Its cash is reserved.",
        Stage.WITHDRAWN: "You withdrew it inside its reflection period.",
        Stage.SETTLED: "The allotted units were entered and paid; the rest of its cash "
        "was released.",
        Stage.RELEASED: "It got no units; its cash was released.",
    },
)


class OfferingSubscription(ModelType):
    """A subscription of one of your clients to an offering."""

    class Meta:
        model = models.Subscription
        fields = ()
        interfaces = [Node]

    offering = graphene.Field(Offering, required=True, description="The offering.")
    account = graphene.Field(
        Account, required=True, description="The client's account with you."
    )
    status = SubscriptionStatus(required=True, description="Status.")
    quantity = Uint64(required=True, description="Units subscribed.")
    limit_price = Uint64(
        required=True, description="Most that a unit may cost, euro cents."
    )
    reserved = Uint64(
        required=True,
        description="Euro cents that it reserves: `quantity` times `limitPrice` while "
        "it is ACTIVE, otherwise 0.",
    )
    reflects_until = Time(
        required=True,
        description="Before this instant it can be withdrawn or lowered; from it on it "
        "binds.",
    )
    ranked_at = Time(
        required=True,
        description="Its place in time: when it was made, or last raised.",
    )
    allotted_quantity = Uint64(
        resolver=column("allotted"),
        description="Units allotted; null before the allotment.",
    )
    refusal = graphene.String(
        description="Code of the rule by which it got fewer units than its share, such "
        "as those of `TransferRefusal`, ACCOUNT_NOT_ACTIVE or LIMIT_BELOW_PRICE; null "
        "if none did."
    )
    ledger_sequence = Uint64(
        resolver=column("ledger_seq"),
        description="Number of the ledger entry of its units; null unless SETTLED.",
    )
    version = graphene.Int(
        required=True, description="From 1; each change by a mutation adds 1."
    )
    created_at = Time(required=True, description="When it was made.")
    updated_at = Time(required=True, description="When it last changed.")

    @needs("offering_id")
    def resolve_offering(rows, info):
        # A partner with a subscription may see its offering.
        found = models.Offering.objects.all()
        return read_rows("Offering", info, found, [row.offering_id for row in rows])

    @needs("account_id")
    def resolve_account(rows, info):
        accounts = AccountModel.objects.of_partner(info.context.caller)
        return read_rows("Account", info, accounts, [row.account_id for row in rows])

    @needs("status", "quantity", "limit_price")
    def resolve_reserved(rows, info):
        return [
            row.quantity * row.limit_price if row.status == Stage.ACTIVE else 0
            for row in rows
        ]

    @needs("refusal")
    def resolve_refusal(rows, info):
        return [row.refusal or None for row in rows]


class OfferingSubscriptionConnection(Connection):
    class Meta:
        node = OfferingSubscription


@requires(Scope.TRADING_READ)
def read_account_subscriptions(accounts, info, **page):
    rows = models.Subscription.objects.visible_to(info.context.caller)
    ids = [account.id for account in accounts]
    return read_pages(SUBSCRIPTIONS, info, rows, ids, **page)


ACCOUNT_SUBSCRIPTIONS = connection_field(
    OfferingSubscriptionConnection,
    "The account's subscriptions to offerings, newest first. Needs the scope "
    "`trading:read`.",
    resolver=read_account_subscriptions,
)
"""The field `subscriptions` of an account."""


NODES = {"OfferingSubscription": models.Subscription.objects.visible_to}
