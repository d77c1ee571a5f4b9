"""Concurrent orders for one market: in one transaction, each as if it were alone."""

import logging
import os
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import orjson
import psutil
import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction

from accounts.access import Scope
from accounts.accounts.models import Account
from issuers.models import Token
from marketdata.trading import groups
from marketdata.trading.groups import Groups, Waiting
from marketdata.trading.models import Order, OrderEvent
from marketdata.trading.schema.mutations import Mutation
from marketdata.trading.verification import verify
from partnerapi.core.postgresql.faults import Busy
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.sandbox.data.approvals import approved_key
from tests.approved import asker
from tests.characters import Answer, Ask
from tests.gateway.conftest import UNLIMITED, WebServer, serving
from tests.marketdata.trading.trading import (
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
)
from tests.waiting import PATIENCE_SECONDS, until, until_waiting_for_a_lock

PLACE = """
mutation ($input: PlaceOrderInput!) { placeOrder(input: $input) {
  order { id status filledQuantity } executions { price quantity } } }
"""
READS_MORE = PLACE.replace("status", "status account { id }")
LOCK = "SELECT FROM marketdata_orderbookhead WHERE token_id = %s FOR NO KEY UPDATE"
CLAIM = """
INSERT INTO partnerapi_idempotencyrecord (partner_id, key, fingerprint, created_at)
VALUES (%s, %s, '', now())
"""
TRANSACTIONS = """
SELECT count(*) FROM partnerapi_idempotencyrecord GROUP BY xmin::text ORDER BY 1
"""
GROUPS: Groups = Mutation.resolve_place_order.groups  # type: ignore[attr-defined]


def in_line(subject: object) -> int:
    return len(GROUPS.lines.get(subject, ()))  # type: ignore[call-overload]


@dataclass
class Client:
    """An account, and its partner's key."""

    account: Account
    token: Token
    key: str

    def order(self, side: str = "BUY", price: int = 100, **more: Any) -> dict[str, Any]:
        return {
            "accountID": f"Account|{self.account.pk}",
            "tokenID": f"Token|{self.token.pk}",
            "side": side,
            "quantity": 1,
            "limitPrice": price,
            "timeInForce": "GTC",
        } | more

    def send(
        self, order: dict[str, Any], key: object = None, query: str = PLACE
    ) -> Answer:
        headers = {"Idempotency-Key": str(key or uuid.uuid4())}
        return Ask(self.key)(query, {"input": order}, **headers)


