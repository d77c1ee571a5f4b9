"""Closed-loop load: each connection sends its next request when it has an answer.

One process over raw sockets. Every answer is compared byte for byte with one that was
checked before. The share of a core that this took is part of the result, so that a
reader can see that it was not the generator that was measured.
"""

import contextlib
import re
import selectors
import socket
import time
from dataclasses import dataclass, field

import orjson

from tests.benchmarks.graphql.answers import WrongAnswer

BUFFER_BYTES = 16 * 1024 * 1024
ANSWER_SECONDS = 60
WARM_SECONDS = 0.5


@dataclass(frozen=True)
class Request:
    """A request as it goes over the wire to a port of this machine."""

    port: int
    bytes: bytes


def make_request(port: int, document: str, headers: dict[str, str]) -> Request:
    body = orjson.dumps({"query": document})
    lines = [
        "POST /graphql HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Accept: application/json",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in headers.items()),
        "\r\n",
    ]
    return Request(port, "\r\n".join(lines).encode() + body)


@dataclass
class Round:
    """What one round of load gave; times are seconds."""

    seconds: float
    latencies: list[float]
    generator_seconds: float
    total: int
    """Answers with those of the time before the counting began."""

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.seconds

    @property
    def generator_share(self) -> float:
        """The part of one core that the generator itself took."""
        return self.generator_seconds / self.seconds


@dataclass
class Client:
    """One connection: a request out, an answer in, as often as it is asked."""

    request: Request
    connection: socket.socket = field(init=False)
    buffer: bytearray = field(default_factory=lambda: bytearray(BUFFER_BYTES))
    received: int = 0
    body_at: int = 0
    length: int = 0
    status: bytes = b""
    sent_at: float = 0.0

    def __post_init__(self) -> None:
        address = ("127.0.0.1", self.request.port)
        self.connection = socket.create_connection(address, timeout=ANSWER_SECONDS)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.view = memoryview(self.buffer)

    def send(self) -> None:
        self.received = self.body_at = 0
        self.sent_at = time.perf_counter()
        self.connection.sendall(self.request.bytes)

    def receive(self) -> bool:
        """Read what has come; whether the answer is whole.

        Raises:
            ConnectionError: the server closed the connection.
            WrongAnswer: its head does not say how long it is.
        """
        count = self.connection.recv_into(self.view[self.received :])
        if not count:
            raise ConnectionError(f"port {self.request.port} closed the connection")
        self.received += count
        if not self.body_at:
            end = self.buffer.find(b"\r\n\r\n", 0, self.received)
            if end < 0:
                return False
            self.read_head(bytes(self.view[:end]))
            self.body_at = end + 4
        return self.received == self.body_at + self.length

    def read_head(self, head: bytes) -> None:
        status_line, _, headers = head.partition(b"\r\n")
        length = re.search(rb"^content-length: *(\d+)", headers, re.I | re.M)
        if length is None:
            raise WrongAnswer(f"an answer without Content-Length: {head.decode()}")
        self.status = status_line.split()[1]
        self.length = int(length[1])

    def exchange(self) -> float:
        """Send, and receive the whole answer; the seconds that it took."""
        self.send()
        while not self.receive():
            pass
        return time.perf_counter() - self.sent_at

    def body(self) -> bytes:
        return bytes(self.view[self.body_at : self.received])

    def has(self, body: bytes) -> bool:
        """Whether the answer is this body with status 200."""
        return (
            self.status == b"200"
            and self.length == len(body)
            and self.buffer.startswith(body, self.body_at)
        )


def ask(request: Request) -> bytes:
    """The body of one answer, on a connection of its own.

    Raises:
        WrongAnswer: its status is not 200.
    """
    client = Client(request)
    with client.connection:
        client.exchange()
        if client.status != b"200":
            said = f"{client.status.decode()}: {client.body()[:1000].decode()}"
            raise WrongAnswer(f"port {request.port} answered {said}")
        return client.body()


def load(request: Request, body: bytes, connections: int, seconds: float) -> Round:
    """Ask for a while, and report on what came after the first WARM_SECONDS.

    Raises:
        WrongAnswer: an answer is not this body, with status 200.
    """
    clients = [Client(request) for _ in range(connections)]
    latencies: list[float] = []
    with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
        for client in clients:
            stack.enter_context(client.connection)
            selector.register(client.connection, selectors.EVENT_READ, client)
            client.send()
        began = time.perf_counter() + WARM_SECONDS
        worked, total = None, 0
        while (now := time.perf_counter()) < began + seconds or not latencies:
            if worked is None and now >= began:
                worked = time.process_time()
            ready = selector.select(ANSWER_SECONDS)
            if not ready:
                raise WrongAnswer(f"no answer in {ANSWER_SECONDS} s")
            for key, _ in ready:
                client = key.data
                if not client.receive():
                    continue
                answered = time.perf_counter()
                if not client.has(body):
                    raise WrongAnswer(f"another answer: {client.body()[:300]!r}")
                total += 1
                if worked is not None:
                    latencies.append(answered - client.sent_at)
                client.send()
    spent = time.process_time() - (worked or 0)
    return Round(now - began, latencies, spent, total)
