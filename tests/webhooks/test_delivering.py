"""Events arrive at endpoints, in order, whatever receivers and processes do."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.conf import settings
from standardwebhooks import Webhook

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.models import Event
from partnerapi.operations.diagnosis import jobs
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.webhooks import delivering
from partnerapi.webhooks.models import WebhookDelivery, WebhookEndpoint
from tests.approved import desk
from tests.characters import START, Ask
from tests.desks import active_member
from tests.marketdata.fix.acceptor_process import database_url
from tests.owner import tamper
from tests.waiting import PROGRAM_SECONDS, until
from tests.webhooks.test_endpoints import CHANGE, REDELIVER, created, send

NOW = "UPDATE partnerapi_webhookendpoint SET due_at = clock_timestamp()"


@dataclass
class Receiver:
    """A partner's program: it keeps what it accepts; `answer` gives the status."""

    port: int = 0
    answer: Callable[[int], int] = lambda asked: 204
    asked: int = 0
    accepted: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?of=partner"

    @property
    def sequences(self) -> list[int]:
        return [message["sequence"] for message in self.accepted]


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.asked += 1
            status = receiver.answer(receiver.asked)
            if status < 300:
                receiver.accepted.append(orjson.loads(body))
                receiver.headers.append(dict(self.headers))
                receiver.bodies.append(body)
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"http://127.0.0.1:{receiver.port}/other")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_port
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


@contextmanager
def sending(**environment: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "run_webhooks"],
        cwd=settings.BASE_DIR,
        env=os.environ
        | {
            "DATABASE_URL": database_url(),
            "PARTNER_API_SANDBOX": "true",
            "PARTNER_API_KEY_PEPPER": settings.PARTNER_API_KEY_PEPPER,
        }
        | environment,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PROGRAM_SECONDS)


@dataclass
class Client:
    """A partner with an account, whose changes of status are its events."""

    partner: Partner
    account: Account
    ask: Ask
    token: str

    def change(self, times: int = 1) -> list[int]:
        """The sequences of as many new events."""
        before = self.newest
        for _ in range(times):
            status = "ACTIVE" if self.account.status == "SUSPENDED" else "SUSPENDED"
            self.account.change_status(status, desk(), None)
        return list(range(before + 1, self.newest + 1))

    @property
    def newest(self) -> int:
        events = Event.objects.filter(partner=self.partner)
        return max(events.values_list("sequence", flat=True), default=0)


@pytest.fixture
def client(transactional_db: None) -> Client:
    partner = Partner.objects.create(login="follower", name="Follower")
    user = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name="Lund"
    )
    account = Account.objects.open(partner, user, desk(), START)
    account.change_status("ACTIVE", desk(), None)
    _, token = approved_key(partner, list(Scope))
    return Client(partner, account, Ask(token), token)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def test_events_arrive_signed_and_in_order(client: Client, receiver: Receiver):
    made = created(client.ask, url=receiver.url)
    with sending():
        sequences = client.change(20)
        until(lambda: receiver.sequences == sequences)
    message = receiver.accepted[0]
    event = Event.objects.get(partner=client.partner, sequence=sequences[0])
    assert message == {
        "type": "ACCOUNT_STATUS_CHANGED",
        "sequence": sequences[0],
        "timestamp": message["timestamp"],
        "data": {
            "subjectID": f"Account|{client.account.pk}",
            "issuerID": None,
            "accountID": f"Account|{client.account.pk}",
        },
    }
    assert receiver.headers[0]["webhook-id"] == f"msg_{event.pk.hex}"
    assert receiver.headers[0]["Host"] == f"127.0.0.1:{receiver.port}"
    for headers, body in zip(receiver.headers, receiver.bodies, strict=True):
        Webhook(made["secret"]).verify(body, headers)
    deliveries = WebhookDelivery.objects.order_by("id")
    assert [(d.sequence, d.status) for d in deliveries] == [(s, 204) for s in sequences]
    listed = client.ask(
        "{ viewer { webhookEndpoints { nodes { sequence status deliveredAt } } } }"
    )
    [endpoint] = listed.data["viewer"]["webhookEndpoints"]["nodes"]
    assert (endpoint["sequence"], endpoint["status"]) == (sequences[-1], "ON")


def has_failed(times: int) -> bool:
    return WebhookEndpoint.objects.get().attempts == times


