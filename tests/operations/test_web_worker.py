"""Clients that send or read slowly, beside one that does neither."""

import contextlib
import os
import re
import selectors
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Event, Semaphore
from typing import Any

import orjson
import psutil
import pytest
from django.conf import settings
from gunicorn.config import Config

from partnerapi.gateway.requests import Wait
from partnerapi.operations import web_worker
from partnerapi.operations.parking import Parking
from partnerapi.operations.web_connection import Connection, Phase
from partnerapi.operations.web_worker import BufferingWorker
from tests.gateway.conftest import UNLIMITED, WebServer, serving
from tests.waiting import PATIENCE_SECONDS, until

TYPENAME = b'{"query":"{ __typename }"}'
HEAD = (
    b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)
FIELDS = "{ name description args { name description type { name kind } } }"
LARGE = orjson.dumps(
    {
        "query": "{"
        + " ".join(
            f"a{n}: __schema {{ types {{ fields {FIELDS} }} }}" for n in range(4)
        )
        + "}"
    }
)
"""Its answer is larger than what small buffers between server and client hold."""


@pytest.fixture(scope="module")
def server(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebServer]:
    """One process with unlimited budgets."""
    with serving(1, UNLIMITED, tmp_path_factory.mktemp("web")) as server:
        yield server


def connect(server: WebServer, sent: bytes, small: bool = False) -> socket.socket:
    client = socket.socket()
    if small:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.settimeout(PATIENCE_SECONDS)
    client.connect(("127.0.0.1", server.port))
    client.sendall(sent)
    return client


def answer_on(client: socket.socket) -> tuple[int, bytes]:
    """The next answer and no byte beyond it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = client.recv(1)
        assert byte, head
        head += byte
    [length] = re.findall(rb"Content-Length: ([0-9]+)", head)
    body = b""
    while len(body) < int(length):
        body += client.recv(min(1_000, int(length) - len(body)))
    return int(head[9:12]), body


def whole(body: bytes) -> bytes:
    return HEAD % len(body) + body


SLOW = {
    "nothing": b"",
    "a head": HEAD[:40],
    "a body": HEAD % 100 + b'{"qu',
    "chunks": (HEAD % 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    + b"5\r\n{",
    "an answer": whole(LARGE),
}


@pytest.mark.parametrize("slow", SLOW)
def test_forty_slow_clients_hold_up_nobody(slow: str, server: WebServer):
    with contextlib.ExitStack() as hanging:
        for _ in range(40):
            client = connect(server, SLOW[slow], small=slow == "an answer")
            hanging.enter_context(client)
        # With a thread for each of them none of these would be answered.
        for _ in range(20):
            assert server.post(TYPENAME) == (200, {"data": {"__typename": "Query"}})


def test_a_slow_request_is_answered_when_it_is_whole(server: WebServer):
    message = whole(TYPENAME)
    with connect(server, b"") as client:
        for n in range(len(message)):
            client.sendall(message[n : n + 1])
        assert answer_on(client)[0] == 200


def test_requests_that_come_together_are_answered_in_order(server: WebServer):
    bodies = [b'{"query":"{ a%d: __typename }"}' % n for n in range(5)]
    with connect(server, b"".join(map(whole, bodies))) as client:
        found = [orjson.loads(answer_on(client)[1]) for _ in bodies]
    assert found == [{"data": {f"a{n}": "Query"}} for n in range(5)]


def test_chunks_are_read_to_the_last(server: WebServer):
    head = (HEAD % 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunks = [b"%x\r\n%s\r\n" % (1, TYPENAME[n : n + 1]) for n in range(len(TYPENAME))]
    with connect(server, head) as client:
        for _ in range(2):
            for chunk in chunks:
                client.sendall(chunk)
            client.sendall(b"0\r\nX-Sum: x\r\n\r\n")
            assert answer_on(client)[0] == 200
            client.sendall(head)


def test_a_client_may_wait_for_leave_to_send_its_body(server: WebServer):
    head = HEAD.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
    with connect(server, head % len(TYPENAME)) as client:
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(TYPENAME)
        assert answer_on(client)[0] == 200


def test_a_length_may_be_padded(server: WebServer):
    # What reads it as none takes the body for the next request.
    head = HEAD.replace(b"%d", b"%030d") % len(TYPENAME)
    with connect(server, head) as client:
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
        client.setblocking(True)
        client.sendall(TYPENAME)
        assert answer_on(client)[0] == 200


@pytest.mark.parametrize("size", [1_048_577, 10**12, 10**30])
def test_a_body_that_is_too_long_is_refused_unread(size: int, server: WebServer):
    with connect(server, HEAD % size) as client:
        status, body = answer_on(client)
        assert (status, b"PAYLOAD_TOO_LARGE" in body) == (413, True)
        assert client.recv(1) == b""


def test_a_head_has_16_kilobytes(server: WebServer):
    many = b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1_000) for n in range(15))
    fits = whole(TYPENAME).replace(
        b"\r\nContent-Type", b"\r\n" + many + b"Content-Type"
    )
    with connect(server, fits) as client:
        assert answer_on(client)[0] == 200
    with connect(server, HEAD[:-4] + b"\r\nX: " + b"x" * 20_000) as client:
        assert answer_on(client)[0] == 431
        assert client.recv(1) == b""


def seconds_of(head: bytes) -> float:
    """Of a processor, that it takes to read a head before it has a turn."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        conn = Connection(Config(), ours, ("192.0.2.1", 1), ("", 0))
        conn.buffers.received += head
        began = time.process_time()
        conn.is_whole()
        conn.called_by()
        return time.process_time() - began


