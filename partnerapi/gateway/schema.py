"""The gateway's part of the schema: what became of a mutation."""

from typing import Any

import graphene
import orjson
from django.db.models import TextChoices
from django.utils import timezone

from accounts.access import Unauthenticated
from partnerapi.gateway.idempotency import completed
from partnerapi.graphql.relay import enumeration
from partnerapi.graphql.scalars import Time
from partnerapi.models import NAME_LENGTH


class Outcome(TextChoices):
    SUCCEEDED = "SUCCEEDED"
    REFUSED = "REFUSED"


IdempotentRequestOutcome = enumeration(
    Outcome,
    "IdempotentRequestOutcome",
    "What came of a mutation.",
    {
        Outcome.SUCCEEDED: "It has happened.",
        Outcome.REFUSED: "It was refused, and nothing has changed.",
    },
)


class IdempotentRequest(graphene.ObjectType):
    """A mutation that was answered, and until when its answer is kept."""

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
    outcome = IdempotentRequestOutcome(
        required=True, description="Whether it has happened, or was refused."
    )
    error_codes = graphene.List(
        graphene.NonNull(graphene.String),
        required=True,
        description="The codes of its answer's errors; none where it has happened.",
    )

    def resolve_outcome(records: list[Any], info: Any) -> list[Outcome]:
        refused = map(codes_of, records)
        return [Outcome.REFUSED if codes else Outcome.SUCCEEDED for codes in refused]

    def resolve_error_codes(records: list[Any], info: Any) -> list[list[str]]:
        return [codes_of(record) for record in records]


def codes_of(record: Any) -> list[str]:
    """The codes of the errors in a stored answer; with any, nothing has happened."""
    errors = orjson.loads(record.body).get("errors", ())
    return [error["extensions"]["code"] for error in errors]


class Query(graphene.ObjectType):
    idempotent_request = graphene.Field(
        IdempotentRequest,
        key=graphene.String(
            required=True, description="The Idempotency-Key of the mutation."
        ),
        description="What came of a mutation of yours, without sending it again; "
        "null: nothing yet, or its answer is no longer kept. Needs a key.",
    )

    def resolve_idempotent_request(roots: list[Any], info: Any, key: str) -> list[Any]:
        caller = info.context.caller
        if caller is None:
            raise Unauthenticated("This field needs an API key.")
        return [completed(caller, key, timezone.now()) for _ in roots]
