"""`POST /graphql`: one request, from its headers to its answer."""

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from graphql import ExecutionResult, GraphQLSchema

from accounts.access import Caller, Unauthenticated
from issuers.models.events import newest_events
from partnerapi.core import json_lines
from partnerapi.core.addresses import source_of
from partnerapi.core.errors import (
    INTERNAL_SERVER_ERROR,
    NotNow,
    RequestTimeout,
)
from partnerapi.core.postgresql.lending import backend, check_due, stopping_orders
from partnerapi.core.times import to_rfc3339
from partnerapi.gateway import clock, outages
from partnerapi.gateway.answers import MASKED, error_entries, refusal_entry
from partnerapi.gateway.bills import Bill, KillSwitchBill, address_account, weigh
from partnerapi.gateway.clock import Running
from partnerapi.gateway.compression import compress
from partnerapi.gateway.idempotency import (
    Mutation,
    NotStored,
    StoredAnswer,
    once,
    once_each,
    parse_key,
)
from partnerapi.gateway.outages import RETRY_SECONDS
from partnerapi.gateway.records import OK, Record
from partnerapi.gateway.refusals import (
    BadRequest,
    InsecureTransport,
    InvalidKey,
    Refusal,
)
from partnerapi.gateway.requests import (
    GRAPHQL_RESPONSE,
    JSON,
    Wait,
    address_of,
    begun_at,
    check_accept,
    check_content_type,
    check_method,
    hold,
    is_late,
    is_unread,
    negotiate,
    park,
    parse_body,
    read_bytes,
    request_id_of,
)
from partnerapi.gateway.standby import identify_caller, read_anywhere
from partnerapi.gateway.throttling import Budget
from partnerapi.gateway.told_costs import told_cost
from partnerapi.gateway.trial import (
    asks_for_kill_switch,
    asks_for_price,
    asks_for_trial,
    attempt,
)
from partnerapi.graphql.cost import CHECK, EMPTY, LEAST, MUTATION
from partnerapi.graphql.documents import PreparedRequest, Refused, prepare
from partnerapi.graphql.execution import execute
from partnerapi.graphql.resolvers import (
    grouped,
    has_own_commits,
    only_stops_orders,
    passes_checks,
)
from partnerapi.graphql.trials import Trial

logger = logging.getLogger(__name__)

TIME_REFUSED_SECONDS = 1.0
"""A refusal for want of server time is answered after so long; no thread waits."""
CHALLENGE = {"WWW-Authenticate": 'X-Token-Auth realm="Partner API"'}


@dataclass(frozen=True, slots=True)
class Context:
    """What resolvers know of a request.

    `budget` is the caller's, after what is held back. `trial` has the rows that would
    be there; it is None unless the mutation is only tried.
    """

    caller: Caller | None
    budget: Budget
    absolute_url: Callable[[str], str]
    trial: Trial | None

    @property
    def largest_page(self) -> int:
        """The largest `first` or `last`, rows."""
        return settings.PARTNER_API_MAX_PAGE_SIZE


View = Callable[[HttpRequest], HttpResponse]


def graphql_view(schema: GraphQLSchema) -> View:
    """A view that answers one GraphQL request; each of its answers is JSON."""

    @csrf_exempt
    def graphql(request: HttpRequest) -> HttpResponse:
        request_id = request_id_of(request)
        json_lines.request_id.set(request_id)
        record = Record(request_id, begun_at(request))
        media_type = negotiate(request)
        running = Running(address_account(address_of(request))[0])
        try:
            response = answer(schema, request, record, media_type, running)
            if record.code == OK and backend() is not None:
                outages.note_answer()
        except Refusal as refusal:
            record.code = refusal.code
            if refusal.details.get("reason") == clock.TIME:
                # Without the delay, repeated refusals would take other callers' time.
                hold(request, TIME_REFUSED_SECONDS)
            response = respond_refusal(refusal, request_id, media_type)
        except Exception:
            record.code = INTERNAL_SERVER_ERROR
            logger.exception("request %s failed", request_id)
            entry = refusal_entry(INTERNAL_SERVER_ERROR, MASKED, request_id)
            body = to_json({"errors": [entry]})
            response = respond(body, media_type or JSON, 500, {})
        compress(request, response)
        response["X-Request-Id"] = request_id
        response["Cache-Control"] = "no-store"
        response["X-Content-Type-Options"] = "nosniff"
        if settings.PARTNER_API_HTTPS and request.is_secure():
            response["Strict-Transport-Security"] = (
                f"max-age={settings.SECURE_HSTS_SECONDS}; includeSubDomains; preload"
            )
        response["X-RateLimit-Time-Remaining"] = f"{running.left:.3f}"
        record.server_seconds = running.end()
        if not record.is_parked:
            record.keep(response.status_code)
        return response

    return graphql


def respond_refusal(
    refusal: Refusal, request_id: str, media_type: str | None
) -> HttpResponse:
    entry = refusal_entry(refusal.code, str(refusal), request_id, **refusal.details)
    body = to_json({"errors": [entry]})
    return respond(body, media_type or JSON, refusal.status, refusal.headers)