@pytest.mark.parametrize(
    "hostile",
    [
        b"Content-Length: %sx" % (b"0" * 15_000),
        b"Content-Length: 1%sx" % (b" " * 15_000),
        b"X-Token-Auth: a%sb" % (b" " * 15_000),
        b"X-Forwarded-For: a%sb" % (b" " * 15_000),
        b"Expect: %sx" % (b" " * 15_000),
    ],
)
def test_no_head_takes_longer_than_others_of_its_length(hostile: bytes):
    head = b"POST /graphql HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n"
    usual = head % (b"X-Usual: %s" % (b"x" * 15_000))
    seconds_of(usual)
    most = 50 * min(seconds_of(usual) for _ in range(5))
    assert min(seconds_of(head % hostile) for _ in range(5)) < most


@pytest.mark.parametrize("unended", [b"5;", b"0\r\na: "])
def test_what_stands_around_chunks_has_16_kilobytes(unended: bytes, server: WebServer):
    head = HEAD.replace(b"Content-Length: %d", b"Transfer-Encoding: chunked")
    with connect(server, head + unended + b"x" * 20_000) as client:
        assert answer_on(client)[0] == 400
        assert client.recv(1) == b""


@pytest.mark.parametrize(("size", "status"), [(110, 200), (10, 400)])
def test_a_body_comes_in_no_more_chunks_than_it_needs(
    size: int, status: int, server: WebServer
):
    body = TYPENAME.ljust(1_000_000)
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    head = HEAD.replace(b"Content-Length: %d", b"Transfer-Encoding: chunked")
    with connect(server, head + framed + b"0\r\n\r\n") as client:
        assert answer_on(client)[0] == status


def test_of_a_content_type_the_beginning_is_read(server: WebServer):
    # Its end would make it another.
    long = b"application/json" + b";a" * 3_000 + b";charset=latin-1"
    with connect(server, whole(TYPENAME).replace(b"application/json", long)) as client:
        assert answer_on(client)[0] == 200


def test_a_large_answer_arrives_whole_however_slowly_it_is_read(server: WebServer):
    with connect(server, whole(LARGE), small=True) as client:
        status, body = answer_on(client)
    assert status == 200
    assert orjson.loads(body).keys() == {"data"}
    assert len(body) > 150_000


def test_a_request_that_takes_too_long_is_ended(server: WebServer):
    with connect(server, HEAD[:40]) as client:
        assert answer_on(client)[0] == 408
        assert client.recv(1) == b""


def test_an_address_holds_a_hundred_connections(server: WebServer):
    def connections() -> int:
        [worker] = psutil.Process(server.process.pid).children()
        return len(worker.net_connections(kind="tcp"))

    with contextlib.ExitStack() as open_ones:
        idle = connections()
        clients = [open_ones.enter_context(connect(server, b"")) for _ in range(100)]
        until(lambda: connections() == idle + 100, server.log.read_text)
        one_more = open_ones.enter_context(connect(server, b""))
        with contextlib.suppress(ConnectionResetError):
            assert one_more.recv(1) == b""
        assert len(clients) == 100
    until(server.answers, server.log.read_text)


