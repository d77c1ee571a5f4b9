"""Thirty thousand looks at /readyz and at /metrics of a web server that is busy.

Run it with `python -m tests.chaos.looks`; `--looks 500` is a short form. Half of the
looks are at a web process of one partner's fifty connections, half at the numbers of
its machine. It ends with exit code 1 where a look at /readyz was not 200 although half
of the partner's requests or more were answered; where one at /metrics lacked a number;
where PostgreSQL and Valkey saw more than one connection more than by the first tenth of
the looks; where in the end the numbers are not those of the requests; or where a right
that is then revoked is not reported by both.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from redis import Redis

from tests.chaos.asking import READ
from tests.chaos.clients import Connection
from tests.chaos.ending import end
from tests.chaos.pooled import code_of, request_of
from tests.chaos.web import serving
from tests.installation import throw_away_installation
from tests.waiting import until

if TYPE_CHECKING:
    from tests.operations.test_metrics import Metrics

LOOKS, CLIENTS = 30_000, 50
WARM_UP, WARM_UP_LOOKS = 500, 40
WANTED = {
    ("partnerapi_queue_tasks", ""),
    ("partnerapi_check", 'check="database"'),
    ("partnerapi_check", 'check="valkey"'),
}
COUNTED = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
REVOKE = "REVOKE SELECT ON accounts_account FROM partnerapi_application"
GRANT = "GRANT SELECT ON accounts_account TO partnerapi_application"
FAILED = 2.0


@dataclass
class Report:
    """`requests`: of the partner, by answer. `connections`: the most at a time, in the
    first tenth of the looks and after it. `counted`: requests in /metrics."""

    looks: int = 0
    readiness: dict[int, int] = field(default_factory=dict)
    incomplete: int = 0
    requests: dict[str, int] = field(default_factory=dict)
    connections: list[int] = field(default_factory=lambda: [0, 0])
    counted: float = 0.0
    told: bool = False

    def wrong(self) -> Iterator[str]:
        asked, (before, after) = sum(self.requests.values()), self.connections
        if 2 * self.requests.get("200", 0) >= asked and self.readiness.keys() != {200}:
            yield f"/readyz was {self.readiness}"
        if self.incomplete:
            yield f"{self.incomplete} looks at /metrics lacked a number"
        if after > before + 1:
            yield f"connections went from {before} to {after}"
        if self.counted != asked:
            yield f"/metrics counted {self.counted:g} of {asked} requests"
        if not self.told:
            yield "a revoked right was not reported"


def status_of(address: str) -> int:
    try:
        with urllib.request.urlopen(address) as answer:
            status: int = answer.status
    except urllib.error.HTTPError as refused:
        status = refused.code
    return status


class Connections:
    """Counts those to PostgreSQL and to Valkey, by one of its own to each."""

    def __init__(self) -> None:
        self.session = psycopg.connect(
            os.environ["DATABASE_OWNER_URL"], autocommit=True
        )
        self.valkey = Redis.from_url(os.environ["REDIS_URL"])

    def number(self) -> int:
        row = self.session.execute(COUNTED).fetchone()
        told = self.valkey.info("clients")
        return int(row[0] if row else 0) + int(told["connected_clients"])


class Load:
    """While it is a context, the partner's clients ask, in a thread of their own."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.ended = port, False
        self.asked = request_of(token, {"query": READ})
        self.codes = Counter[str]()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.all()))

    async def all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(self.ask())

    async def ask(self) -> None:
        connection = Connection(self.port)
        while not self.ended:
            self.codes[code_of(await connection.ask(self.asked))] += 1
        connection.close()

    def __enter__(self) -> "Load":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True
        self.thread.join()


def look(report: Report, looks: int, ready: str, metrics: "Metrics") -> None:
    """Look from two threads each, and count connections all the while."""
    connections = Connections()
    lock = threading.Lock()

    def at_readiness() -> None:
        status = status_of(ready)
        with lock:
            report.readiness[status] = report.readiness.get(status, 0) + 1

    def at_metrics() -> None:
        lacks = not metrics.read().keys() >= WANTED
        with lock:
            report.incomplete += lacks

    def repeat(once: Callable[[], None]) -> None:
        for _ in range(looks // 4):
            once()
            with lock:
                report.looks += 1

    with ThreadPoolExecutor(4) as threads:
        kinds = [at_readiness, at_metrics] * 2
        looking = [threads.submit(repeat, once) for once in kinds]
        while not all(each.done() for each in looking):
            late = report.looks > looks / 10
            most = max(report.connections[late], connections.number())
            report.connections[late] = most
            time.sleep(0.05)
        for each in looking:
            each.result()


def is_told(ready: str, metrics: "Metrics") -> bool:
    """Whether both report a revoked right, and its return."""
    failed = ("partnerapi_check", 'check="grants"')
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute(REVOKE)
        until(lambda: status_of(ready) == 503)
        until(lambda: metrics.read().get(failed) == FAILED)
        owner.execute(GRANT)
    until(lambda: status_of(ready) == 200)
    until(lambda: metrics.read().get(failed, 0.0) < FAILED)
    return True


def measure(looks: int) -> Report:
    report = Report()
    with throw_away_installation(), tempfile.TemporaryDirectory() as made:
        from tests.chaos.population import make_accounts
        from tests.operations.test_metrics import exposed

        token, _ = make_accounts(CLIENTS)
        own = {"PARTNER_API_METRICS": str(Path(made) / "metrics")}
        with (
            serving(Path(made) / "log", own, workers=1) as port,
            exposed(os.environ | own) as metrics,
        ):
            ready = f"http://127.0.0.1:{port}/readyz"
            with Load(port, token) as load:
                # By then the process has the connections that it works with.
                until(lambda: load.codes.total() >= WARM_UP)
                look(Report(), WARM_UP_LOOKS, ready, metrics)
                look(report, looks, ready, metrics)
            report.requests = dict(load.codes)
            counted = metrics.read()
            report.counted = sum(
                number
                for (name, _), number in counted.items()
                if name == "partnerapi_requests_total"
            )
            report.told = is_told(ready, metrics)
    return report


def show(report: Report) -> None:
    for name, value in asdict(report).items():
        sys.stdout.write(f"{name}: {value}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--looks", type=int, default=LOOKS)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    report = measure(options.looks)
    end(report, options.json, show, "\n".join(report.wrong()))


if __name__ == "__main__":
    main()
