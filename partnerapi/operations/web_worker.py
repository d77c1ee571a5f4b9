"""A worker of gunicorn whose threads never wait for a client.

The poller receives whole requests and sends answers. A thread gets a request only after
its last byte, and leaves its answer in memory. A streamed answer comes piece by piece:
the next piece once the one before it is sent. So slow clients, however many there are,
hold no thread. Their time, bytes and connections are bounded. TLS ends in the proxy.

Python's threads take turns on one processor, and each further turn costs time. So no
more of them work at once than there are connections to the database. Callers take turns
before they get a thread (`turns.py`): no caller waits for a connection behind all
requests of another. A request that will wait for something else gives up its place.
Those who stop their orders have a lane of one thread, where callers take turns, too.
"""

import errno
import selectors
import socket
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from time import monotonic
from typing import Any

from django.conf import settings
from gunicorn.errors import ConfigError
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

from partnerapi.gateway.requests import Wait
from partnerapi.operations.parking import Parking
from partnerapi.operations.turns import Turns, Work
from partnerapi.operations.web_connection import (
    HEAD_BYTES,
    HEAD_SECONDS,
    SEND_BYTES,
    Connection,
    Phase,
    Stream,
)

SEND_SECONDS = 60.0
"""The first SEND_BYTES of an answer may take so long."""
LINGER_SECONDS = 2.0
HELD_BYTES = 64 * 1024 * 1024
"""Requests and answers that wait in a process."""
RECEIVE_BYTES = 64 * 1024
CONTENT_TYPE_LENGTH = 1_000
"""Characters."""
LOOK_SECONDS = 0.1
"""So often it is looked whether what waits is late."""
SIGN_INS = 3
"""As many are in hand at once."""
WITHOUT_PLACE = SIGN_INS + 100
"""Threads that may wait without a place: sign-ins, and orders that go together."""
CROWDED_SECONDS = 1.0
"""A request that finds no place to wait for events is answered after so long."""
STAYING = (Phase.WORK, Phase.PARKED)
"""Connections whose slowness is not their client's."""
Application = Callable[[dict[str, Any], Any], Any]
HEALTH = b"GET /healthz "
"""Answered here: where all threads wait for a database, the process answers still."""
ASIDE = (b"GET /schema.graphql ", b"GET /static/")
"""These need no database, and have a thread that only requests get that are late."""
READY = (b"GET /readyz ", b"HEAD /readyz ", b"GET /readyz?")
"""This has another, and a connection of its own: load cannot keep it from answering."""
HEALTHY = (
    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    b"Cache-Control: no-store\r\nContent-Length: 3\r\n\r\nok\n"
)
EMPTY = "HTTP/1.1 {}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Place:
    """A request's place among those that are handled at once, for its own thread."""

    def __init__(self, worker: "BufferingWorker", work: Work[Connection]) -> None:
        self.worker = worker
        self.work = work

    def stand_aside(self) -> None:
        """Give the place to other threads: this one will wait."""
        self.worker.stand_aside(self.work)

    def park(self, wait: Wait) -> bool:
        """Keep the request for later; False: it must be answered now."""
        return self.worker.park(self.work.request, wait)

    def pass_to(self, other: "Place") -> None:
        """Give the place to another that stood aside: this one is nearly done."""
        self.worker.pass_place(self.work, other.work)