def test_up_and_production_run_this_worker():
    page = (Path(settings.BASE_DIR) / "templates/docs/production.md").read_text()
    option = "--config python:partnerapi.operations.gunicorn_config"
    assert option in page


@pytest.fixture
def worker() -> Iterator[BufferingWorker]:
    made = BufferingWorker(1, os.getpid(), [], None, 30, Config(), None)
    made.poller = selectors.DefaultSelector()
    yield made
    made.murder_keepalived(force=True)
    assert made.held == made.nr_conns == 0
    made.poller.close()
    made.tmp.close()


def waiting(
    worker: BufferingWorker, size: int, moved: int, address: str = "192.0.2.1"
) -> Connection:
    """A connection with an answer of this size to be sent, of which some is."""
    ours, theirs = socket.socketpair()
    theirs.close()
    conn = Connection(worker.cfg, ours, (address, 1), ("127.0.0.1", 80))
    conn.begin(Phase.SEND, 60)
    conn.moved = moved
    conn.buffers.answer += bytes(size)
    worker.connections.add(conn)
    worker.by_address[address] += 1
    worker.nr_conns += 1
    worker.weigh(conn)
    return conn


def test_beyond_64_megabytes_the_slowest_is_closed(worker: BufferingWorker):
    megabyte = 1024 * 1024
    fast, slow, small = (
        waiting(worker, size, moved)
        for size, moved in ((30 * megabyte, 5_000), (30 * megabyte, 10), (100, 0))
    )
    assert worker.connections == {fast, slow, small}
    last = waiting(worker, 10 * megabyte, 9_000)
    assert worker.connections == {fast, small, last}
    assert worker.held == 40 * megabyte + 100


def test_of_too_many_connections_the_slowest_is_closed(worker: BufferingWorker):
    slow, fast = waiting(worker, 0, 1), waiting(worker, 0, 1_000)
    worker.worker_connections = 3
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        worker.accept(listener)
    assert fast in worker.connections
    assert slow not in worker.connections
    assert worker.nr_conns == 2


