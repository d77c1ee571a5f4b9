"""Requests that wait for events: a live server of one process, and its limits."""

import http.client
import select
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest
from django.core.cache import caches
from django.core.management import call_command
from django.db import connection, transaction

from accounts.access import Scope
from accounts.accounts.models import Account, AccountStatusChange
from accounts.cash.models import CashAccount, CashHead
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from issuers.models.events import newest_events
from partnerapi.core import news
from partnerapi.core.redis import tell
from partnerapi.operations import parking
from partnerapi.sandbox.data.approvals import approved_key
from tests.approved import desk
from tests.characters import START, Ask
from tests.gateway.conftest import UNLIMITED, WebServer, serving
from tests.owner import as_owner, remove_approvals, remove_keys
from tests.waiting import PATIENCE_SECONDS

DOCUMENT = """
query ($after: String, $wait: Int, $types: [EventType!]) {
  events(after: $after, wait: $wait, types: $types) { nodes { sequence type } }
}
"""


@dataclass
class Follower:
    """A partner with an active account and a key, whose events a server answers."""

    server: WebServer
    account: Account
    key: ApiKey
    token: str
    opened: ExitStack

    @property
    def newest(self) -> int:
        [number] = newest_events([str(self.account.partner_id)]).values()
        return number

    def send(self, wait: int, **variables: Any) -> http.client.HTTPConnection:
        """Ask for what follows the newest event; the answer is read later."""
        variables = {"after": str(self.newest), "wait": wait} | variables
        client = http.client.HTTPConnection(
            "127.0.0.1", self.server.port, timeout=PATIENCE_SECONDS
        )
        self.opened.callback(client.close)
        headers = {"Content-Type": "application/json", "X-Token-Auth": self.token}
        body = orjson.dumps({"query": DOCUMENT, "variables": variables})
        client.request("POST", "/graphql", body, headers)
        return client

    def crowd(self) -> list[http.client.HTTPConnection]:
        """As many requests as one key may have waiting: all but the first answered."""
        clients = [self.send(20) for _ in range(parking.MOST_OF_KEY + 1)]
        sockets = [client.sock for client in clients]
        first, *others = select.select(sockets, [], [], PATIENCE_SECONDS)[0]
        assert others == []
        assert types_of(clients.pop(sockets.index(first))) == []
        return clients

    def change(self) -> None:
        status = "ACTIVE" if self.account.status == "SUSPENDED" else "SUSPENDED"
        self.account.change_status(status, desk(), None)


def types_of(client: http.client.HTTPConnection) -> list[str]:
    """The types of the events in the answer that comes on this connection."""
    response = client.getresponse()
    answer = orjson.loads(response.read())
    assert (response.status, answer.keys()) == (200, {"data"})
    return [event["type"] for event in answer["data"]["events"]["nodes"]]


@pytest.fixture(scope="module")
def server(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebServer]:
    with serving(1, UNLIMITED, tmp_path_factory.mktemp("web")) as server:
        yield server


@pytest.fixture
def follower(
    server: WebServer, keeps_rows: None, transactional_db: None
) -> Iterator[Follower]:
    partner = Partner.objects.create(login="follower", name="Follower")
    user = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name="Lund"
    )
    account = Account.objects.open(partner, user, desk(), START)
    account.change_status("ACTIVE", desk(), None)
    key, token = approved_key(partner, list(Scope))
    with ExitStack() as opened:
        yield Follower(server, account, key, token, opened)
    with as_owner():
        AccountStatusChange.objects.filter(account=account).delete()
        CashHead.objects.filter(cash_account__account=account).delete()
        CashAccount.objects.filter(account=account).delete()
        account.delete()
        remove_keys(partner)
        partner.delete()
        user.delete()
        remove_approvals()


def test_those_that_wait_are_answered_when_there_is_an_event(follower: Follower):
    [process] = psutil.Process(follower.server.process.pid).children()
    threads = process.num_threads()
    clients = follower.crowd()
    assert process.num_threads() < threads + len(clients)
    follower.change()
    for client in clients:
        assert types_of(client) == ["ACCOUNT_STATUS_CHANGED"]
    # The connection is of use for the next request.
    client = clients[0]
    client.request("GET", "/healthz")
    assert client.getresponse().status == 200


def test_an_event_that_came_before_is_answered_at_once(follower: Follower):
    before = str(follower.newest)
    follower.change()
    assert types_of(follower.send(20, after=before)) == ["ACCOUNT_STATUS_CHANGED"]


