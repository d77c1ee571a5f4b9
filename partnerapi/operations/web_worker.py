"""A worker of gunicorn whose threads never wait for a client.

The poller takes in whole requests and sends answers; a thread sees a request only when
its last byte is there, and leaves its answer in memory. So clients that send or read
slowly, however many they are, hold no thread. What they hold is bounded: time, bytes,
connections. TLS ends in the proxy.
"""

import errno
import re
import selectors
import socket
from collections import Counter
from concurrent.futures import Future
from enum import Enum, auto
from time import monotonic
from typing import Any

from django.conf import settings
from gunicorn.errors import ConfigError
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

HEAD_BYTES = 16 * 1024
HEAD_SECONDS = 5.0
BODY_SECONDS = 10.0
UPLOAD_BYTES = 16 * 1024 * 1024
"""Largest body that staff may send to the back office."""
UPLOAD_SECONDS = 60.0
SEND_SECONDS = 60.0
"""The first SEND_BYTES of an answer may take so long."""
SEND_BYTES = 64 * 1024
SEND_BYTES_PER_SECOND = 10_000
LINGER_SECONDS = 2.0
HELD_BYTES = 64 * 1024 * 1024
"""Requests and answers that wait in a process."""
RECEIVE_BYTES = 64 * 1024

CONTENT_LENGTH = re.compile(
    rb"^content-length:[ \t]*([0-9]{1,18})[ \t]*\r$", re.I | re.M
)
TRANSFER_ENCODING = re.compile(rb"^transfer-encoding:", re.I | re.M)
EXPECT = re.compile(rb"^expect:[ \t]*100-continue[ \t]*\r\n", re.I | re.M)
CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
EMPTY = "HTTP/1.1 {}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Buffers:
    """What gunicorn takes for a socket: bytes that have come, bytes that are to go."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.answer = bytearray()

    def recv(self, size: int) -> bytes:
        taken = bytes(self.received[:size])
        del self.received[:size]
        return taken

    def sendall(self, data: bytes) -> None:
        self.answer += data

    def send(self, data: bytes) -> int:
        self.answer += data
        return len(data)

    def setblocking(self, blocking: bool) -> None:
        pass

    def gettimeout(self) -> None:
        pass

    def settimeout(self, seconds: float | None) -> None:
        pass

    def shutdown(self, how: int) -> None:
        pass

    def close(self) -> None:
        pass


class Phase(Enum):
    IDLE = auto()
    """Nothing has come of the next request."""
    HEAD = auto()
    BODY = auto()
    WORK = auto()
    """A thread has it."""
    SEND = auto()
    LINGER = auto()
    """Everything is sent; what still comes is thrown away, so that nothing is lost."""


class Connection(TConn):  # type: ignore[misc]
    """A client's connection; `moved` bytes have come or gone in this phase."""

    def __init__(self, cfg: Any, client: socket.socket, address: Any, server: Any):
        super().__init__(cfg, client, address, server)
        self.socket = client
        self.sock = self.buffers = Buffers()
        self.address = address[0] if isinstance(address, tuple) else ""
        self.events = 0
        self.held = 0
        self.keep = False
        self.broken = False
        self.begin(Phase.HEAD, HEAD_SECONDS)
        self.await_request()

    def begin(self, phase: Phase, seconds: float) -> None:
        self.phase, self.since, self.moved = phase, monotonic(), 0
        self.deadline = self.since + seconds

    def await_request(self) -> None:
        self.data_ready = True
        self.initialized, self.parser = False, None
        self.body_at: int | None = None
        self.length: int | None = None
        self.chunk_at = 0

    def is_overdue(self, now: float) -> bool:
        if self.phase is Phase.WORK or now < self.deadline:
            return False
        late = now - self.deadline
        wanted = SEND_BYTES + late * SEND_BYTES_PER_SECOND
        return self.phase is not Phase.SEND or self.moved < wanted

    def speed(self, now: float) -> float:
        return self.moved / (now - self.since + 0.001)

    def is_whole(self) -> bool:
        """Whether a thread can have the request: it is there, or can not be right."""
        received = self.buffers.received
        if self.body_at is None:
            end = received.find(b"\r\n\r\n")
            if end < 0:
                return False
            self.read_head(end + 4)
        assert self.body_at is not None
        if self.length is None:
            return self.has_last_chunk()
        return len(received) >= self.body_at + self.length

    def read_head(self, end: int) -> None:
        received = self.buffers.received
        head = bytes(received[:end])
        expected = EXPECT.search(head)
        if expected:
            del received[expected.start() : expected.end()]
            head = bytes(received[: end - len(expected[0])])
        lengths = CONTENT_LENGTH.findall(head)
        self.body_at = self.chunk_at = len(head)
        self.length = int(lengths[0]) if len(lengths) == 1 else 0
        upload = head.startswith((b"POST /admin/", b"PUT /admin/"))
        most = UPLOAD_BYTES if upload else settings.PARTNER_API_MAX_BODY_BYTES
        if TRANSFER_ENCODING.search(head):
            self.length = None
        elif self.length > most:
            # The application refuses it by its length.
            self.give_up()
            return
        self.begin(Phase.BODY, UPLOAD_SECONDS if upload else BODY_SECONDS)
        if expected and len(received) == self.body_at:
            self.buffers.answer += CONTINUE

    def give_up(self) -> None:
        """Hand over what is there, and close the connection after the answer."""
        assert self.body_at is not None
        self.buffers.received[self.body_at - 2 : self.body_at - 2] = (
            b"Connection: close\r\n"
        )
        self.body_at += len(b"Connection: close\r\n")
        self.chunk_at = self.body_at
        self.length = 0

    def has_last_chunk(self) -> bool:
        received = self.buffers.received
        assert self.body_at is not None
        if len(received) - self.body_at > settings.PARTNER_API_MAX_BODY_BYTES + 1:
            self.give_up()
            return True
        while self.chunk_at < len(received):
            end = received.find(b"\r\n", self.chunk_at)
            if end < 0:
                return False
            size = CHUNK_SIZE.fullmatch(received, self.chunk_at, end)
            if size is None:
                return True
            if int(size[1], 16) == 0:
                return received.find(b"\r\n\r\n", end) >= 0
            self.chunk_at = end + 2 + int(size[1], 16) + 2
        return False

    def send(self) -> None:
        """Send what goes without waiting."""
        answer = self.buffers.answer
        try:
            while answer:
                sent = self.socket.send(answer)
                del answer[:sent]
                self.moved += sent
        except BlockingIOError:
            pass
        except OSError:
            self.broken = True