def parked(worker: BufferingWorker, number: int) -> Connection:
    """A connection whose client has ended; its request waits for an event."""
    conn = waiting(worker, 0, 0)
    conn.begin(Phase.WORK, 0)
    conn.wait = Wait(20, "a", 0, f"key:{number // 20}", f"address:{number // 100}")
    conn.waits_until = time.monotonic() + PATIENCE_SECONDS
    assert worker.parking.admit(conn.wait)
    worker.finish_request(conn)
    return conn


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is listened for."""
    monkeypatch.setattr(Parking, "listen", lambda self, stopping: None)


def admits(worker: BufferingWorker, key: int, address: int) -> bool:
    wait = Wait(20, "a", 0, f"key:{key}", f"address:{address}")
    return worker.parking.admit(wait)


@pytest.mark.usefixtures("silent")
def test_a_key_an_address_and_a_process_have_so_many_requests_that_wait(
    worker: BufferingWorker,
):
    waits = [parked(worker, number) for number in range(100)]
    assert not admits(worker, key=4, address=1)
    assert not admits(worker, key=5, address=0)
    # They are none of the connections that an address may hold.
    assert worker.by_address == {}
    worker.parking.most = 100
    assert not admits(worker, key=5, address=1)
    # Each has been left by its client.
    for conn in waits:
        worker.go_on(conn)
    assert worker.parking.number == worker.nr_conns == 0
    assert worker.parking.admitted == {}


@pytest.mark.usefixtures("silent")
def test_requests_that_wait_are_not_closed_as_slow_ones(worker: BufferingWorker):
    kept, slow = parked(worker, 0), waiting(worker, 0, 1)
    kept.since = 0.0
    assert worker.drop_slowest(0)
    assert worker.connections == {kept}
    assert not worker.drop_slowest(0)
    assert slow not in worker.connections


PLACES = 4


@dataclass
class Crowd:
    """What threads have begun, and leave to go on."""

    begun: Queue[Connection]
    let_go: Semaphore

    def handle(self, conn: Connection) -> bool:
        self.begun.put(conn)
        self.let_go.acquire()
        return True

    def next(self) -> Connection:
        """What the next thread has begun with."""
        return self.begun.get(timeout=PATIENCE_SECONDS)


@pytest.fixture
def crowd(worker: BufferingWorker) -> Iterator[Crowd]:
    """Threads of a worker of four places, each of which works until it is let go."""
    worker.cfg.set("threads", PLACES)
    crowd = Crowd(Queue(), Semaphore(0))
    worker.handle = crowd.handle  # type: ignore[method-assign]
    worker.method_queue.init()
    worker.open_places(PLACES)
    yield crowd
    crowd.let_go.release(1_000)
    worker.tpool.shutdown()
    worker.method_queue.close()


def coming(worker: BufferingWorker, address: str, number: int) -> list[Connection]:
    """So many requests of an address."""
    requests = [waiting(worker, 0, 0, address) for _ in range(number)]
    for conn in requests:
        conn.begin(Phase.HELD, PATIENCE_SECONDS)
        worker.enqueue_req(conn)
    return requests


def test_one_caller_has_half_of_the_places(worker: BufferingWorker, crowd: Crowd):
    many = coming(worker, "192.0.2.1", 50)
    assert [crowd.next(), crowd.next()] == many[:2]
    assert crowd.begun.empty()
    # Another has a place at once, however many wait.
    others = coming(worker, "192.0.2.2", 1)
    assert crowd.next() is others[0]
    assert crowd.begun.empty()


def test_several_callers_leave_a_place_to_those_that_have_none(
    worker: BufferingWorker, crowd: Crowd
):
    worker.open_places(6)
    for number in range(1, 5):
        coming(worker, f"192.0.2.{number}", 50)
    begun = Counter(crowd.next().address for _ in range(6))
    assert [begun[f"192.0.2.{number}"] for number in range(1, 5)] == [3, 1, 1, 1]
    # Each place is another's: the first that becomes free is the stranger's.
    [stranger] = coming(worker, "192.0.2.5", 1)
    assert crowd.begun.empty()
    crowd.let_go.release()
    assert crowd.next() is stranger


def test_two_go_on_where_one_place_given_back_is_enough_for_both(
    worker: BufferingWorker, crowd: Crowd
):
    ended = Event()

    def handle_first(conn: Connection) -> bool:
        worker.handle = crowd.handle  # type: ignore[method-assign]
        ended.wait(PATIENCE_SECONDS)
        return True

    worker.open_places(4)
    worker.handle = handle_first  # type: ignore[method-assign]
    coming(worker, "192.0.2.1", 1)
    until(lambda: worker.handle == crowd.handle)
    coming(worker, "192.0.2.2", 1)
    crowd.next()
    waiting = coming(worker, "192.0.2.2", 1) + coming(worker, "192.0.2.1", 1)
    assert crowd.begun.empty()
    ended.set()
    assert {crowd.next(), crowd.next()} == set(waiting)


@pytest.mark.parametrize("in_line", [True, False])
def test_of_too_many_connections_those_of_the_longest_line_make_room(
    worker: BufferingWorker, crowd: Crowd, in_line: bool
):
    many = coming(worker, "192.0.2.1", 8)
    few = coming(worker, "192.0.2.2", 1)
    for conn in many + few:
        conn.phase = Phase.WORK
    idle = [waiting(worker, 0, 0) for _ in range(1 if in_line else 20)]
    worker.worker_connections = len(worker.connections) + 1
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        worker.accept(listener)
    closed = {*many, *few, *idle} - worker.connections
    assert closed <= ({many[-1]} if in_line else {*idle})
    assert len(closed) == 1
    assert worker.nr_conns < worker.worker_connections
    for conn in many + few:
        conn.phase = Phase.HELD


def test_others_work_in_place_of_a_thread_that_says_that_it_waits(
    worker: BufferingWorker, crowd: Crowd
):
    most = web_worker.WITHOUT_PLACE
    many = coming(worker, "192.0.2.1", most + 3)
    for n in range(most):
        conn = crowd.next()
        assert conn is many[n]
        conn.buffers.place.stand_aside()
        # It does so once.
        conn.buffers.place.stand_aside()
    last = [crowd.next(), crowd.next()]
    assert last == many[most:-1]
    # Of more than these each keeps its place: they would need more threads.
    last[0].buffers.place.stand_aside()
    assert crowd.begun.empty()
    assert worker.turns.under_way.total() == 2
    crowd.let_go.release(most + 3)
    # A connection gives its place up before the turn of its work ends.
    until(lambda: not worker.turns.under_way.total() and not worker.turns.aside)
    assert all(conn.buffers.place is None for conn in many)


def test_a_thread_that_is_nearly_done_passes_its_place_to_one_that_waited(
    worker: BufferingWorker, crowd: Crowd
):
    [waited] = coming(worker, "192.0.2.1", 1)
    crowd.next().buffers.place.stand_aside()
    [first] = coming(worker, "192.0.2.2", 1)
    crowd.next()
    for _ in range(2):
        first.buffers.place.pass_to(waited.buffers.place)
        assert worker.turns.under_way == {waited.caller: 1}
    assert {work.request for work in worker.turns.aside} == {first}
    crowd.let_go.release(2)
    until(lambda: not worker.turns.aside and not worker.turns.under_way)


def test_what_is_late_is_told_so_by_a_thread_of_its_own(
    worker: BufferingWorker, crowd: Crowd, settings: Any
):
    settings.PARTNER_API_MAX_SECONDS = 0.1
    many = coming(worker, "192.0.2.1", 3)
    assert [crowd.next(), crowd.next()] == many[:2]

    def is_the_line_empty() -> bool:
        worker.wait_for_and_dispatch_events(1.0)
        return not worker.turns.lines

    until(is_the_line_empty)
    assert crowd.next() is many[2]


def test_beyond_64_megabytes_the_newest_of_the_longest_line_is_refused(
    worker: BufferingWorker, crowd: Crowd
):
    small = coming(worker, "192.0.2.2", 3)
    large = []
    for _ in range(2 + 7):
        [conn] = coming(worker, "192.0.2.1", 1)
        large.append(conn)
        conn.phase = Phase.WORK
        conn.buffers.received += bytes(10 * 1024 * 1024)
        worker.weigh(conn)
    assert worker.held <= web_worker.HELD_BYTES
    line = worker.turns.lines["address:192.0.2.1"]
    assert [work.request for work in line] == large[1:6]
    assert [w.request for w in worker.turns.lines["address:192.0.2.2"]] == small[2:]
    for conn in large:
        conn.phase = Phase.HELD


@pytest.mark.parametrize(
    ("moved", "late", "overdue"),
    [(0, -1, False), (64 * 1024, 0, False), (64 * 1024, 1, True), (100_000, 3, False)],
)
def test_an_answer_has_a_minute_and_ten_kilobytes_a_second(
    moved: int, late: float, overdue: bool, worker: BufferingWorker
):
    conn = waiting(worker, 1_000, moved)
    assert conn.is_overdue(conn.deadline + late) is overdue


def test_a_spent_budget_leaves_a_long_body_unread(
    django_db_setup: None, tmp_path: Path
):
    spent = {
        "PARTNER_API_ANONYMOUS_BUDGET_POINTS": "100",
        "PARTNER_API_ANONYMOUS_BUDGET_REFILL": "1",
        "PARTNER_API_TRUSTED_PROXIES": "1",
    }
    head = HEAD.replace(b"\r\n\r\n", b"\r\nX-Forwarded-For: %b\r\n\r\n")
    with serving(1, spent, tmp_path) as server:
        # To refuse so many kilobytes costs all that it has.
        many = orjson.dumps({"query": "{" + " __typename" * 1_000 + "}"}).ljust(92_000)
        with connect(server, head % (len(many), b"192.0.2.7")) as client:
            client.sendall(many)
            assert b"MAX_ALIASES_EXCEEDED" in answer_on(client)[1]
        # Not a byte of the body has come.
        with connect(server, head % (900_000, b"192.0.2.7")) as client:
            status, body = answer_on(client)
            assert (status, b'"THROTTLED"' in body) == (429, True)
            assert client.recv(1) == b""
        # Others' bodies are waited for.
        blanks = TYPENAME + b" " * 50_000
        with connect(server, head % (len(blanks), b"192.0.2.8")) as client:
            client.sendall(blanks)
            assert answer_on(client)[0] == 200
