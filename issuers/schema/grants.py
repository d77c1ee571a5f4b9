"""The grants of the partner who asks."""

import graphene

from issuers import models
from issuers.schema.issuers import Issuer
from issuers.schema.rows import read_issuers
from partnerapi.graphql.pages import read_pages
from partnerapi.graphql.relay import Connection, ModelType, connection_field
from partnerapi.graphql.resolvers import needs
from partnerapi.graphql.scalars import Time
from partnerapi.graphql.statements import OrderedList, OrderKey

GRANTS = OrderedList(
    "grants",
    "Grant",
    models.IssuerGrant,
    (OrderKey("issuers_issuergrant.issuer_id", "uuid"),),
    unique=True,
    parent="partner_id",
)


class Grant(ModelType):
    """Access to an issuer's private data, within the scopes of your key."""

    class Meta:
        model = models.IssuerGrant
        fields = ()

    issuer = graphene.Field(
        Issuer, required=True, description="The issuer covered by the grant."
    )
    created_at = Time(required=True, description="When the grant was given.")

    @needs("issuer_id")
    def resolve_issuer(grants, info):
        return read_issuers([grant.issuer_id for grant in grants], info)


class GrantConnection(Connection):
    class Meta:
        node = Grant


def resolve_grants(callers, info, **page):
    grants = models.IssuerGrant.objects.live().filter(issuer__isnull=False)
    partners = [caller.partner_id for caller in callers]
    return read_pages(GRANTS, info, grants, partners, **page)


def resolve_all_issuers(callers, info):
    return [caller.granted_issuers is None for caller in callers]


VIEWER_GRANTS = connection_field(
    GrantConnection,
    "Your grants for individual issuers, by issuer id. If `allIssuers` is true, you "
    "may see all other issuers as well.",
    resolver=resolve_grants,
)
ALL_ISSUERS = graphene.Field(
    graphene.Boolean,
    required=True,
    resolver=resolve_all_issuers,
    description="Whether you have a grant for every issuer, including future ones.",
)