def test_without_an_event_the_page_is_empty_when_the_time_is_over(follower: Follower):
    client = follower.send(1)
    response = client.getresponse()
    assert orjson.loads(response.read()) == {"data": {"events": {"nodes": []}}}
    assert response.headers["X-Query-Cost"] == "1"


def test_other_events_do_not_end_the_wait(follower: Follower):
    client = follower.send(20, types=["KEY_CHANGED"])
    for _ in range(3):
        follower.change()
    assert types_of(follower.send(1)) == []
    call_command("key", "revoke", str(approved_key(follower.account.partner, [])[0].pk))
    assert set(types_of(client)) == {"KEY_CHANGED"}


def test_the_end_of_a_key_ends_its_wait(follower: Follower):
    clients = follower.crowd()
    call_command("key", "revoke", str(follower.key.pk))
    # A process believes a key for a second.
    for client in clients:
        response = client.getresponse()
        answer = orjson.loads(response.read())
        assert response.status == 401 or answer["data"]["events"]["nodes"]
    assert follower.send(20).getresponse().status == 401


def test_the_next_request_may_be_sent_before_the_answer(follower: Follower):
    client = follower.send(20)
    client.sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    follower.change()
    answers = b""
    while data := client.sock.recv(65_536):
        answers += data
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert b"ACCOUNT_STATUS_CHANGED" in answers.partition(b"ok\n")[0]
    assert answers.endswith(b"ok\n")


def test_without_redis_events_are_found(
    follower: Follower, tmp_path: Path, django_db_setup: None
):
    nowhere = UNLIMITED | {"REDIS_URL": "redis://127.0.0.1:1/0"}
    with serving(1, nowhere, tmp_path) as server:
        follower.server = server
        client = follower.send(20)
        follower.change()
        assert types_of(client) == ["ACCOUNT_STATUS_CHANGED"]


def test_a_server_that_ends_answers_those_that_wait(follower: Follower, tmp_path: Path):
    with serving(1, UNLIMITED, tmp_path) as server:
        follower.server = server
        clients = follower.crowd()
        server.process.send_signal(signal.SIGTERM)
        for client in clients:
            assert types_of(client) == []


def heard(hearer: Any) -> int:
    """How many commits with events were published since the last time."""
    # It takes the same way, so it arrives after all of them.
    tell("PUBLISH", news.channel(), "the last")
    count = 0
    while message := hearer.get_message(timeout=PATIENCE_SECONDS):
        if message["data"] == b"the last":
            return count
        count += 1
    raise AssertionError(f"the last did not come, only {count}")


def test_each_commit_with_events_is_published_after_it(follower: Follower):
    cache: Any = caches["default"]
    with cache.client.get_client(write=True).pubsub() as hearer:
        hearer.subscribe(news.channel())
        assert hearer.get_message(timeout=PATIENCE_SECONDS)["type"] == "subscribe"
        with transaction.atomic():
            follower.change()
            follower.change()
            assert heard(hearer) == 0
        assert heard(hearer) == 1
        # A statement that commits by itself.
        follower.key.narrow(scopes=["issuers:read"])
        assert heard(hearer) == 1
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        assert heard(hearer) == 0


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (
            "events(wait: 5) { nodes { sequence } }",
            "`wait` needs `after`: pass the last `endCursor`, or a sequence.",
        ),
        (
            'events(after: "1", wait: 21) { nodes { sequence } }',
            "`wait` is 21; pass 0 to 20 seconds.",
        ),
        (
            'events(after: "1", wait: -1) { nodes { sequence } }',
            "`wait` is -1; pass 0 to 20 seconds.",
        ),
        (
            'events(after: "1", wait: 5, last: 1) { nodes { sequence } }',
            "`wait` cannot be combined with `last`.",
        ),
        (
            'events(after: "1", before: "9", wait: 5) { nodes { sequence } }',
            "`wait` cannot be combined with `before`.",
        ),
        (
            'events(after: "1", wait: 5) { totalCount }',
            "`wait` cannot be combined with `totalCount`.",
        ),
        (
            'viewer { login } events(after: "1", wait: 5) { nodes { sequence } }',
            "With `wait`, `events` is the only root field; send the others in another "
            "request.",
        ),
    ],
)
def test_what_waits_is_a_page_of_events_alone(partner: Ask, field: str, message: str):
    answer = partner(f"{{ {field} }}")
    [error] = answer.errors
    assert (error["message"], answer.code) == (message, "BAD_USER_INPUT")
    assert error["extensions"]["argument"] == "wait"