class BufferingWorker(ThreadWorker):  # type: ignore[misc]
    """gthread, but for how requests come in and answers go out."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.connections: set[Connection] = set()
        self.by_address: Counter[str] = Counter()
        self.held = 0
        self.looked_at = 0.0

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        super().check_config(cfg, log)
        if cfg.is_ssl:
            raise ConfigError("This worker speaks no TLS; a proxy before it does.")
        # Files go through memory, as answers do.
        cfg.set("sendfile", False)

    def accept(self, listener: socket.socket) -> None:
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                return
            raise
        # With one place left: at the limit gunicorn would accept nobody.
        if self.nr_conns >= self.worker_connections - 1:
            self.drop_slowest(0)
        conn = Connection(self.cfg, client, address, listener.getsockname())
        self.nr_conns += 1
        self.connections.add(conn)
        self.by_address[conn.address] += 1
        most = settings.PARTNER_API_CONNECTIONS_PER_ADDRESS
        if conn.address and self.by_address[conn.address] > most:
            self.drop(conn)
            return
        self.receive(conn)

    def watch(self, conn: Connection, events: int) -> None:
        """Have the poller wait for these events of a connection, or for none."""
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

    def dispatch(self, conn: Connection) -> None:
        """Give a thread the request if it is whole."""
        if conn.is_whole():
            self.watch(conn, 0)
            conn.begin(Phase.WORK, 0)
            self.enqueue_req(conn)
        elif conn.body_at is None and len(conn.buffers.received) > HEAD_BYTES:
            self.refuse(conn, "431 Request Header Fields Too Large")
        else:
            conn.send()
            self.watch(conn, selectors.EVENT_READ)
        self.weigh(conn)

    def handle(self, conn: Connection) -> Any:
        keep = super().handle(conn)
        # Most answers go at once, and the poller has nothing to do.
        conn.begin(Phase.SEND, SEND_SECONDS)
        conn.send()
        return keep

    def finish_request(self, conn: Connection, done: Future[Any]) -> None:
        failed = done.cancelled() or done.exception() is not None
        conn.keep = not failed and bool(done.result())
        self.send(conn)

    def send(self, conn: Connection) -> None:
        conn.send()
        if conn.broken:
            self.drop(conn)
        elif conn.buffers.answer:
            self.watch(conn, selectors.EVENT_WRITE)
            self.weigh(conn)
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
        conn.buffers.answer += EMPTY.format(status).encode()
        conn.keep = False
        conn.begin(Phase.SEND, LINGER_SECONDS)
        self.send(conn)

    def drop(self, conn: Connection) -> None:
        if conn not in self.connections:
            return
        self.watch(conn, 0)
        conn.socket.close()
        self.connections.remove(conn)
        self.by_address[conn.address] -= 1
        if not self.by_address[conn.address]:
            del self.by_address[conn.address]
        self.held -= conn.held
        self.nr_conns -= 1

    def weigh(self, conn: Connection) -> None:
        """Count what the connection holds; beyond the limit the slowest is closed."""
        if conn not in self.connections:
            return
        held = len(conn.buffers.received) + len(conn.buffers.answer)
        self.held += held - conn.held
        conn.held = held
        while self.held > HELD_BYTES and self.drop_slowest(SEND_BYTES):
            pass

    def drop_slowest(self, least: int) -> bool:
        """Close the slowest connection that holds so many bytes; False: there is none.

        Who has nothing to say goes before who speaks slowly.
        """
        now = monotonic()
        waiting = [
            conn
            for conn in self.connections
            if conn.phase is not Phase.WORK and conn.held >= least
        ]
        if not waiting:
            return False
        self.drop(min(waiting, key=lambda conn: (conn.speed(now), conn.since)))
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
                else:
                    self.drop(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        for conn in self.connections:
            if conn.phase is Phase.IDLE:
                latest = monotonic() + STOP_KEEPALIVE_LINGER
                conn.deadline = min(conn.deadline, latest)