class BufferingWorker(ThreadWorker):  # type: ignore[misc]
    """gthread, but for how requests come in and answers go out."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.connections: set[Connection] = set()
        self.by_address: Counter[str] = Counter()
        self.held = 0
        self.looked_at = 0.0
        self.aside, self.observer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self.turns: Turns[Connection] = Turns(0)
        self.stops: Turns[Connection] = Turns(1)
        self.stopper = ThreadPoolExecutor(1)
        self.waited: Callable[[float], None] = lambda seconds: None
        self.taken: Callable[[str], float] = lambda caller: 0.0
        self.turn = threading.Lock()
        self.parking = Parking(
            self.worker_connections, self.method_queue.defer, self.wake
        )

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        super().check_config(cfg, log)
        if cfg.is_ssl:
            raise ConfigError(
                "This worker does not support TLS; put a proxy in front of it."
            )
        # Files go through memory, as answers do.
        cfg.set("sendfile", False)

    def load_wsgi(self) -> None:
        super().load_wsgi()
        # gunicorn's master loads this module, and has read no settings.
        from partnerapi.core.metrics import TURN_SECONDS
        from partnerapi.gateway.clock import taken

        self.taken = taken
        self.waited = TURN_SECONDS.observe
        self.wsgi = leaving_streams(cutting_content_types(self.app.wsgi()))
        self.open_places(settings.PARTNER_API_DATABASE_CONNECTIONS)

    def open_places(self, places: int) -> None:
        """Set how many requests are handled at once."""
        self.turns = Turns(places, WITHOUT_PLACE, self.taken)
        threads = max(self.cfg.threads, places + WITHOUT_PLACE)
        self.tpool = ThreadPoolExecutor(threads)

    def accept(self, listener: socket.socket) -> None:
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                return
            raise
        # With one place left: at the limit gunicorn would accept no one.
        if self.nr_conns >= self.worker_connections - 1:
            self.make_room()
        conn = Connection(self.cfg, client, address, listener.getsockname())
        self.nr_conns += 1
        self.connections.add(conn)
        self.by_address[conn.address] += 1
        most = settings.PARTNER_API_CONNECTIONS_PER_ADDRESS
        is_one_too_many = conn.address and self.by_address[conn.address] > most
        # It may be a proxy's, of which one caller has sent most of what waits.
        if is_one_too_many and not self.shed(lambda one: one.address == conn.address):
            self.drop(conn)
            return
        self.receive(conn)

    def watch(self, conn: Connection, events: int) -> None:
        """Watch a connection for these events, or stop watching it."""
        if events == conn.events:
            return
        if not events:
            self.poller.unregister(conn.socket)
        elif conn.events:
            self.poller.modify(conn.socket, events, lambda _: self.go_on(conn))
        else:
            self.poller.register(conn.socket, events, lambda _: self.go_on(conn))
        conn.events = events

    def go_on(self, conn: Connection) -> None:
        match conn.phase:
            case Phase.SEND:
                self.send(conn)
            case Phase.LINGER:
                self.linger(conn)
            case Phase.PARKED:
                self.receive_ahead(conn)
            case _:
                self.receive(conn)

    def receive(self, conn: Connection) -> None:
        try:
            data = conn.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            self.watch(conn, selectors.EVENT_READ)
            return
        except OSError:
            data = b""
        if not data and conn.phase is Phase.BODY:
            # The application says what is missing, to a client that may still read.
            conn.give_up()
        elif not data:
            self.drop(conn)
            return
        if conn.phase is Phase.IDLE:
            conn.begin(Phase.HEAD, HEAD_SECONDS)
        conn.buffers.received += data
        conn.moved += len(data)
        self.dispatch(conn)

    def receive_ahead(self, conn: Connection) -> None:
        """Notice the end of a connection, or what follows a request that waits."""
        try:
            data = conn.socket.recv(HEAD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.drop(conn)
            return
        conn.buffers.received += data
        self.watch(conn, 0)
        self.weigh(conn)

    def dispatch(self, conn: Connection) -> None:
        """Give a thread the request if it is whole."""
        if conn.buffers.received.startswith(HEALTH) and conn.is_whole():
            self.answer_at_once(conn, HEALTHY)
        elif conn.is_whole():
            self.watch(conn, 0)
            conn.begin(Phase.WORK, 0)
            self.enqueue_req(conn)
        elif conn.body_at is None and len(conn.buffers.received) > HEAD_BYTES:
            self.refuse(conn, "431 Request Header Fields Too Large")
        else:
            conn.send()
            self.watch(conn, selectors.EVENT_READ)
        self.weigh(conn)

    def enqueue_req(self, conn: Connection) -> None:
        if conn.buffers.received.startswith(ASIDE):
            self.aside.submit(self.answer, conn)
        elif conn.buffers.received.startswith(READY):
            self.observer.submit(self.answer, conn)
        else:
            conn.caller = conn.called_by()
            come = conn.buffers.whole_at = monotonic()
            conn.buffers.is_late = False
            due = come + settings.PARTNER_API_MAX_SECONDS
            lane = self.stops if conn.stops_orders() else self.turns
            self.join(Work(conn, conn.caller, self.answer, come, due), lane)

    def join(self, work: Work[Connection], lane: Turns[Connection]) -> None:
        with self.turn:
            lane.join(work)
        self.call_threads()

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        timeout = self.parking.most_seconds(timeout)
        super().wait_for_and_dispatch_events(
            min(timeout, LOOK_SECONDS)
            if self.turns.lines or self.stops.lines
            else timeout
        )
        self.parking.look(monotonic())
        with self.turn:
            now = monotonic()
            late = [*self.turns.late(now), *self.stops.late(now)]
        for work in late:
            work.request.buffers.is_late = True
            self.aside.submit(work.do, work.request)
        self.call_threads()

    def call_threads(self) -> None:
        """Start threads for the next requests, as long as a place is free."""
        for lane, threads in ((self.stops, self.stopper), (self.turns, self.tpool)):
            while True:
                with self.turn:
                    work = lane.take()
                if work is None:
                    break
                threads.submit(self.work, work, lane)

    def stand_aside(self, work: Work[Connection]) -> None:
        """Give the place of a thread that will wait to other requests."""
        with self.turn:
            self.turns.stand_aside(work)
        self.call_threads()

    def pass_place(self, work: Work[Connection], heir: Work[Connection]) -> None:
        with self.turn:
            self.turns.pass_place(work, heir)

    def work(self, first: Work[Connection], lane: Turns[Connection]) -> None:
        """Do this work, and what is next whenever it is done."""
        work: Work[Connection] | None = first
        while work is not None:
            conn = work.request
            self.waited(monotonic() - work.come)
            # In the lane of one thread no one stands aside.
            conn.buffers.place = Place(self, work) if lane is self.turns else None
            conn.keep_request()
            try:
                work.do(conn)
            finally:
                with self.turn:
                    lane.end(work)
            with self.turn:
                work = lane.take()
            if work is not None:
                # One place more may have let two callers have another.
                self.call_threads()

    def answer(self, conn: Connection) -> None:
        conn.keep = False
        try:
            conn.keep = bool(self.handle(conn))
        finally:
            # From then on another thread may have the connection's next work.
            conn.buffers.place = None
            self.method_queue.defer(self.finish_request, conn)

    def park(self, conn: Connection, wait: Wait) -> bool:
        """Whether the request is kept until there is an event; in its thread.

        Where too many wait, it is answered after a second.
        """
        now = monotonic()
        conn.waits_until = conn.waits_until or now + wait.seconds
        if now >= conn.waits_until or not self.alive:
            return False
        if not (conn.request and self.parking.admit(wait)):
            conn.buffers.hold(CROWDED_SECONDS)
            return False
        conn.wait = wait
        return True

    def wake(self, conn: Connection) -> None:
        """Have a request that was parked take its turn, as if it came now."""
        self.leave_parking(conn)
        self.watch(conn, 0)
        conn.begin(Phase.WORK, 0)
        self.enqueue_req(conn)

    def leave_parking(self, conn: Connection) -> None:
        self.parking.release(conn)
        self.by_address[conn.address] += 1

    def handle(self, conn: Connection) -> Any:
        begun = len(conn.buffers.answer)
        keep = super().handle(conn)
        if conn.wait is not None:
            del conn.buffers.answer[begun:]
            conn.forget_answering()
            return keep
        if conn.buffers.held_seconds:
            conn.begin(Phase.HELD, conn.buffers.held_seconds)
            conn.buffers.held_seconds = 0.0
            return keep
        # Most answers go at once, and the poller has nothing to do.
        conn.begin(Phase.SEND, SEND_SECONDS)
        conn.send()
        return keep

    def finish_request(self, conn: Connection) -> None:
        if conn.wait is not None:
            wait, conn.wait = conn.wait, None
            conn.begin(Phase.PARKED, 0)
            conn.deadline = conn.waits_until
            self.leave_address(conn)
            self.parking.keep(conn, wait)
            self.watch(conn, selectors.EVENT_READ)
            self.weigh(conn)
        elif conn.phase is Phase.HELD:
            self.weigh(conn)
        else:
            self.send(conn)

    def send(self, conn: Connection) -> None:
        conn.send()
        if conn.broken:
            self.drop(conn)
        elif conn.buffers.answer:
            self.watch(conn, selectors.EVENT_WRITE)
            self.weigh(conn)
        elif conn.buffers.stream is not None:
            self.watch(conn, 0)
            conn.phase = Phase.WORK
            work = Work(conn, conn.caller, self.read_on, monotonic(), inf)
            self.join(work, self.turns)
        elif conn.keep:
            # What came behind the request is the beginning of the next.
            parser: Any = conn.parser
            conn.buffers.received[:0] = parser.unreader.take_buffered()
            conn.await_request()
            conn.begin(Phase.IDLE, self.cfg.keepalive)
            if conn.buffers.received:
                conn.begin(Phase.HEAD, HEAD_SECONDS)
            self.dispatch(conn)
        else:
            conn.begin(Phase.LINGER, LINGER_SECONDS)
            try:
                conn.socket.shutdown(socket.SHUT_WR)
            except OSError:
                self.drop(conn)
                return
            conn.buffers.received.clear()
            self.weigh(conn)
            self.linger(conn)

    def read_on(self, conn: Connection) -> None:
        """Read the next piece of an answer; in a thread."""
        is_read = False
        try:
            conn.read_on()
            is_read = True
        finally:
            conn.buffers.place = None
            self.method_queue.defer(self.send_on, conn, is_read)

    def send_on(self, conn: Connection, is_read: bool) -> None:
        # With the time that the whole answer has.
        conn.phase = Phase.SEND
        if is_read:
            self.send(conn)
        else:
            # What is missing, the client sees by the length.
            self.log.error("A response ended early: its next part could not be read.")
            self.drop(conn)

    def linger(self, conn: Connection) -> None:
        try:
            ended = not conn.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            ended = False
        except OSError:
            ended = True
        if ended:
            self.drop(conn)
        else:
            self.watch(conn, selectors.EVENT_READ)

    def refuse(self, conn: Connection, status: str) -> None:
        self.answer_at_once(conn, EMPTY.format(status).encode())

    def answer_at_once(self, conn: Connection, answer: bytes) -> None:
        """Send an answer that needs no thread, and end the connection."""
        conn.buffers.answer += answer
        conn.keep = False
        conn.begin(Phase.SEND, LINGER_SECONDS)
        self.send(conn)

    def drop(self, conn: Connection) -> None:
        if conn not in self.connections:
            return
        if conn.phase is Phase.PARKED:
            self.leave_parking(conn)
        self.watch(conn, 0)
        conn.socket.close()
        conn.end_stream()
        self.connections.remove(conn)
        self.leave_address(conn)
        self.held -= conn.held
        self.nr_conns -= 1

    def leave_address(self, conn: Connection) -> None:
        self.by_address[conn.address] -= 1
        if not self.by_address[conn.address]:
            del self.by_address[conn.address]

    def weigh(self, conn: Connection) -> None:
        """Count what the connection holds; beyond the limit the slowest is closed."""
        if conn not in self.connections:
            return
        held = len(conn.buffers.received) + len(conn.buffers.answer)
        self.held += held - conn.held
        conn.held = held
        while self.held > HELD_BYTES and (
            self.drop_slowest(SEND_BYTES) or self.shed(lambda conn: conn.held)
        ):
            pass

    def make_room(self) -> None:
        """Close a connection, or refuse a request, of those that are the most."""
        with self.turn:
            in_line = sum(map(len, self.turns.lines.values()))
        if 2 * in_line < self.nr_conns or not self.shed(lambda conn: True):
            self.drop_slowest(0)

    def drop_slowest(self, least: int) -> bool:
        """Close the slowest connection that holds so many bytes; False: there is none.

        Silent connections are closed before slow ones.
        """
        now = monotonic()
        waiting = [
            conn
            for conn in self.connections
            if conn.phase not in STAYING and conn.held >= least
        ]
        if not waiting:
            return False
        self.drop(min(waiting, key=lambda conn: (conn.speed(now), conn.since)))
        return True

    def shed(self, weight: Callable[[Connection], int]) -> bool:
        """Refuse the newest request of the line that weighs the most; False: none."""
        with self.turn:
            work = self.turns.shed(weight)
        if work is None:
            return False
        conn = work.request
        if conn.buffers.stream is None:
            conn.buffers.received.clear()
            self.refuse(conn, "503 Service Unavailable")
        self.drop(conn)
        return True

    def murder_keepalived(self, force: bool = False) -> None:
        """Close connections whose time is over; called in each turn of the loop."""
        now = monotonic()
        if not force and now - self.looked_at < 0.5:
            return
        self.looked_at = now
        for conn in list(self.connections):
            if force and conn.phase is not Phase.WORK:
                self.drop(conn)
            elif conn.is_overdue(now):
                if conn.phase in (Phase.HEAD, Phase.BODY):
                    self.refuse(conn, "408 Request Timeout")
                elif conn.phase is Phase.PARKED:
                    self.wake(conn)
                elif conn.phase is Phase.HELD:
                    conn.begin(Phase.SEND, SEND_SECONDS)
                    self.send(conn)
                else:
                    self.drop(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        for conn in list(self.connections):
            if conn.phase is Phase.PARKED:
                self.wake(conn)
            elif conn.phase is Phase.IDLE:
                latest = monotonic() + STOP_KEEPALIVE_LINGER
                conn.deadline = min(conn.deadline, latest)


def cutting_content_types(application: Application) -> Application:
    """An application that is given the beginning of a Content-Type.

    Django takes it apart before anything else, in time that grows with its square.
    """

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        if "CONTENT_TYPE" in environ:
            environ["CONTENT_TYPE"] = environ["CONTENT_TYPE"][:CONTENT_TYPE_LENGTH]
        return application(environ, start_response)

    return answer


def leaving_streams(application: Application) -> Application:
    """An application whose streamed answers are left to their connections."""

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        response = application(environ, start_response)
        # Without a length gunicorn sends chunks, which it makes itself.
        if not (
            getattr(response, "streaming", False)
            and response.has_header("Content-Length")
            and environ["REQUEST_METHOD"] != "HEAD"
        ):
            return response
        environ["gunicorn.socket"].stream = Stream(response)
        return ()

    return answer