def answer(
    schema: GraphQLSchema,
    request: HttpRequest,
    record: Record,
    media_type: str | None,
    running: Running,
) -> HttpResponse:
    deadline = begun_at(request) + settings.PARTNER_API_MAX_SECONDS
    bill = Bill(request, None)
    try:
        try:
            check_method(request)
            check_content_type(request)
            check_accept(media_type)
            check_host(request)
            check_transport(request)
            kills = asks_for_kill_switch(request)
        except Refusal:
            bill.charge_refusal()
            raise
        lane = stopping_orders() if kills else nullcontext()
        with lane, outages.refuse_in_outage():
            if is_late(request):
                check_due(deadline)
            caller = identify(request, bill, deadline, running)
            if caller:
                bill = Bill(request, caller)
                record.login = caller.login
                record.partner_id = caller.partner_id
                record.key_id = caller.key_id
            if caller and kills:
                running.begin_anyway(bill.name)
                bill = KillSwitchBill(request, caller)
            else:
                running.begin(bill.name)
            bill.look(1, is_unread(request))
            return pay_and_run(
                schema,
                request,
                caller,
                bill,
                record,
                media_type or JSON,
                deadline,
                running,
                kills,
            )
    except Refusal as refusal:
        refusal.headers = bill.headers() | refusal.headers
        raise
    finally:
        record.points = bill.points


def pay_and_run(
    schema: GraphQLSchema,
    request: HttpRequest,
    caller: Caller | None,
    bill: Bill,
    record: Record,
    media_type: str,
    deadline: float,
    running: Running,
    kills: bool,
) -> HttpResponse:
    size = 0
    try:
        data = read_bytes(request)
        size = len(data)
        body = parse_body(data)
    except Refusal:
        bill.charge_refusal(weigh(size))
        raise
    weight = weigh(size)

    def cost_told(prepared: PreparedRequest | None) -> dict[str, Any]:
        asked = request.META.get("HTTP_X_COST_DEBUG") == "1"
        return {"cost": told_cost(bill, weight, prepared, running)} if asked else {}

    try:
        prepared = prepare(schema, body.query, body.operation_name, body.variables)
    except Refused as refused:
        bill.charge_refusal(weight)
        errors = error_entries(refused.errors, record.request_id)
        record.code = errors[0]["extensions"]["code"]
        result = {"errors": errors, "extensions": cost_told(None)}
        status = 400 if media_type == GRAPHQL_RESPONSE else 200
        return respond(to_json(result), media_type, status, bill.headers())
    record.operation = "mutation" if prepared.operation.is_mutation else "query"
    record.name = body.operation_name or ""
    is_mutation = prepared.operation.is_mutation
    try:
        if kills and not (is_mutation and only_stops_orders(prepared)):
            raise BadRequest(
                "X-Kill-Switch is for one field `cancelOrders` or `blockOrders`; send "
                "other documents without it. Nothing was done."
            )
        is_trial = is_mutation and asks_for_trial(request)
        is_priced = asks_for_price(request)
    except Refusal:
        bill.charge_refusal(weight)
        raise

    def price(points: int) -> int:
        if is_trial:
            # Every field of the operation may be left out by a directive.
            points = max(points - MUTATION.points + CHECK.points, LEAST)
        # What may be asked can be paid by a full budget, however long it is.
        return min(points + weight, settings.PARTNER_API_MAX_COST)

    if is_priced:
        bill.charge_refusal(weight)
        told = told_cost(bill, weight, prepared, running)
        told["most"] = price(prepared.bound)
        text = to_json({"data": None, "extensions": {"cost": told}})
        return respond(text, media_type, 200, bill.headers())
    budget = bill.charge(price(prepared.price), owed=1 + weight)
    trial: Trial | None = {} if is_trial else None
    context = Context(caller, budget, request.build_absolute_uri, trial)
    later: dict[str, str] = {}

    def run(root: object = None, due: float = deadline) -> ExecutionResult:
        executed = execute(prepared, context, due, root)
        outages.raise_outage(executed)
        return executed

    def write(executed: ExecutionResult, **told: Any) -> bytes:
        if executed.extensions is not None:
            bill.settle(price(executed.extensions["points"]))
        errors = error_entries(executed.errors or [], record.request_id, is_mutation)
        codes = [entry["extensions"]["code"] for entry in errors]
        record.code = codes[0] if codes else OK
        if RequestTimeout.code in codes:
            later["Retry-After"] = str(RETRY_SECONDS)
        for error in executed.errors or []:
            if isinstance(error.original_error, NotNow):
                later["Retry-After"] = str(error.original_error.details["retryAfter"])
        extensions = cost_told(prepared) | told
        members = {"data": executed.data, "errors": errors, "extensions": extensions}
        return to_json(members)

    if is_mutation:
        text, told = mutate(
            request, prepared, context, deadline, run, write, running, is_trial
        )
    else:
        wait = wait_of(request, caller, prepared, deadline)
        executed = read_anywhere(run, deadline)
        text, told = write(executed), {}
        if wait and executed.extensions == {"points": EMPTY}:
            record.is_parked = park(request, wait)
    return respond(text, media_type, 200, bill.headers() | later | told)


