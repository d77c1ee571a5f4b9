"""The caller, and the caller's budget."""

import graphene
from django.db import connection

from accounts.standby import SETTLED_AT, settled_arguments
from partnerapi.graphql.cost import FIGURE, OBJECT, Field
from partnerapi.graphql.scalars import Time


class RateLimit(graphene.ObjectType):
    """The budget of points that requests draw on."""

    limit = graphene.Int(required=True, description="Points that the budget holds.")
    remaining = graphene.Int(
        required=True, description="Points left after this request."
    )
    refill_per_second = graphene.Int(
        required=True, description="Points that come back every second."
    )


class Viewer(graphene.ObjectType):
    """The integration account whose key sent the request."""

    login = graphene.String(required=True, description="Login of the account.")
    partner = graphene.String(required=True, description="Name of the partner.")
    scopes = graphene.List(
        graphene.NonNull(graphene.String),
        required=True,
        description="Scopes of the key, such as `issuers:read`, in alphabetical order.",
    )
    rate_limit = Field(
        RateLimit, required=True, cost=OBJECT, description="Budget of the account."
    )
    settled_at = Field(
        Time,
        required=True,
        cost=FIGURE,
        description="Up to this instant everything is committed: the start of the "
        "earliest transaction that is still writing, else now. To mirror a list, read "
        "it, then walk the list, and pass it as `updatedSince` to the next walk.",
    )

    def resolve_scopes(callers, info):
        return [sorted(caller.scopes) for caller in callers]

    def resolve_settled_at(callers, info):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {SETTLED_AT}", settled_arguments())
            [(settled_at,)] = cursor.fetchall()
        return [settled_at for _ in callers]

    def resolve_rate_limit(callers, info):
        return [info.context.budget for _ in callers]


class Query(graphene.ObjectType):
    viewer = graphene.Field(
        Viewer, description="Who is asking; null for a request without a key."
    )

    def resolve_viewer(roots, info):
        return [info.context.caller for _ in roots]
