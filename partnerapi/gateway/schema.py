"""The gateway's part of the schema: what became of a mutation."""

from typing import Any

import graphene
import orjson
from django.db.models import TextChoices
from django.utils import timezone

from accounts.access import Unauthenticated
from partnerapi.gateway.idempotency import find_record_at
from partnerapi.gateway.models import NAME_LENGTH
from partnerapi.graphql.relay import enumeration
from partnerapi.graphql.scalars import Time


class Outcome(TextChoices):
    SUCCEEDED = "SUCCEEDED"
    REFUSED = "REFUSED"


IdempotentRequestOutcome = enumeration(
    Outcome,
    "IdempotentRequestOutcome",
    "Outcome of a mutation.",
    {
        Outcome.SUCCEEDED: "It was executed.",
        Outcome.REFUSED: "It was refused, and nothing changed.",
    },
)


class IdempotentRequest(graphene.ObjectType):
    """A mutation that was answered, and how long its response is stored."""

    key = graphene.String(required=True, description="The Idempotency-Key.")
    operation_name = graphene.String(
        description="Name of the operation, if it had one; at most its first "
        f"{NAME_LENGTH} characters."
    )
    created_at = Time(required=True, description="When the request was first sent.")
    expires_at = Time(
        required=True,
        description="Until when a retry returns the stored response.",
    )
    outcome = IdempotentRequestOutcome(
        required=True, description="Whether it was executed or refused."
    )
    error_codes = graphene.List(
        graphene.NonNull(graphene.String),
        required=True,
        description="Error codes of its response; empty if it was executed.",
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
        description="The outcome of one of your mutations, without sending it again; "
        "null if there is none yet, or if its response is no longer stored. "
        "Needs a key.",
    )

    def resolve_idempotent_request(roots: list[Any], info: Any, key: str) -> list[Any]:
        caller = info.context.caller
        if caller is None:
            raise Unauthenticated("This field needs an API key.")
        return [find_record_at(caller, key, timezone.now()) for _ in roots]
