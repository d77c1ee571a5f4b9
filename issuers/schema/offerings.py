"""Offerings of the primary market."""

from itertools import chain, islice

import graphene
from django.db.models import Sum, TextChoices

from issuers.models import Token as TokenModel
from issuers.offerings import models
from issuers.schema.publications import Document
from issuers.schema.rows import read_documents
from issuers.schema.tokens import Token
from partnerapi.graphql.cost import FOUND, Cost, Field
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    connection_field,
    enumeration,
    key_of,
)
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

OFFERINGS = OrderedList(
    "offerings",
    "Offering",
    models.Offering,
    (OrderKey("issuers_offering.opens_at", "timestamptz"),),
    descending=True,
)
Status = models.OfferingStatus
Rule = models.AllotmentRule


class _Shown(TextChoices):
    OPEN = Status.OPEN
    CLOSED = Status.CLOSED
    ALLOTTED = Status.ALLOTTED
    SETTLED = Status.SETTLED
    FAILED = Status.FAILED
    WITHDRAWN = Status.WITHDRAWN


OfferingStatus = enumeration(
    _Shown,
    "OfferingStatus",
    "Status of an offering. More may be added.",
    {
        _Shown.OPEN: "Takes subscriptions from `opensAt` to `closesAt`.",
        _Shown.CLOSED: "Takes no subscription any more; units are allotted once the "
        "last reflection period has ended.",
        _Shown.ALLOTTED: "Each subscription has its units; they are not settled yet.",
        _Shown.SETTLED: "Units were entered in the register, and paid. Final.",
        _Shown.FAILED: "Fewer than `minimumUnits` were subscribed or could be "
        "allotted; all cash was released. Final.",
        _Shown.WITHDRAWN: "The issuer withdrew it; all cash was released. Final.",
    },
)
AllotmentRule = enumeration(
    Rule,
    "AllotmentRule",
    "How units are allotted if more are subscribed than offered.",
    {
        Rule.FIRST_COME: "In the order of time.",
        Rule.PRO_RATA: "In proportion; the largest remainders get one unit more, of "
        "equal ones the earlier.",
        Rule.BOOK: "At one price from the book: higher limits first, those at the last "
        "limit in proportion.",
    },
)


class Offering(ModelType):
    """The sale of a token's units by its issuer, at one price. See
    [offerings](/docs/offerings).
    """

    class Meta:
        model = models.Offering
        fields = ()
        interfaces = [Node]

    token = graphene.Field(Token, required=True, description="The token.")
    status = OfferingStatus(required=True, description="Status.")
    status_reason = graphene.String(
        description="Why it was withdrawn or failed, if staff did so; otherwise null."
    )
    allotment_rule = AllotmentRule(
        required=True, resolver=column("rule"), description="How units are allotted."
    )
    price = Uint64(
        description="Price of a unit, euro cents; null until the book has given it."
    )
    price_floor = Uint64(
        description="Lowest limit price of a book, euro cents; null without a book."
    )
    price_cap = Uint64(
        description="Highest limit price of a book, euro cents; null without a book."
    )
    maximum_units = Uint64(required=True, description="Units offered.")
    minimum_units = Uint64(
        required=True,
        description="With fewer units it fails, and all cash is released.",
    )
    smallest_ticket = Uint64(
        required=True, description="Fewest units of a subscription."
    )
    largest_ticket = Uint64(
        description="Most units of a subscription; null: `maximumUnits`."
    )
    opens_at = Time(required=True, description="From when it takes subscriptions.")
    closes_at = Time(
        required=True, description="From when it takes no subscription any more."
    )
    reflection_seconds = graphene.Int(
        required=True,
        description="Seconds for which a client that is neither PROFESSIONAL nor "
        "ELIGIBLE_COUNTERPARTY may withdraw.",
    )
    covered_units = Field(
        Uint64,
        required=True,
        cost=FOUND,
        description="Units of active subscriptions whose reflection period has ended.",
    )
    documents = Field(
        graphene.List(graphene.NonNull(Document)),
        required=True,
        cost=Cost(reads=True, most=models.MOST_DOCUMENTS),
        description="What the issuer publishes with it, such as its prospectus.",
    )
    updated_at = Time(required=True, description="When its status last changed.")

    @needs("token_id")
    def resolve_token(offerings, info):
        # A partner that may see an offering may see its token.
        ids = [offering.token_id for offering in offerings]
        return read_rows("Token", info, TokenModel.objects.all(), ids)

    @needs("status_reason")
    def resolve_status_reason(offerings, info):
        return [offering.status_reason or None for offering in offerings]

    @needs("documents")
    def resolve_documents(offerings, info):
        ids = [[str(id) for id in offering.documents] for offering in offerings]
        found = iter(read_documents([*chain.from_iterable(ids)], info))
        return [[*filter(None, islice(found, len(each)))] for each in ids]

    @needs("id")
    def resolve_covered_units(offerings, info):
        covered = models.Subscription.objects.covered().filter(
            offering__in=[offering.id for offering in offerings]
        )
        found = {
            str(offering): int(units)
            for offering, units in covered.values_list("offering").annotate(
                units=Sum("quantity")
            )
        }
        return [found.get(offering.id, 0) for offering in offerings]


class OfferingConnection(Connection):
    class Meta:
        node = Offering


class Query(graphene.ObjectType):
    offering = graphene.Field(
        Offering,
        id=graphene.ID(required=True, description="The offering's id."),
        description="One offering; null if there is none that you may see.",
    )
    offerings = connection_field(
        OfferingConnection,
        "The offerings of tokens that you may see, newest first.",
        token_id=graphene.ID(
            name="tokenID", description="Only offerings of this token."
        ),
        status=OfferingStatus(description="Only offerings with this status."),
    )

    def resolve_offering(roots, info, id):
        visible = models.Offering.objects.visible_to(info.context.caller)
        return read_rows("Offering", info, visible, [key_of(id, "Offering")])

    def resolve_offerings(roots, info, token_id=None, status=None, **page):
        found = models.Offering.objects.visible_to(info.context.caller)
        if token_id is not None:
            key = key_of(token_id, "Token")
            found = found.filter(token=key) if key else found.none()
        if status is not None:
            found = found.filter(status=status)
        return read_pages(OFFERINGS, info, found, **page)


NODES = {"Offering": models.Offering.objects.visible_to}
