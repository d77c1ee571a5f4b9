"""Webhook endpoints in the schema."""

from contextlib import contextmanager
from typing import NamedTuple

import graphene

from accounts.access import Scope, check_scope, requires
from issuers.schema.events import EventType
from partnerapi.core.errors import BadUserInput, NotFound
from partnerapi.graphql.cost import MUTATION, Field
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    connection_field,
    enumeration,
    key_of,
)
from partnerapi.graphql.resolvers import check_first, needs, seals_answer
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey
from partnerapi.graphql.trials import would_be
from partnerapi.webhooks import changes
from partnerapi.webhooks.addresses import AddressRefused, check_url
from partnerapi.webhooks.models import (
    MOST_OF_KEY,
    Status,
    WebhookEndpoint,
    status_of,
)

ENDPOINTS = OrderedList(
    "webhookEndpoints",
    "WebhookEndpoint",
    WebhookEndpoint,
    (OrderKey("partnerapi_webhookendpoint.id", "uuid"),),
    unique=True,
    parent="key_id",
)
NEEDS = "Needs the scope `webhooks:write`."
YOURS = "An endpoint of another key is NOT_FOUND. " + NEEDS


WebhookStatus = enumeration(
    Status,
    "WebhookStatus",
    "Status of a webhook endpoint.",
    {
        Status.ON: "It receives your events.",
        Status.FAILING: "The last attempt failed; the next one is at `nextAttemptAt`.",
        Status.OFF: "It receives nothing any more; `reason` says why.",
    },
)


class Endpoint(ModelType):
    """An address that receives a partner's events by HTTP POST."""

    class Meta:
        name = "WebhookEndpoint"
        model = WebhookEndpoint
        fields = ()
        interfaces = [Node]

    url = graphene.String(required=True, description="The address.")
    types = graphene.List(
        graphene.NonNull(EventType),
        description="Types of events that it receives; null: all.",
    )
    status = WebhookStatus(required=True, description="Status of the endpoint.")
    reason = graphene.String(description="Why it is OFF; null otherwise.")
    sequence = Uint64(
        required=True,
        description="Sequence of the last event that it has accepted. Events that are "
        "not for it may be behind that.",
    )
    failing_since = Time(
        description="When attempts began to fail; null if the last one did not."
    )
    next_attempt_at = Time(description="When a FAILING endpoint is tried next.")
    delivered_at = Time(description="When it last accepted a message.")
    created_at = Time(required=True, description="When it was created.")

    @needs("position")
    def resolve_sequence(endpoints, info):
        return [endpoint.position for endpoint in endpoints]

    @needs("attempts", "ended_at")
    def resolve_status(endpoints, info):
        return [status_of(endpoint) for endpoint in endpoints]

    @needs("attempts", "ended_at", "due_at")
    def resolve_next_attempt_at(endpoints, info):
        return [
            endpoint.due_at if status_of(endpoint) is Status.FAILING else None
            for endpoint in endpoints
        ]


class WebhookEndpointConnection(Connection):
    class Meta:
        node = Endpoint


@needs()
def resolve_endpoints(callers, info, **page):
    endpoints = WebhookEndpoint.objects.visible_to(info.context.caller)
    keys = [str(caller.key_id) for caller in callers]
    return read_pages(ENDPOINTS, info, endpoints, keys, **page)


VIEWER_WEBHOOKS = connection_field(
    WebhookEndpointConnection,
    f"The webhook endpoints that your key has created. {NEEDS}",
    resolver=requires(Scope.WEBHOOKS_WRITE)(resolve_endpoints),
)


def check_create(context, input):
    """Refuse what can never succeed before the idempotency key is claimed."""
    check_scope(context.caller, Scope.WEBHOOKS_WRITE)
    try:
        check_url(input["url"])
    except AddressRefused as refused:
        raise BadUserInput(
            f"This address cannot receive webhooks. {refused}", argument="input.url"
        ) from None
    types = input.get("types")
    if types is not None and not types:
        raise BadUserInput(
            "`types` is empty, so no event would be sent; leave it out for all.",
            argument="input.types",
        )


def check_change(context, **arguments):
    check_scope(context.caller, Scope.WEBHOOKS_WRITE)


@contextmanager
def own_endpoint(context, id):
    """An endpoint of the caller's key that is not off, written at the end.

    It is locked until the commit. A trial locks and writes nothing.

    Raises:
        NotFound, BadUserInput: there is none, or it is off.
    """
    endpoints = WebhookEndpoint.objects.select_for_update()
    if context.trial is not None:
        endpoints = WebhookEndpoint.objects.all()
    shown = endpoints.visible_to(context.caller)
    endpoint = shown.filter(pk=key_of(id, "WebhookEndpoint")).first()
    if endpoint is None:
        raise NotFound("Your key has no endpoint with this id.", argument="id")
    if endpoint.ended_at is not None:
        raise BadUserInput(
            f"This endpoint is OFF: {endpoint.reason} Create a new one.", argument="id"
        )
    yield endpoint
    if context.trial is None:
        endpoint.save(update_fields=CHANGING)
    else:
        would_be(context.trial, "WebhookEndpoint", endpoint)


