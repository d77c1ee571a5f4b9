"""Mutations that are only tried: all checks are made, nothing is done or kept."""

from collections.abc import Callable

from django.db import connection, transaction
from django.http import HttpRequest
from graphql import ExecutionResult

from partnerapi.gateway.idempotency import run_in_savepoint
from partnerapi.gateway.refusals import BadRequest


def asks_for_trial(request: HttpRequest) -> bool:
    """Whether the header X-Validate-Only says `true`.

    Raises:
        BadRequest: it says neither `true` nor `false`: the mutation must not happen
            because of a word that was not understood.
    """
    said = request.headers.get("X-Validate-Only", "false").strip().lower()
    if said not in ("true", "false"):
        raise BadRequest(
            f"X-Validate-Only is {said[:100]!r}; send `true` or `false`. Nothing was "
            "done."
        )
    return said == "true"


def attempt(run: Callable[[], ExecutionResult]) -> ExecutionResult:
    """Run a mutation up to its commit, and take all of it back."""
    with transaction.atomic():
        result = run_in_savepoint(run)
        with connection.cursor() as cursor:
            # What the database checks and does at a commit, it does now.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        transaction.set_rollback(True)
    return result