def wait_of(
    request: HttpRequest,
    caller: Caller | None,
    prepared: PreparedRequest,
    deadline: float,
) -> Wait | None:
    """What a query waits for if it finds nothing now; read before it looks."""
    if not prepared.wait or caller is None:
        return None
    partner_id = caller.partner_id
    newest = read_anywhere(lambda: newest_events([partner_id]), deadline)
    return Wait(
        prepared.wait,
        partner_id,
        newest.get(partner_id, 0),
        f"key:{caller.key_id}",
        f"address:{source_of(address_of(request))}",
    )


def mutate(
    request: HttpRequest,
    prepared: PreparedRequest,
    context: Context,
    deadline: float,
    run: Callable[..., ExecutionResult],
    write: Callable[..., bytes],
    running: Running,
    is_trial: bool,
) -> tuple[bytes, dict[str, str]]:
    """The answer of a mutation, and the headers with its outcome.

    Raises:
        InvalidKey: it came without an API key.
        KeyRequired, KeyInvalid: Idempotency-Key is missing or wrong.
        Refusal: the key was used otherwise.
    """
    caller, header = context.caller, request.META.get("HTTP_IDEMPOTENCY_KEY")
    if caller is None:
        raise InvalidKey(
            "A mutation needs an API key: send it in the X-Token-Auth header.",
            headers=CHALLENGE,
        )
    if is_trial:
        if header is not None:
            parse_key(header)
        return write(attempt(run), validateOnly=True), {"X-Validate-Only": "true"}
    key = parse_key(header)
    if not passes_checks(prepared, context) or has_own_commits(prepared):
        return write(run()), {}
    try:
        stored = answer_once(
            request, caller, key, prepared, context, deadline, run, write, running
        )
    except NotStored as failed:
        return failed.body, {}
    headers = {"Idempotency-Key-Expires": to_rfc3339(stored.expires_at)}
    if stored.replayed:
        headers["Idempotent-Replayed"] = "true"
    return stored.body, headers


def answer_once(
    request: HttpRequest,
    caller: Caller,
    key: UUID,
    prepared: PreparedRequest,
    context: Context,
    deadline: float,
    run: Callable[..., ExecutionResult],
    write: Callable[..., bytes],
    running: Running,
) -> StoredAnswer:
    """Answer a mutation alone, or with others of its kind that wait."""
    alone = partial(once, caller, key, prepared, run, write)
    joined = grouped(prepared)
    if joined is None:
        return alone()
    # Another thread may answer: with this request's id in what it logs. Once the key is
    # claimed with others, its deadline takes none of them back.
    here = copy_context()
    mutation = Mutation(
        caller,
        key,
        prepared,
        joined.arguments,
        context,
        partial(here.run, run, due=inf),
        partial(here.run, write),
        running,
    )

    def resolve(claimed: list[Mutation]) -> list[Any]:
        calls = [(m.context, m.arguments) for m in claimed]
        return joined.groups.resolve(joined.subject, calls)

    def lead(mutations: list[Mutation]) -> list[StoredAnswer | None]:
        before = running.meter.seconds
        with running.resumed():
            try:
                return once_each(mutations, resolve)
            finally:
                taken = running.meter.seconds - before
                clock.share([m.running for m in mutations], taken)

    def go_alone() -> StoredAnswer:
        with running.resumed():
            return alone()

    place = getattr(request.META.get("gunicorn.socket"), "place", None)
    with running.paused():
        stored: StoredAnswer = joined.groups.answer(
            joined.subject, mutation, deadline, go_alone, lead, place
        )
    return stored


def check_host(request: HttpRequest) -> None:
    try:
        request.get_host()
    except DisallowedHost as error:
        raise BadRequest(
            "The Host header does not name a host of this service."
        ) from error


def check_transport(request: HttpRequest) -> None:
    insecure = settings.PARTNER_API_HTTPS and not request.is_secure()
    if insecure and "HTTP_X_TOKEN_AUTH" in request.META:
        raise InsecureTransport(
            "The API key came over plain HTTP and was not checked. Others may have "
            "read it: have it revoked, and send the next one over HTTPS."
        )


def identify(
    request: HttpRequest, bill: Bill, deadline: float, running: Running
) -> Caller | None:
    """The caller whose key is in the headers; None without a key.

    Raises:
        InvalidKey: the key is refused; the address, whose bill this is, pays.
        Throttled: the address cannot pay, or has no time left.
    """
    token = request.META.get("HTTP_X_TOKEN_AUTH")
    if token is None:
        return None
    try:
        return identify_caller(token, deadline)
    except Unauthenticated as error:
        running.begin(bill.name)
        bill.charge(LEAST)
        raise InvalidKey(
            "The API key is malformed, unknown, revoked or expired. Send a live key as "
            "X-Token-Auth: service-apikey_<login>_<secret>.",
            headers=CHALLENGE,
        ) from error


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