CHANGING = [
    "sealed_secrets", "rolled_at", "position", "attempts", "failing_since", "due_at",
    "test_at", "ended_at", "reason",
]  # fmt: skip


class CreateWebhookEndpointInput(graphene.InputObjectType):
    """The address, and what it receives."""

    url = graphene.String(
        required=True,
        description="An https:// URL on port 443, of a host all of whose addresses are "
        "public. In a sandbox also http://localhost and http://127.0.0.1, on any port.",
    )
    types = graphene.List(
        graphene.NonNull(EventType),
        description="Only events of these types; all if you leave it out.",
    )


class EndpointPayload(graphene.ObjectType):
    """The endpoint."""

    class Meta:
        name = "WebhookEndpointPayload"

    endpoint = graphene.Field(
        Endpoint, required=True, description="The endpoint as it is now."
    )

    def resolve_endpoint(made, info):
        return read_endpoints([each.endpoint for each in made], info)


class SecretPayload(graphene.ObjectType):
    """The endpoint and its new secret."""

    class Meta:
        name = "WebhookSecretPayload"

    endpoint = graphene.Field(Endpoint, required=True, description="The endpoint.")
    secret = graphene.String(
        required=True,
        description="The secret that signs its messages (Standard Webhooks, `whsec_` "
        "and base64). It is not shown again: keep it.",
    )

    def resolve_endpoint(made, info):
        return read_endpoints([each.endpoint for each in made], info)

    def resolve_secret(made, info):
        return [each.secret for each in made]


class Made(NamedTuple):
    """An endpoint's id, and its secret where there is a new one."""

    endpoint: str
    secret: str | None = None


def read_endpoints(ids, info):
    endpoints = WebhookEndpoint.objects.visible_to(info.context.caller)
    return read_rows("WebhookEndpoint", info, endpoints, ids)


ID = graphene.ID(required=True, description="The endpoint's id.")


class Mutation(graphene.ObjectType):
    create_webhook_endpoint = Field(
        SecretPayload,
        cost=MUTATION,
        input=CreateWebhookEndpointInput(
            required=True, description="The address, and what it receives."
        ),
        description="Have events sent to an address by HTTP POST, signed as Standard "
        "Webhooks 1.0 describes: each event after this one that your key may read when "
        "it is sent, in order, one at a time. A message names the event; read what "
        "changed with `events` or by its id. It is sent again until the response is "
        "2xx, for a day; then the endpoint is OFF, as it is when the key ends or the "
        f"response is 410. A key has at most {MOST_OF_KEY}. {NEEDS}",
    )
    roll_webhook_secret = Field(
        SecretPayload,
        cost=MUTATION,
        id=ID,
        description="Give an endpoint a new secret. For a day, the one before signs "
        f"each message, too. {YOURS}",
    )
    test_webhook_endpoint = Field(
        EndpointPayload,
        cost=MUTATION,
        id=ID,
        description="Send a message of the type TEST now. Where it is accepted, a "
        f"FAILING endpoint is tried at once. {YOURS}",
    )
    redeliver_webhooks = Field(
        EndpointPayload,
        cost=MUTATION,
        id=ID,
        from_=Uint64(
            required=True,
            name="from",
            description="Sequence of the first event that is sent again.",
        ),
        description="Send events again, from one on, each with the id that it had. "
        f"{YOURS}",
    )
    delete_webhook_endpoint = Field(
        EndpointPayload,
        cost=MUTATION,
        id=ID,
        description=f"Send nothing more to an endpoint: it is OFF. {YOURS}",
    )

    @seals_answer
    @check_first(check_create)
    def resolve_create_webhook_endpoint(roots, info, input):
        endpoint, secret = changes.new_endpoint(
            info.context.caller, input["url"], input.get("types")
        )
        if info.context.trial is None:
            endpoint.save(force_insert=True)
        else:
            would_be(info.context.trial, "WebhookEndpoint", endpoint)
        return [Made(str(endpoint.pk), secret)]

    @seals_answer
    @check_first(check_change)
    def resolve_roll_webhook_secret(roots, info, id):
        with own_endpoint(info.context, id) as endpoint:
            secret = changes.roll_secret(endpoint)
        return [Made(str(endpoint.pk), secret)]

    @check_first(check_change)
    def resolve_test_webhook_endpoint(roots, info, id):
        with own_endpoint(info.context, id) as endpoint:
            changes.request_test(endpoint)
        return [Made(str(endpoint.pk))]

    @check_first(check_change)
    def resolve_redeliver_webhooks(roots, info, id, from_):
        with own_endpoint(info.context, id) as endpoint:
            changes.redeliver(endpoint, from_)
        return [Made(str(endpoint.pk))]

    @check_first(check_change)
    def resolve_delete_webhook_endpoint(roots, info, id):
        with own_endpoint(info.context, id) as endpoint:
            changes.delete(endpoint)
        return [Made(str(endpoint.pk))]


NODES = {"WebhookEndpoint": WebhookEndpoint.objects.visible_to}
"""By type, the rows that a caller may read by id."""
