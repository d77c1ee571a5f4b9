"""Slow clients of the web server, beside one that is not slow.

Run it with `python -m tests.chaos.slow_clients`. 40, 200, then 1,000 clients from
twenty addresses of this machine send a byte of a head every second, or of a body, or
read an answer of 2 MB a kilobyte a second. A client that is cut off returns after
ten seconds. Meanwhile another client asks for a page, each time on a new connection. It
ends with exit code 1 when one of its requests fails, or when its 99th percentile is
above three times that of a server that no one else asks.

It wants a quiet machine: the clients take part of it, too.
"""

import argparse
import contextlib
import heapq
import http.client
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from threading import Event, Thread

import orjson
from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

NUMBERS = (40, 200, 1_000)
MOST_TIMES = 3.0
ADDRESSES = 20
PAUSE_SECONDS, AGAIN_SECONDS = 1.0, 10.0
START_SECONDS = 5.0
"""The clients come one after the other, so that it is not their coming that is felt."""
SLOW_BYTES = 1_000
WORKERS = 2
USUAL = {
    "PARTNER_API_ANONYMOUS_BUDGET_POINTS": "10000",
    "PARTNER_API_ANONYMOUS_BUDGET_REFILL": "100",
}
PAGE = orjson.dumps({"query": "{ issuers(first: 10) { nodes { id slug website } } }"})
LARGE = orjson.dumps(
    {
        "query": "{ issuers(first: 100) { nodes {"
        + " ".join(f"a{n}: description" for n in range(90))
        + "} } }"
    }
)
HEAD = (
    b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)
MESSAGES = {
    "head": (b"", HEAD % len(PAGE)),
    "body": (HEAD % len(PAGE), PAGE),
    "answer": (HEAD % len(LARGE) + LARGE, b""),
}
"""What each kind of client sends at once, and what byte by byte."""


@dataclass
class Slow:
    """A slow client: it sends, or reads, a little each second."""

    kind: str
    address: str
    port: int
    line: socket.socket | None = None
    rest: bytes = b""

    def turn(self) -> float:
        """Do what is due; seconds until the next turn."""
        if self.line is None:
            return self.begin()
        try:
            if self.rest:
                self.line.send(self.rest[:1])
                self.rest = self.rest[1:]
            if self.kind == "answer" or not self.rest:
                if not self.line.recv(SLOW_BYTES):
                    return self.end()
            elif self.is_closed():
                return self.end()
        except BlockingIOError:
            pass
        except OSError:
            return self.end()
        return PAUSE_SECONDS

    def begin(self) -> float:
        at_once, self.rest = MESSAGES[self.kind]
        self.line = socket.socket()
        if self.kind == "answer":
            self.line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self.line.settimeout(1)
        try:
            self.line.bind((self.address, 0))
            self.line.connect(("127.0.0.1", self.port))
            self.line.sendall(at_once)
        except OSError:
            return self.end()
        self.line.setblocking(False)
        return PAUSE_SECONDS

    def is_closed(self) -> bool:
        assert self.line is not None
        with contextlib.suppress(BlockingIOError):
            return not self.line.recv(SLOW_BYTES)
        return False

    def end(self) -> float:
        if self.line:
            self.line.close()
        self.line = None
        return AGAIN_SECONDS


@contextlib.contextmanager
def slow_clients(
    kind: str, number: int, port: int, within: float = START_SECONDS
) -> Iterator[list[Slow]]:
    """So many slow clients, from the moment when the last of them has come."""
    clients = [Slow(kind, f"127.0.0.{2 + n % ADDRESSES}", port) for n in range(number)]
    here, stop = Event(), Event()

    def run() -> None:
        began = time.monotonic()
        due = [(began + within * n / number, n) for n in range(number)]
        came = 0
        while not stop.is_set():
            at, n = due[0]
            if at > (now := time.monotonic()):
                stop.wait(min(at - now, 0.05))
                continue
            came += clients[n].line is None
            heapq.heapreplace(due, (now + clients[n].turn(), n))
            if came >= number:
                here.set()

    thread = Thread(target=run)
    thread.start()
    try:
        assert here.wait(120), f"{kind}: not all clients came"
        yield clients
    finally:
        stop.set()
        thread.join()
        for client in clients:
            client.end()


