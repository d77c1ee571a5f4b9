"""`POST /graphql`: one request, from its headers to its answer."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from graphql import ExecutionResult, GraphQLError, GraphQLSchema

from accounts.access import Caller, Unauthenticated
from partnerapi.core.errors import INTERNAL_SERVER_ERROR
from partnerapi.core.times import to_rfc3339
from partnerapi.gateway.answers import MASKED, error_entries, refusal_entry
from partnerapi.gateway.authentication import authenticate
from partnerapi.gateway.idempotency import NotStored, once, parse_key
from partnerapi.gateway.refusals import BadRequest, InvalidKey, Refusal, Throttled
from partnerapi.gateway.requests import (
    GRAPHQL_RESPONSE,
    JSON,
    address_of,
    check_accept,
    check_content_type,
    check_method,
    negotiate,
    read_body,
    request_id_of,
)
from partnerapi.gateway.throttling import Budget, take
from partnerapi.graphql.documents import PreparedRequest, Refused, prepare
from partnerapi.graphql.execution import execute
from partnerapi.graphql.resolvers import passes_checks

logger = logging.getLogger(__name__)

CHALLENGE = {"WWW-Authenticate": 'X-Token-Auth realm="Partner API"'}
REFUSED_COST = 10
"""Points that a refused document or key costs."""


@dataclass(frozen=True, slots=True)
class Context:
    """What resolvers know of a request."""

    caller: Caller | None
    budget: Budget
    absolute_url: Callable[[str], str]


View = Callable[[HttpRequest], HttpResponse]


def graphql_view(schema: GraphQLSchema) -> View:
    """A view that answers one GraphQL request; each of its answers is JSON."""

    @csrf_exempt
    def graphql(request: HttpRequest) -> HttpResponse:
        request_id = request_id_of(request)
        media_type = negotiate(request)
        try:
            response = answer(schema, request, request_id, media_type)
        except Refusal as refusal:
            response = respond_refusal(refusal, request_id, media_type)
        except Exception:
            logger.exception("request %s failed", request_id)
            entry = refusal_entry(INTERNAL_SERVER_ERROR, MASKED, request_id)
            body = to_json({"errors": [entry]})
            response = respond(body, media_type or JSON, 500, {})
        response["X-Request-Id"] = request_id
        response["Cache-Control"] = "no-store"
        return response

    return graphql


def respond_refusal(
    refusal: Refusal, request_id: str, media_type: str | None
) -> HttpResponse:
    entry = refusal_entry(refusal.code, str(refusal), request_id)
    body = to_json({"errors": [entry]})
    return respond(body, media_type or JSON, refusal.status, refusal.headers)


def answer(
    schema: GraphQLSchema,
    request: HttpRequest,
    request_id: str,
    media_type: str | None,
) -> HttpResponse:
    deadline = monotonic() + settings.PARTNER_API_MAX_SECONDS
    check_method(request)
    check_content_type(request)
    check_accept(media_type)
    check_host(request)
    body = read_body(request)
    caller = identify(request)
    errors: list[GraphQLError] = []
    prepared: PreparedRequest | None = None
    try:
        prepared = prepare(schema, body.query, body.operation_name, body.variables)
    except Refused as refused:
        errors = refused.errors
    cost = prepared.cost if prepared else REFUSED_COST
    budget = charge(request, caller, cost)
    headers = budget_headers(budget) | {"X-Query-Cost": str(cost)}
    extensions = None
    if request.headers.get("X-Cost-Debug") == "1":
        extensions = {"cost": cost_members(cost, budget)}
    if prepared is None:
        refused_as_400 = media_type == GRAPHQL_RESPONSE
        result = {"errors": error_entries(errors, request_id), "extensions": extensions}
        status = 400 if refused_as_400 else 200
        return respond(to_json(result), media_type or JSON, status, headers)
    context = Context(caller, budget, request.build_absolute_uri)

    def run() -> ExecutionResult:
        return execute(prepared, context, deadline)

    def write(executed: ExecutionResult) -> bytes:
        errors = error_entries(executed.errors or [], request_id)
        result = {"data": executed.data, "errors": errors, "extensions": extensions}
        return to_json(result)

    if not prepared.operation.is_mutation:
        return respond(write(run()), media_type or JSON, 200, headers)
    caller, key = check_mutation(request, caller)
    if not passes_checks(prepared, context):
        return respond(write(run()), media_type or JSON, 200, headers)
    try:
        stored = once(caller, key, prepared, run, write)
    except NotStored as failed:
        return respond(failed.body, media_type or JSON, 200, headers)
    headers["Idempotency-Key-Expires"] = to_rfc3339(stored.expires_at)
    if stored.replayed:
        headers["Idempotent-Replayed"] = "true"
    return respond(stored.body, media_type or JSON, 200, headers)


def check_mutation(request: HttpRequest, caller: Caller | None) -> tuple[Caller, UUID]:
    """The caller of a mutation and its Idempotency-Key.

    Raises:
        InvalidKey: the mutation came without an API key.
        KeyRequired, KeyInvalid: Idempotency-Key is missing or wrong.
    """
    if caller is None:
        raise InvalidKey(
            "A mutation needs an API key: send it in the X-Token-Auth header.",
            headers=CHALLENGE,
        )
    return caller, parse_key(request.META.get("HTTP_IDEMPOTENCY_KEY"))


def check_host(request: HttpRequest) -> None:
    try:
        request.get_host()
    except DisallowedHost as error:
        raise BadRequest("The Host header names no host of this service.") from error


def identify(request: HttpRequest) -> Caller | None:
    """The caller whose key is in the headers; None without a key.

    Raises:
        InvalidKey: the key is refused; the address pays REFUSED_COST.
        Throttled: the address can not pay.
    """
    token = request.META.get("HTTP_X_TOKEN_AUTH")
    if token is None:
        return None
    try:
        return authenticate(token)
    except Unauthenticated as error:
        charge(request, None, REFUSED_COST)
        raise InvalidKey(
            "The API key is malformed, unknown, revoked or expired. Send a live key as "
            "X-Token-Auth: service-apikey_<login>_<secret>.",
            headers=CHALLENGE,
        ) from error


def charge(request: HttpRequest, caller: Caller | None, cost: int) -> Budget:
    """Take the cost, in points, from the caller's budget, or from the address's.

    Raises:
        Throttled: the budget holds less; it stays as it is.
    """
    if caller:
        name, limit = f"partner:{caller.partner_id}", caller.budget_points
        refill = caller.budget_refill
    else:
        name, limit = (
            f"address:{address_of(request)}",
            settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS,
        )
        refill = settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL
    budget = take(name, limit, refill, cost)
    if not budget.taken:
        advice = (
            f"try again in {budget.retry_after} seconds"
            if cost <= limit
            else f"it never holds more than {limit}, so ask for less at once"
        )
        raise Throttled(
            f"The request costs {cost} points and the budget holds "
            f"{budget.remaining}; {advice}.",
            headers={
                "Retry-After": str(budget.retry_after),
                "X-Query-Cost": str(cost),
                **budget_headers(budget),
            },
        )
    return budget


def budget_headers(budget: Budget) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(budget.limit),
        "X-RateLimit-Remaining": str(budget.remaining),
        "X-RateLimit-Reset": str(budget.reset),
    }


def cost_members(cost: int, budget: Budget) -> dict[str, int]:
    """`extensions.cost`, by the names that partners know."""
    return {
        "price": cost,
        "limit": budget.limit,
        "remaining": budget.remaining,
        "refillPerSecond": budget.refill_per_second,
    }


def to_json(result: dict[str, Any]) -> bytes:
    """The body of an answer: `data` as it is, other members unless they are empty."""
    return orjson.dumps({k: v for k, v in result.items() if v or k == "data"})


def respond(
    body: bytes, media_type: str, status: int, headers: Mapping[str, str]
) -> HttpResponse:
    return HttpResponse(
        body,
        status=status,
        content_type=f"{media_type}; charset=utf-8",
        headers={"Content-Length": str(len(body)), **headers},
    )
