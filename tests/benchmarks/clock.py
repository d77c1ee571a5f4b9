"""One caller that always has a costly document on each of its connections.

Run it with `python -m tests.benchmarks.clock`; `--events 10000000 --minutes 10` is the
long form. The caller has this many events, and a register of 47,000 holders. It sends
the documents that are made to be costly, and totals of its events, to one web process.
The output has the CPU of the web process and of PostgreSQL's sessions, beside the time
that a caller has in so many minutes and one of its longest requests for each of its
connections. Before that, each document is priced with `X-Cost-Only`, and no bill may be
above that. It ends with exit code 1 where it took more, or a bill was above.
"""

import argparse
import http.client
import itertools
import math
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import psutil
from rich.console import Console

from tests.benchmarks.dear_documents import fill, nanoseconds, sessions
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

EVENTS, MINUTES, CONNECTIONS = 100_000, 2.0, 8
SECONDS = 10
"""Of server time that a caller has in each minute: the default."""
MOST_PAUSE = 5.0
TOTALS = """{
  events(first: 0, accountID: "Account|%s") { totalCount }
  all: events(first: 0) { totalCount }
}
#§"""


@dataclass
class Sent:
    """What a caller has sent, and was answered."""

    statuses: Counter[int] = field(default_factory=Counter)
    longest: float = 0.0
    above: dict[str, tuple[int, float]] = field(default_factory=dict)

    def add(self, name: str, seconds: float, answer: Any, most: float) -> None:
        self.statuses[answer.status] += 1
        if answer.status == 429:
            return
        self.longest = max(self.longest, seconds)
        cost = int(answer.headers["X-Query-Cost"])
        if cost > most:
            self.above[name] = (cost, most)


class Caller:
    """A connection with a key."""

    def __init__(self, port: int, key: str) -> None:
        self.headers = {"Content-Type": "application/json", "X-Token-Auth": key}
        self.connection = http.client.HTTPConnection("127.0.0.1", port, 120)
        self.content = b""

    def send(self, body: bytes, **more: str) -> Any:
        try:
            self.connection.request("POST", "/graphql", body, self.headers | more)
            answer = self.connection.getresponse()
        except ConnectionError:
            self.connection.close()
            self.connection.request("POST", "/graphql", body, self.headers | more)
            answer = self.connection.getresponse()
        self.content = answer.read()
        return answer

    def price(self, body: bytes) -> float:
        """The most that the document can cost; without end where it is refused."""
        while True:
            answer = self.send(body, **{"X-Cost-Only": "1"})
            if answer.status != 429:
                cost = orjson.loads(self.content).get("extensions", {}).get("cost", {})
                return float(cost.get("most", math.inf))
            time.sleep(pause_of(answer))

    def go_on(
        self, bodies: list[tuple[str, Any]], most: dict[str, float], until: float
    ) -> Sent:
        sent = Sent()
        for number, (name, body) in enumerate(itertools.cycle(bodies)):
            began = time.monotonic()
            if began >= until:
                return sent
            answer = self.send(body(number))
            sent.add(name, time.monotonic() - began, answer, most[name])
            if answer.status == 429:
                time.sleep(min(pause_of(answer), max(0.0, until - time.monotonic())))
        return sent


def pause_of(answer: Any) -> float:
    return min(MOST_PAUSE, float(answer.headers["Retry-After"]))


def add_events(events: int) -> str:
    """Rows of the caller's, and an account that they are of."""
    from accounts.keys.models import Partner
    from tests.benchmarks.graphql.rows import analyze
    from tests.benchmarks.turns import ACCOUNTS
    from tests.issuers.events import COUNT_EVENTS
    from tests.marketdata.trading.trading import new_clients
    from tests.owner import tamper

    partner = Partner.objects.get(login="dear")
    [account] = new_clients(1, partner)
    tamper(
        f"DELETE FROM issuers_event WHERE partner_id = '{partner.pk}'",
        ACCOUNTS.format(partner=partner.pk, account=account.pk, events=events),
        COUNT_EVENTS,
    )
    analyze()
    return str(account.pk)


def go_on(
    port: int, key: str, minutes: float, connections: int, bodies: dict[str, Any]
) -> tuple[int, Sent]:
    """Send them for so many minutes; how many were priced, and what was answered."""
    pricing = Caller(port, key)
    most = {name: pricing.price(body(10**6)) for name, body in bodies.items()}
    priced = sum(each < math.inf for each in most.values())
    until, total = time.monotonic() + minutes * 60, Sent()

    def run(first: int) -> None:
        listed = list(bodies.items())
        turned = listed[first:] + listed[:first]
        sent = Caller(port, key).go_on(turned, most, until)
        total.statuses.update(sent.statuses)
        total.longest = max(total.longest, sent.longest)
        total.above |= sent.above

    threads = [
        threading.Thread(target=run, args=[n * len(bodies) // connections])
        for n in range(connections)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return priced, total


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.clock",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--events", type=int, default=EVENTS, help="of the caller")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    options = parser.parse_args()
    with throw_away_installation(), tempfile.TemporaryDirectory() as directory:
        from tests.gateway.conftest import serving
        from tests.graphql.dear import bodies, with_text

        key = fill(Console(width=120))
        totals = partial(with_text, TOTALS % add_events(options.events), None)
        chosen = bodies() | {"totals of events": totals}
        limits = {"PARTNER_API_BUDGET_SECONDS": str(SECONDS)}
        with serving(1, limits, Path(directory)) as server:
            pids = [each.pid for each in psutil.Process(server.process.pid).children()]

            def spent() -> tuple[float, float]:
                web = sum(nanoseconds(pid) for pid in pids)
                return web / 1e9, sum(map(nanoseconds, sessions())) / 1e9

            before, began = spent(), time.monotonic()
            priced, sent = go_on(
                server.port, key, options.minutes, options.connections, chosen
            )
            lasted = time.monotonic() - began
            web, database = (b - a for a, b in zip(before, spent(), strict=True))
    allowed = SECONDS * math.ceil(lasted / 60)
    allowance = allowed + options.connections * sent.longest
    show = sys.stdout.write
    show(
        f"{len(chosen)} documents, {options.connections} connections, {lasted:.0f} s; "
        f"answered {dict(sent.statuses)}\n"
        f"CPU: {web:.1f} s of the web process, {database:.1f} s of PostgreSQL, "
        f"{web + database:.1f} s together; {allowed} s are the caller's, and with "
        f"its longest of {sent.longest:.2f} s on each connection {allowance:.1f} s\n"
        f"{len(sent.above)} bills above X-Cost-Only, of {priced} documents priced\n"
    )
    for name, (cost, most) in sent.above.items():
        show(f"{name}: {cost} points, of at most {most:g}\n")
    return int(web + database > allowance or bool(sent.above))


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
