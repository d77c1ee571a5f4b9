"""The gateway's part of the schema: what became of a mutation."""

from typing import Any

import graphene
from django.utils import timezone

from accounts.access import Unauthenticated
from partnerapi.gateway.idempotency import completed
from partnerapi.graphql.scalars import Time
from partnerapi.models import NAME_LENGTH


class IdempotentRequest(graphene.ObjectType):
    """A mutation that has happened, and until when its answer is kept."""

    key = graphene.String(required=True, description="The Idempotency-Key.")
    operation_name = graphene.String(
        description="Name of the operation, if it had one; at most its first "
        f"{NAME_LENGTH} characters."
    )
    created_at = Time(required=True, description="When the request was first tried.")
    expires_at = Time(
        required=True,
        description="Until when the same request is only answered again.",
    )


class Query(graphene.ObjectType):
    idempotent_request = graphene.Field(
        IdempotentRequest,
        key=graphene.String(
            required=True, description="The Idempotency-Key of the mutation."
        ),
        description="Whether a mutation of yours has happened, without sending it "
        "again; null: it has not, or its answer is no longer kept. Needs a key.",
    )

    def resolve_idempotent_request(roots: list[Any], info: Any, key: str) -> list[Any]:
        caller = info.context.caller
        if caller is None:
            raise Unauthenticated("This field needs an API key.")
        return [completed(caller, key, timezone.now()) for _ in roots]
