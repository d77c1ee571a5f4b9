"""The caller, and the caller's budget."""

import graphene

from partnerapi.core.database import value_of
from partnerapi.core.standby import SETTLED_AT, settled_arguments
from partnerapi.graphql.cost import FOUND, OBJECT, Field
from partnerapi.graphql.scalars import Time


class RateLimit(graphene.ObjectType):
    """The budget of points from which requests are paid."""

    limit = graphene.Int(required=True, description="Size of the budget, in points.")
    remaining = graphene.Int(
        required=True, description="Points left after this request."
    )
    refill_per_second = graphene.Int(
        required=True, description="Points refilled each second."
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
        cost=FOUND,
        description="Everything up to this instant is committed: the start of the "
        "oldest transaction that is still writing, otherwise now. To mirror "
        "a list, read this value, then page through the list, and pass the "
        "value as `updatedSince` on the next pass.",
    )

    def resolve_scopes(callers, info):
        return [sorted(caller.scopes) for caller in callers]

    def resolve_settled_at(callers, info):
        settled_at = value_of(f"SELECT {SETTLED_AT}", settled_arguments())
        return [settled_at for _ in callers]

    def resolve_rate_limit(callers, info):
        return [info.context.budget for _ in callers]


class Query(graphene.ObjectType):
    viewer = Field(
        Viewer, cost=OBJECT, description="The caller; null for a request without a key."
    )

    def resolve_viewer(roots, info):
        return [info.context.caller for _ in roots]
