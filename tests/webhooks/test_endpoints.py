"""What partners do with their endpoints, through the API."""

from uuid import uuid4

import pytest
from django.db import ProgrammingError, transaction

from accounts.access import Scope
from accounts.keys.sealing import SealBroken, seal, unseal
from partnerapi.core.database import execute
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.webhooks.models import MOST_OF_KEY, WebhookEndpoint
from partnerapi.webhooks.secrets import ROLLING, secrets_of
from tests.characters import Answer, Ask, World
from tests.owner import as_committed

URL = "https://hooks.example.com/partner"
CREATE = """
mutation ($input: CreateWebhookEndpointInput!) {
  createWebhookEndpoint(input: $input) {
    secret endpoint { id url types status reason sequence failingSince
      nextAttemptAt deliveredAt }
  }
}
"""
CHANGE = """
mutation ($id: ID!) { %sWebhookEndpoint(id: $id) {
  endpoint { id status reason sequence } } }
"""
ROLL = "mutation ($id: ID!) { rollWebhookSecret(id: $id) { secret endpoint { id } } }"
REDELIVER = """
mutation ($id: ID!, $from: Uint64!) { redeliverWebhooks(id: $id, from: $from) {
  endpoint { sequence status } } }
"""
LIST = "{ viewer { webhookEndpoints { totalCount nodes { id url status } } } }"


@pytest.fixture
def broker(world: World) -> Ask:
    token = approved_key(world.partner, list(Scope))[1]
    as_committed()
    return Ask(token)


def send(ask: Ask, document: str, key: object = None, **variables: object) -> Answer:
    return ask(document, variables, **{"Idempotency-Key": str(key or uuid4())})


def create(ask: Ask, key: object = None, url: str = URL, **input: object) -> Answer:
    return send(ask, CREATE, key, input={"url": url, **input})


def created(ask: Ask, **input: object) -> dict:
    return create(ask, **input).data["createWebhookEndpoint"]


def test_an_endpoint_begins_after_the_last_event(broker: Ask):
    newest = broker("{ events(last: 1) { nodes { sequence } } }").data["events"]
    made = created(broker)
    assert made["secret"].startswith("whsec_")
    sequence = newest["nodes"][0]["sequence"]
    assert made["endpoint"] == {
        "id": made["endpoint"]["id"],
        "url": URL,
        "types": None,
        "status": "ON",
        "reason": None,
        "sequence": sequence,
        "failingSince": None,
        "nextAttemptAt": None,
        "deliveredAt": None,
    }
    shown = {"id": made["endpoint"]["id"], "url": URL, "status": "ON"}
    listed = broker(LIST).data["viewer"]["webhookEndpoints"]
    assert listed == {"totalCount": 1, "nodes": [shown]}
    node = "query ($id: ID!) { node(id: $id) { id } }"
    assert broker(node, {"id": shown["id"]}).data == {"node": {"id": shown["id"]}}


def test_a_retry_gets_the_same_secret_which_is_stored_encrypted(broker: Ask):
    key = uuid4()
    first, again = create(broker, key), create(broker, key)
    assert again.body == first.body
    assert again.headers["Idempotent-Replayed"] == "true"
    secret = first.data["createWebhookEndpoint"]["secret"]
    record = IdempotencyRecord.objects.get(key=key)
    assert secret.encode() not in bytes(record.body)
    endpoint = WebhookEndpoint.objects.get()
    assert secret.encode() not in bytes(endpoint.sealed_secrets)
    assert secrets_of(endpoint, endpoint.created_at) == [secret]
    asked = f'{{ idempotentRequest(key: "{key}") {{ outcome errorCodes }} }}'
    assert broker(asked).data["idempotentRequest"] == {
        "outcome": "SUCCEEDED",
        "errorCodes": [],
    }


def test_the_secret_before_signs_for_a_day(broker: Ask):
    made = created(broker)
    rolled = send(broker, ROLL, id=made["endpoint"]["id"]).data["rollWebhookSecret"]
    endpoint = WebhookEndpoint.objects.get()
    at = endpoint.rolled_at
    assert at is not None
    assert secrets_of(endpoint, at) == [rolled["secret"], made["secret"]]
    assert secrets_of(endpoint, at + ROLLING) == [rolled["secret"]]
    last = send(broker, ROLL, id=made["endpoint"]["id"]).data["rollWebhookSecret"]
    endpoint.refresh_from_db()
    assert secrets_of(endpoint, at) == [last["secret"], rolled["secret"]]