class Floor:
    """A market with clients of two partners, who send at once."""

    def __init__(self) -> None:
        self.token = new_market()
        self.clients = []
        for partner in (new_partner(), new_partner()):
            _, key = approved_key(partner, list(Scope))
            for account in new_clients(8, partner):
                deposit(account, 100_000)
                self.clients.append(Client(account, self.token, key))
        give(self.token, {client.account: 1_000 for client in self.clients})
        self.pool = ThreadPoolExecutor(40)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Another session holds the market meanwhile."""
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT FROM trading_lock_markets(%s)", [[self.token.pk]]
                )
            yield

    def begin(self, send: Callable[..., Answer], *arguments: Any) -> Future[Answer]:
        def sent() -> Answer:
            try:
                return send(*arguments)
            finally:
                connection.close()

        return self.pool.submit(sent)

    def send_behind(self, first: Any, others: list[Any]) -> list[Answer]:
        """What requests are answered, of which the others wait until the first is."""
        with self.held():
            sent = self.send_first(first)
            sent += [self.begin(*other) for other in others]
            self.until_in_line(len(others))
        return [one.result() for one in sent]

    def send_first(self, first: Any) -> list[Future[Answer]]:
        sent = self.begin(*first)
        until_waiting_for_a_lock()
        return [sent]

    def until_in_line(self, count: int) -> None:
        until(lambda: in_line(str(self.token.pk)) == count)


@pytest.fixture
def floor(transactional_db: None, one_person: None) -> Iterator[Floor]:
    made = Floor()
    yield made
    made.pool.shutdown()
    # No line is left, and no leader.
    assert GROUPS.lines == {}
    assert [found for found in verify() if found.breaches] == []


def sizes() -> list[int]:
    """How many answers each transaction has stored."""
    with connection.cursor() as cursor:
        cursor.execute(TRANSACTIONS)
        return [count for (count,) in cursor.fetchall()]


def statuses(answers: list[Answer]) -> list[str]:
    return [answer.data["placeOrder"]["order"]["status"] for answer in answers]


@pytest.mark.usefixtures("patient_locks")
def test_those_who_wait_go_together(floor: Floor):
    sends = [(client.send, client.order()) for client in floor.clients]
    answers = floor.send_behind(sends[0], sends[1:])
    assert statuses(answers) == ["OPEN"] * 16
    assert sizes() == [1, 15]
    # Each has its own order, of its own account, and is named as the one that asked.
    for client, answer in zip(floor.clients, answers, strict=True):
        assert answer.status == 200
        assert answer.headers["Idempotency-Key-Expires"]
        assert "Idempotent-Replayed" not in answer.headers
        order = Order.objects.get(pk=answer.data["placeOrder"]["order"]["id"][6:])
        assert order.account_id == client.account.pk
        event = OrderEvent.objects.get(order=order)
        assert event.actor == client.account.partner.login
    costs = {answer.headers["X-Query-Cost"] for answer in answers}
    assert len(costs) == 1
    assert len({answer.headers["X-Request-Id"] for answer in answers}) == 16


@pytest.mark.usefixtures("patient_locks")
def test_orders_of_a_group_trade_with_each_other(floor: Floor):
    sends = [
        (client.send, client.order("BUY" if number % 2 else "SELL"))
        for number, client in enumerate(floor.clients)
    ]
    answers = floor.send_behind(sends[0], sends[1:])
    assert sizes() == [1, 15]
    told = Counter(statuses(answers))
    assert told["FILLED"] >= 8
    stored = Counter(Order.objects.values_list("status", flat=True))
    assert stored == {"FILLED": 16}


@pytest.mark.usefixtures("patient_locks")
def test_a_key_is_used_once_within_a_group_and_over_groups(floor: Floor):
    key = uuid.uuid4()
    first, *others = floor.clients
    same = (first.send, first.order(), key)
    theirs = [(other.send, other.order()) for other in others]
    answers = floor.send_behind(theirs[0], [same, *theirs[1:], same, same])
    repeated = [answers[1], *answers[-2:]]
    assert len({str(answer.body) for answer in repeated}) == 1
    replayed = ["Idempotent-Replayed" in answer.headers for answer in repeated]
    assert sorted(replayed) == [False, True, True]
    assert Order.objects.count() == 16
    # Now it has an answer, and comes within a group.
    again = floor.send_behind(theirs[0], [same, theirs[1], theirs[2]])[1]
    assert again.body == repeated[0].body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Order.objects.count() == 19
    # Of another request it is refused, and no one else is.
    other = (first.send, first.order(price=99), key)
    refused, *placed = floor.send_behind(theirs[0], [other, theirs[1], theirs[2]])[1:]
    assert (refused.status, refused.code) == (422, "IDEMPOTENCY_KEY_PARAMETER_MISMATCH")
    assert statuses(placed) == ["OPEN", "OPEN"]


@pytest.mark.usefixtures("patient_locks")
def test_a_refusal_is_that_order_s_alone_and_is_stored(floor: Floor):
    first, second, third, *others = floor.clients
    foreign = floor.clients[-1].order()["accountID"]
    keys = [uuid.uuid4() for _ in range(3)]
    wrong = [
        (second.send, second.order(quantity=10_000), keys[0]),
        (third.send, third.order(accountID=foreign), keys[1]),
        (third.send, third.order(price=100_000), keys[2]),
    ]  # fmt: skip
    right = [(other.send, other.order()) for other in others]
    answers = floor.send_behind((first.send, first.order()), [*wrong, *right])
    refused, placed = answers[1:4], [answers[0], *answers[4:]]
    assert [answer.code for answer in refused] == [
        "INSUFFICIENT_FUNDS",
        "NOT_FOUND",
        "PRICE_OUTSIDE_COLLAR",
    ]
    assert all(answer.body["data"] == {"placeOrder": None} for answer in refused)
    assert statuses(placed) == ["OPEN"] * 14
    assert sizes() == [1, 16]
    for one, answer in zip(wrong, refused, strict=True):
        send, *arguments = one
        again = send(*arguments)
        assert again.body == answer.body
        assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.usefixtures("patient_locks")
def test_a_closed_market_refuses_each_of_a_group(floor: Floor):
    from marketdata.trading import phases
    from marketdata.trading.models import Phase

    first, *others = [(client.send, client.order()) for client in floor.clients]
    with transaction.atomic():
        phases.change_phase(floor.token.pk, Phase.CLOSED, asker())
        sent = [*floor.send_first(first), *(floor.begin(*other) for other in others)]
        floor.until_in_line(15)
    answers = [one.result() for one in sent]
    assert [answer.code for answer in answers] == ["MARKET_CLOSED"] * 16
    assert sizes() == [1, 15]
    assert not Order.objects.exists()


@pytest.mark.usefixtures("patient_locks")
def test_what_reads_more_for_its_answer_goes_alone(floor: Floor):
    first, second, third, *_ = floor.clients
    with floor.held():
        sent = floor.send_first((first.send, first.order()))
        sent.append(floor.begin(second.send, second.order(), None, READS_MORE))
        until_waiting_for_a_lock(2)
        sent.append(floor.begin(third.send, third.order()))
        floor.until_in_line(1)
    assert statuses([one.result() for one in sent]) == ["OPEN"] * 3
    assert sizes() == [1, 1, 1]


@pytest.mark.usefixtures("patient_locks")
@pytest.mark.parametrize("commits", [True, False])
def test_a_key_that_is_held_elsewhere_keeps_none_of_the_others_waiting(
    floor: Floor, commits: bool
):
    held, first, *others = floor.clients
    key = uuid.uuid4()
    parameters = connection.get_connection_params()
    parameters.pop("cursor_factory", None)
    parameters.pop("context", None)
    with closing(psycopg.connect(**parameters)) as session:
        session.execute(CLAIM, [held.account.partner_id, key])
        with floor.held():
            sent = floor.send_first((first.send, first.order()))
            waiting = floor.begin(held.send, held.order(), key)
            sent += [floor.begin(other.send, other.order()) for other in others]
            floor.until_in_line(15)
        assert statuses([one.result() for one in sent]) == ["OPEN"] * 15
        assert not waiting.done()
        if commits:
            session.execute(
                "UPDATE partnerapi_idempotencyrecord SET body = '{}',"
                " expires_at = now() + interval '1 hour' WHERE key = %s",
                [key],
            )
            session.commit()
        else:
            session.rollback()
    answer = waiting.result()
    if commits:
        assert answer.code == "IDEMPOTENCY_KEY_PARAMETER_MISMATCH"
    else:
        assert statuses([answer]) == ["OPEN"]
    assert Order.objects.count() == (15 if commits else 16)


def test_a_group_that_fails_as_a_whole_goes_one_by_one(
    floor: Floor, caplog: pytest.LogCaptureFixture
):
    first, *others = [(client.send, client.order()) for client in floor.clients]
    let_go = threading.Event()

    def hold() -> None:
        try:
            with floor.held():
                let_go.wait(PATIENCE_SECONDS)
        finally:
            connection.close()

    with floor.held():
        sent = floor.send_first(first)
        holder = floor.pool.submit(hold)
        until_waiting_for_a_lock(2)
        sent += [floor.begin(*other) for other in others]
        floor.until_in_line(15)
    with caplog.at_level(logging.WARNING, groups.__name__):
        # The first is done, the second session has the market, and the group times out.
        until(lambda: caplog.records)
    let_go.set()
    holder.result()
    assert "15 requests that went together failed" in caplog.text
    assert statuses([one.result() for one in sent]) == ["OPEN"] * 16
    assert sizes() == [1] * 16


@pytest.mark.usefixtures("patient_locks")
def test_what_is_due_before_it_began_is_refused_and_may_be_sent_again(
    floor: Floor, settings: Any
):
    first, late, *others = floor.clients
    key = uuid.uuid4()
    with floor.held():
        sent = floor.send_first((first.send, first.order()))
        settings.PARTNER_API_MAX_SECONDS = 0.2
        answer = floor.begin(late.send, late.order(), key).result()
        settings.PARTNER_API_MAX_SECONDS = 60
        sent += [floor.begin(other.send, other.order()) for other in others]
        floor.until_in_line(14)
    assert (answer.status, answer.code) == (503, "UNAVAILABLE")
    assert answer.headers["Retry-After"] == "1"
    assert statuses([one.result() for one in sent]) == ["OPEN"] * 15
    assert sizes() == [1, 14]
    assert IdempotencyRecord.objects.filter(key=key).count() == 0
    assert statuses([late.send(late.order(), key)]) == ["OPEN"]


@dataclass
class Sender:
    """Sends an order to a web server, again until it is answered."""

    server: WebServer
    client: Client
    key: str

    def __call__(self) -> dict[str, Any]:
        body = orjson.dumps(
            {"query": PLACE, "variables": {"input": self.client.order()}}
        )
        headers = {"X-Token-Auth": self.client.key, "Idempotency-Key": self.key}

        def answered() -> dict[str, Any] | None:
            try:
                status, answer = self.server.post(body, **headers)
            except (OSError, HTTPException):
                return None
            said.append((status, answer))
            return answer if status == 200 else None

        said: list[object] = []
        return until(answered, lambda: said)


@contextmanager
def serving_patiently(directory: Path) -> Iterator[tuple[WebServer, psutil.Process]]:
    """A web server of one process, which waits for locks as long as it takes."""
    database = connection.settings_dict["NAME"]
    url = urlsplit(os.environ["DATABASE_URL"])
    waits = "options=-c%20lock_timeout%3D60000"
    query = f"{url.query}&{waits}" if url.query else waits
    url = url._replace(path=f"/{database}", query=query)
    patient = {"DATABASE_URL": url.geturl(), "PARTNER_API_MAX_SECONDS": "60"}
    with serving(1, UNLIMITED | patient, directory) as server:
        [worker] = psutil.Process(server.process.pid).children()
        yield server, worker


def test_a_web_process_has_more_in_a_group_than_it_handles_at_once(
    floor: Floor, tmp_path: Path
):
    with serving_patiently(tmp_path) as (server, worker):
        senders = [Sender(server, c, str(uuid.uuid4())) for c in floor.clients]
        with floor.held():
            sent = [floor.pool.submit(senders[0])]
            until_waiting_for_a_lock()
            sent += [floor.pool.submit(sender) for sender in senders[1:]]
            # A thread for each: the leader's, and those of what waits.
            until(lambda: worker.num_threads() >= len(senders))
        answers = [one.result() for one in sent]
    assert all(answer["data"]["placeOrder"]["order"] for answer in answers)
    assert max(sizes()) > settings.PARTNER_API_DATABASE_CONNECTIONS
    assert Order.objects.count() == 16


def test_a_leader_that_is_killed_loses_no_order_and_doubles_none(
    floor: Floor, tmp_path: Path
):
    with serving_patiently(tmp_path) as (server, worker):
        senders = [Sender(server, c, str(uuid.uuid4())) for c in floor.clients]
        with floor.held():
            sent = [floor.pool.submit(senders[0])]
            until_waiting_for_a_lock()
            sent += [floor.pool.submit(sender) for sender in senders[1:]]
            until(lambda: worker.num_threads() >= len(senders))
        # A group is committed, or is about to be: its answers are on their way.
        until(lambda: IdempotencyRecord.objects.count() > 1, pause=0)
        worker.kill()
        answers = [one.result() for one in sent]
        again = [sender() for sender in senders]
    assert again == answers
    orders = {answer["data"]["placeOrder"]["order"]["id"] for answer in answers}
    assert len(orders) == Order.objects.count() == 16


class Asking:
    """Requests that are answered by their number; what went together, in `went`."""

    def __init__(self) -> None:
        self.groups = Groups(lambda: "subject", lambda subject, calls: [])
        self.went: list[list[int]] = []
        self.let_go = threading.Semaphore(0)
        self.pool = ThreadPoolExecutor(groups.MOST + 20)

    def begin(self, number: int, identity: int | None = None) -> Future[Any]:
        class Asked:
            pass

        asked: Any = Asked()
        asked.number = number
        asked.identity = number if identity is None else identity
        asked.owner = "partner"

        def alone() -> str:
            self.went.append([number])
            self.let_go.acquire()
            return f"{number} alone"

        def together(some: list[Any]) -> list[Any]:
            self.went.append([one.number for one in some])
            self.let_go.acquire()
            return [f"{one.number} of {len(some)}" for one in some]

        def answer() -> Any:
            try:
                due = monotonic() + PATIENCE_SECONDS
                return self.groups.answer("subject", asked, due, alone, together, None)
            finally:
                connection.close()

        sent = self.pool.submit(answer)
        until(lambda: self.began(number))
        return sent

    def began(self, number: int) -> bool:
        waiting: list[Waiting] = [*self.groups.lines.get("subject", ())]
        return number in sum(self.went, []) or any(
            one.asked.number == number  # type: ignore[attr-defined]
            for one in waiting
        )


@pytest.mark.django_db
def test_a_group_has_a_hundred_at_most_in_their_order_and_no_identity_twice():
    asking = Asking()
    sent = [asking.begin(number) for number in range(groups.MOST + 10)]
    sent.append(asking.begin(1_000, identity=5))
    for _ in range(4):
        asking.let_go.release()
    answers = [one.result(PATIENCE_SECONDS) for one in sent]
    assert asking.went[0] == [0]
    assert asking.went[1] == [*range(1, groups.MOST + 1)]
    assert asking.went[2] == [*range(groups.MOST + 1, groups.MOST + 10), 1_000]
    assert answers[0] == "0 alone"
    assert answers[1] == "1 of 100"
    assert answers[-1] == "1000 of 10"
    assert asking.groups.lines == {}


@pytest.mark.django_db
def test_those_of_one_identity_go_one_after_the_other():
    asking = Asking()
    sent = [asking.begin(number, identity=7) for number in range(4)]
    for _ in range(4):
        asking.let_go.release()
    assert [one.result() for one in sent] == [f"{n} alone" for n in range(4)]
    assert asking.went == [[0], [1], [2], [3]]


def test_an_error_of_the_first_leaves_the_market_to_the_next():
    made = Groups(lambda: "subject", lambda subject, calls: [])

    def fail() -> None:
        raise Busy

    for _ in range(2):
        with pytest.raises(Busy):
            made.answer("subject", Any, monotonic() + 60, fail, lambda some: some, None)
    assert made.lines == {}