@dataclass
class Calm:
    """How the other client fared; seconds."""

    latencies: list[float] = field(default_factory=list)
    failures: int = 0
    slow: int = 0

    @property
    def p99(self) -> float:
        return quantiles(self.latencies, n=100)[98]


@dataclass(frozen=True)
class Server:
    """Where a server listens, and the key of the client that is not slow."""

    port: int
    key: str | None


def ask(server: Server) -> bool:
    client = http.client.HTTPConnection("127.0.0.1", server.port, 10)
    headers = {"Content-Type": "application/json"}
    if server.key:
        headers["X-Token-Auth"] = server.key
    try:
        client.request("POST", "/graphql", PAGE, headers)
        answer = client.getresponse()
        return answer.status == 200 and b'"errors"' not in answer.read()
    except OSError:
        return False
    finally:
        client.close()


def calm(server: Server, more: Callable[[Calm], bool]) -> Calm:
    """Ask as long as `more` says so, a hundred times a second at most."""
    found = Calm()
    while more(found):
        began = time.perf_counter()
        found.failures += not ask(server)
        found.latencies.append(time.perf_counter() - began)
        time.sleep(max(0.0, 0.01 - found.latencies[-1]))
    return found


def lasting(seconds: float) -> Callable[[Calm], bool]:
    end = time.monotonic() + seconds
    return lambda found: time.monotonic() < end or len(found.latencies) < 100


def trial(kind: str, number: int, server: Server, seconds: float) -> Calm:
    with slow_clients(kind, number, server.port) as clients:
        found = calm(server, lasting(seconds))
        found.slow = sum(client.line is not None for client in clients)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.slow_clients",
        description=(__doc__ or "").partition("\n\n")[2],
    )
    parser.add_argument("--clients", type=int, nargs="+", default=NUMBERS)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each trial")
    options = parser.parse_args()
    console = Console()
    with throw_away_installation(), tempfile.TemporaryDirectory() as directory:
        from tests.benchmarks.graphql.rows import add_issuers, analyze
        from tests.gateway.conftest import serving

        add_issuers(1, 200)
        analyze()
        key = new_key()
        # The slow ones pay from the budgets of their addresses, as strangers do.
        with serving(WORKERS, USUAL, Path(directory)) as server:
            reached = Server(server.port, key)
            return report(options.clients, options.seconds, reached, console)


def new_key() -> str:
    """A key whose budget does not end."""
    from accounts.keys.models import Partner
    from partnerapi.sandbox.data.approvals import approved_key

    partner = Partner.objects.create(
        login="calm", name="Calm", budget_points=10**9, budget_refill=10**9
    )
    return approved_key(partner, [])[1]


def report(
    numbers: Sequence[int], seconds: float, server: Server, console: Console
) -> int:
    table = Table("Slow clients", "connected", "requests", "failed", "p50", "p99", "×")
    calm(server, lasting(2))
    idle = calm(server, lasting(seconds))
    wrong = 0
    rows = [("nobody", idle)]
    for number in numbers:
        for kind in MESSAGES:
            found = trial(kind, number, server, seconds)
            rows.append((f"{number:,}, {kind}", found))
            again = calm(server, lasting(1))
            wrong += again.failures
    for name, found in rows:
        times = found.p99 / idle.p99
        wrong += found.failures + (times > MOST_TIMES)
        middle = sorted(found.latencies)[len(found.latencies) // 2]
        table.add_row(
            name,
            str(found.slow),
            str(len(found.latencies)),
            str(found.failures),
            f"{middle * 1000:.1f} ms",
            f"{found.p99 * 1000:.1f} ms",
            f"{times:.2f}",
        )
    console.print(table)
    return int(bool(wrong))


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