def test_what_is_sealed_opens_for_its_purpose_with_a_known_pepper(settings):
    settings.PARTNER_API_KEY_PEPPER = "first"
    sealed = seal(b"secret", b"purpose")
    assert unseal(sealed, b"purpose") == b"secret"
    settings.PARTNER_API_KEY_PEPPER = "second,first"
    assert unseal(sealed, b"purpose") == b"secret"
    with pytest.raises(SealBroken):
        unseal(sealed, b"other")
    with pytest.raises(SealBroken):
        unseal(sealed[:-1] + bytes([sealed[-1] ^ 1]), b"purpose")
    settings.PARTNER_API_KEY_PEPPER = "second"
    with pytest.raises(SealBroken):
        unseal(sealed, b"purpose")


def test_a_test_and_a_redelivery_are_asked_for(broker: Ask):
    made = created(broker)["endpoint"]
    send(broker, CHANGE % "test", id=made["id"]).data  # noqa: B018
    assert WebhookEndpoint.objects.get().test_at is not None
    first = int(made["sequence"])
    again = send(broker, REDELIVER, id=made["id"], **{"from": first})
    assert again.data["redeliverWebhooks"]["endpoint"] == {
        "sequence": first - 1,
        "status": "ON",
    }
    for wrong in (0, first + 5):
        refused = send(broker, REDELIVER, id=made["id"], **{"from": wrong})
        assert refused.code == "BAD_USER_INPUT"


def test_a_deleted_endpoint_stays_off(broker: Ask):
    made = created(broker)["endpoint"]
    deleted = send(broker, CHANGE % "delete", id=made["id"])
    endpoint = deleted.data["deleteWebhookEndpoint"]["endpoint"]
    assert (endpoint["status"], endpoint["reason"]) == ("OFF", "You deleted it.")
    for document in (CHANGE % "delete", CHANGE % "test", ROLL):
        assert send(broker, document, id=made["id"]).code == "BAD_USER_INPUT"


def test_an_endpoint_belongs_to_its_key(broker: Ask, world: World):
    made = created(broker)["endpoint"]
    other = Ask(approved_key(world.partner, list(Scope))[1])
    assert other(LIST).data["viewer"]["webhookEndpoints"]["nodes"] == []
    for document in (CHANGE % "delete", CHANGE % "test", ROLL):
        assert send(other, document, id=made["id"]).code == "NOT_FOUND"


def test_it_needs_the_scope(world: World):
    scopes = set(Scope) - {Scope.WEBHOOKS_WRITE}
    reader = Ask(approved_key(world.partner, scopes)[1])
    assert create(reader).code == "FORBIDDEN"
    assert reader(LIST).code == "FORBIDDEN"


@pytest.mark.parametrize(
    ("input", "says"),
    [
        ({"url": "https://10.0.0.1/"}, "IP address"),
        ({"url": "http://example.com/"}, "https"),
        ({"types": []}, "no event would be sent"),
    ],
    ids=["address", "http", "no types"],
)
def test_what_can_never_be_sent_is_refused(broker: Ask, input: dict, says: str):
    refused = create(broker, **input)
    [error] = refused.errors
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert says in error["message"]
    assert not WebhookEndpoint.objects.exists()


def test_a_key_has_a_limited_number(broker: Ask):
    for _ in range(MOST_OF_KEY):
        made = created(broker)
    assert create(broker).code == "TOO_MANY_WEBHOOKS"
    send(broker, CHANGE % "delete", id=made["endpoint"]["id"]).data  # noqa: B018
    assert created(broker)["endpoint"]["status"] == "ON"


@pytest.mark.parametrize("column", ["url", "key_id", "types", "id", "created_at"])
def test_the_application_cannot_send_events_elsewhere(broker: Ask, column: str):
    created(broker)
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
    ):
        execute(f"UPDATE partnerapi_webhookendpoint SET {column} = {column}")
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
    ):
        execute("DELETE FROM partnerapi_webhookendpoint")