def test_what_fails_is_sent_again_before_what_follows(
    client: Client, receiver: Receiver
):
    receiver.answer = lambda asked: (500, 302, 404, 204)[min(asked, 4) - 1]
    created(client.ask, url=receiver.url)
    with sending():
        sequences = client.change(3)
        for number in (1, 2, 3):
            until(partial(has_failed, number))
            assert receiver.sequences == []
            failing = WebhookEndpoint.objects.get()
            assert failing.failing_since is not None
            assert failing.due_at > failing.failing_since
            tamper(NOW)
        until(lambda: receiver.sequences == sequences)
    attempts = WebhookDelivery.objects.filter(sequence=sequences[0]).order_by("id")
    assert [(d.attempt, d.status) for d in attempts] == [
        (1, 500), (2, 302), (3, 404), (4, 204),
    ]  # fmt: skip
    endpoint = WebhookEndpoint.objects.get()
    assert (endpoint.attempts, endpoint.failing_since) == (0, None)
    # A redirect is not followed: it would have been another request.
    assert receiver.asked == 3 + len(sequences)


@pytest.mark.parametrize("status", [410, 500], ids=["gone", "a day of failures"])
def test_an_endpoint_that_accepts_nothing_ends(
    client: Client, receiver: Receiver, status: int
):
    member, _ = active_member(client.partner, "desk@follower.example")
    receiver.answer = lambda asked: status
    created(client.ask, url=receiver.url)
    tamper(
        "UPDATE partnerapi_webhookendpoint SET attempts = 13,"
        " failing_since = clock_timestamp()"
    )
    with sending():
        client.change()
        until(lambda: WebhookEndpoint.objects.get().ended_at is not None)
    endpoint = WebhookEndpoint.objects.get()
    assert endpoint.reason == (
        "It answered 410 Gone."
        if status == 410
        else "It accepted no message for a day."
    )
    assert member.notices.filter(what="WEBHOOK").count() == 1


def test_it_ends_with_its_key(client: Client, receiver: Receiver):
    key, token = approved_key(client.partner, list(Scope))
    created(Ask(token), url=receiver.url)
    tamper(f"UPDATE accounts_apikey SET revoked_at = now() WHERE id = '{key.pk}'")
    with sending():
        client.change()
        until(lambda: WebhookEndpoint.objects.get().ended_at is not None)
    assert WebhookEndpoint.objects.get().reason == "The key that made it has ended."
    assert receiver.asked == 0


def test_events_that_the_key_may_not_read_are_passed_by(
    client: Client, receiver: Receiver
):
    _, narrow = approved_key(client.partner, [Scope.WEBHOOKS_WRITE, Scope.CASH_READ])
    _, wide = approved_key(client.partner, list(Scope))
    created(Ask(narrow), url=receiver.url)
    created(Ask(wide), url=receiver.url, types=["KEY_CHANGED"])
    with receiving() as everything, sending():
        created(client.ask, url=everything.url)
        sequences = client.change(3)
        until(lambda: everything.sequences == sequences)
        # An event of a key needs no scope.
        approved_key(client.partner, [Scope.ISSUERS_READ])
        until(lambda: receiver.sequences == [client.newest] * 2)


