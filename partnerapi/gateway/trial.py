"""Headers that change what a document does, and mutations that are only tried: all
checks are made, nothing is locked or written."""

from collections.abc import Callable

from django.db import transaction
from django.http import HttpRequest
from graphql import ExecutionResult

from partnerapi.core.database import execute
from partnerapi.gateway.idempotency import run_in_savepoint
from partnerapi.gateway.refusals import BadRequest


def asks_for_trial(request: HttpRequest) -> bool:
    """Whether the header X-Validate-Only says `true`.

    Raises:
        BadRequest: it says neither `true` nor `false`.
    """
    return says(request, "X-Validate-Only", "true", "false")


def asks_for_price(request: HttpRequest) -> bool:
    """Whether the header X-Cost-Only says `1`.

    Raises:
        BadRequest: it says neither `1` nor `0`.
    """
    return says(request, "X-Cost-Only", "1", "0")


def asks_for_kill_switch(request: HttpRequest) -> bool:
    """Whether the header X-Kill-Switch says `1`.

    Raises:
        BadRequest: it says neither `1` nor `0`.
    """
    return says(request, "X-Kill-Switch", "1", "0")


def says(request: HttpRequest, header: str, yes: str, no: str) -> bool:
    # A mutation must not happen because of a word that was not understood.
    name = f"HTTP_{header.upper().replace('-', '_')}"
    said: str = request.META.get(name, no).strip().lower()
    if said not in (yes, no):
        raise BadRequest(
            f"{header} is {said[:100]!r}; send `{yes}` or `{no}`. Nothing was done."
        )
    return said == yes


def attempt(run: Callable[[], ExecutionResult]) -> ExecutionResult:
    """Run a mutation that only reads, as on a standby."""
    with transaction.atomic():
        execute("SET TRANSACTION READ ONLY")
        return run_in_savepoint(run)