def test_endpoints_that_wait_for_their_events_keep_no_other_waiting(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    created(client.ask, url="https://example.com/", types=["KEY_CHANGED"])
    other = created(client.ask, url="https://example.com/")["endpoint"]["id"]
    waiting = WebhookEndpoint.objects.get(types=["KEY_CHANGED"])
    client.change()
    # A thousand endpoints are many for a test.
    monkeypatch.setattr(delivering, "AT_ONCE", 1)
    passed = {waiting.pk: (waiting.position, client.newest)}
    [due] = delivering.find_due([], passed)
    assert f"WebhookEndpoint|{due.endpoint.pk}" == other
    client.change()
    [due] = delivering.find_due([], passed)
    assert due.endpoint == waiting


def test_one_receiver_that_hangs_delays_no_other(client: Client, receiver: Receiver):
    released = threading.Event()

    def hang(asked: int) -> int:
        released.wait(PROGRAM_SECONDS)
        return 204

    with receiving() as hanging:
        hanging.answer = hang
        created(client.ask, url=hanging.url)
        created(client.ask, url=receiver.url)
        with sending():
            sequences = client.change(3)
            until(lambda: receiver.sequences == sequences)
            assert hanging.accepted == []
            released.set()
            until(lambda: hanging.sequences == sequences)


def test_an_address_that_no_name_has_delays_no_other(
    client: Client, receiver: Receiver
):
    refused = created(client.ask, url=receiver.url)["endpoint"]["id"].partition("|")[2]
    tamper(
        "UPDATE partnerapi_webhookendpoint SET url = 'https://hooks..example.com/' "
        f"WHERE id = '{refused}'"
    )
    created(client.ask, url=receiver.url)
    with sending():
        sequences = client.change(3)
        until(lambda: receiver.sequences == sequences)
        until(lambda: WebhookDelivery.objects.filter(endpoint=refused).exists())
    first = WebhookDelivery.objects.filter(endpoint=refused).first()
    assert first.error == "Its host is not a full domain name."


def test_a_process_that_fails_ends(client: Client, receiver: Receiver):
    created(client.ask, url=receiver.url)
    with sending() as process:
        sequences = client.change()
        until(lambda: receiver.sequences == sequences)
        tamper("ALTER TABLE partnerapi_webhookendpoint RENAME COLUMN due_at TO other")
        try:
            until(lambda: process.poll() is not None)
        finally:
            tamper(
                "ALTER TABLE partnerapi_webhookendpoint RENAME COLUMN other TO due_at"
            )
    assert process.returncode == 1


def test_a_killed_process_loses_nothing(client: Client, receiver: Receiver):
    created(client.ask, url=receiver.url)
    sequences: list[int] = []

    def most_arrived() -> bool:
        return len(set(receiver.sequences)) > len(sequences) - 3

    for _ in range(3):
        with sending() as process:
            sequences += client.change(5)
            until(most_arrived)
            process.kill()
    with sending():
        until(lambda: set(receiver.sequences) == set(sequences))
        until(lambda: WebhookEndpoint.objects.get().position == sequences[-1])
    # What was sent twice has one id, and stands in its place.
    assert sorted(receiver.sequences) == receiver.sequences
    ids = {
        (h["webhook-id"], s)
        for h, s in zip(receiver.headers, receiver.sequences, strict=True)
    }
    assert len(ids) == len(sequences)


def test_without_redis_events_arrive_too(client: Client, receiver: Receiver):
    created(client.ask, url=receiver.url)
    with sending(REDIS_URL="unix:///nowhere?db=0"):
        sequences = client.change(2)
        until(lambda: receiver.sequences == sequences)


def test_a_second_process_waits_and_takes_over(client: Client, receiver: Receiver):
    created(client.ask, url=receiver.url)
    with sending() as one:
        until(lambda: [f.state for f in jobs.webhooks()] == ["ok"])
        with sending():
            sequences = client.change(2)
            until(lambda: receiver.sequences == sequences)
            one.kill()
            sequences += client.change(2)
            # The killed one may have sent a message and not written that.
            until(lambda: sorted(set(receiver.sequences)) == sequences)
    [finding] = jobs.webhooks()
    assert (finding.state, "run_webhooks" in finding.remedy) == ("warning", True)


def test_a_test_is_sent_to_an_endpoint_that_fails(client: Client, receiver: Receiver):
    receiver.answer = lambda asked: 500 if asked == 1 else 204
    made = created(client.ask, url=receiver.url)["endpoint"]
    with sending():
        sequences = client.change(2)
        until(lambda: WebhookEndpoint.objects.get().attempts == 1)
        send(client.ask, CHANGE % "test", id=made["id"])
        until(lambda: receiver.sequences == [0, *sequences])
    test = receiver.accepted[0]
    assert (test["type"], test["data"]) == ("TEST", {})


def test_events_are_sent_again_from_one_on(client: Client, receiver: Receiver):
    made = created(client.ask, url=receiver.url)["endpoint"]
    with sending():
        sequences = client.change(4)
        until(lambda: receiver.sequences == sequences)
        until(lambda: WebhookEndpoint.objects.get().position == sequences[-1])
        send(client.ask, REDELIVER, id=made["id"], **{"from": sequences[2]})
        until(lambda: receiver.sequences == [*sequences, *sequences[2:]])
    assert receiver.headers[2]["webhook-id"] == receiver.headers[4]["webhook-id"]


def test_old_attempts_are_removed(client: Client, receiver: Receiver):
    created(client.ask, url=receiver.url)
    old = f"""
        INSERT INTO partnerapi_webhookdelivery
            (id, endpoint_id, sequence, attempt, at, milliseconds, error)
        SELECT '{uuid4()}', id, 1, 1, now() - interval '8 days', 1, ''
        FROM partnerapi_webhookendpoint
    """
    tamper(old)
    with sending():
        until(lambda: not WebhookDelivery.objects.exists())
