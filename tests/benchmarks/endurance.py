"""Whether a web process grows while it answers requests of all kinds.

Run it with `python -m tests.benchmarks.endurance --requests 30000`. One process, as it
is shipped, counts and logs requests of many kinds: documents that are all new to it,
mutations, refusals, probes and pages. It ends with exit code 1 where an answer's status
is not that of its kind, or where the process's resident memory is on average more than
5 % larger in the last third than in the first. All processes share most of that memory;
the process's own memory is also reported.
"""

import argparse
import http.client
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import sleep
from typing import Any
from uuid import uuid4

import psutil

from tests.benchmarks.yardstick import yardstick
from tests.chaos.clients import CHANGE
from tests.system import free_port
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = 4
MOST_GROWTH = 0.05
SAMPLES = 300
"""How often the memory is looked at, evenly over the requests."""


@dataclass
class Request:
    path: str
    status: int
    body: dict[str, Any] | None = None
    has_key: bool = True


@dataclass
class Report:
    statuses: dict[int, int] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    first_third: float = 0.0
    """Mean of the process's resident memory, MB."""
    last_third: float = 0.0
    own: list[float] = field(default_factory=list)
    """What of it is its own, MB, in the first and in the last third."""

    @property
    def growth(self) -> float:
        return self.last_third / self.first_third - 1


def mixture(account: str, issuer: str, first: int) -> Iterator[Request]:
    """Requests of all kinds, by turns, without end; each document is another.

    The turns of clients that begin with different numbers up to `CLIENTS` differ.
    """
    for turn in itertools.count(first, CLIENTS):
        graphql = "/graphql"
        page = (
            f"query Page{turn} {{ issuers(first: 10) {{ totalCount nodes {{ tradingName"
            " tokens { nodes { symbol } } financialData(first: 4) { nodes { year"
            " revenue } } } } }"
        )
        yield Request(graphql, 200, {"query": page})
        table = (
            f"{{ a{turn}: issuer(id: {json.dumps(issuer)}) {{ capitalizationTable {{"
            " totalValue tokens { tokenID totalSupplyValue } } } }"
        )
        yield Request(graphql, 200, {"query": table})
        own = f"{{ a{turn}: accounts(first: 5) {{ nodes {{ id status }} }} }}"
        yield Request(graphql, 200, {"query": own})
        status = ("SUSPENDED", "ACTIVE")[turn // CLIENTS % 2]
        change = {"input": {"accountID": account, "status": status}}
        yield Request(graphql, 200, {"query": CHANGE, "variables": change})
        yield Request(graphql, 200, {"query": f"{{ no{turn} }}"})
        yield Request(graphql, 200, {"query": f"{{ a{turn}: __typename }}"}, False)
        yield Request(graphql, 400, {"document": turn})
        yield Request("/readyz", 200)
        yield Request("/docs", 200)
        yield Request(f"/nothing/{turn}", 404)


class Client(threading.Thread):
    """Sends its share of the requests, on one connection as long as that lives."""

    def __init__(
        self, port: int, token: str, requests: Iterator[Request], statuses: list[int]
    ) -> None:
        super().__init__()
        self.port, self.token = port, token
        self.requests, self.statuses = requests, statuses
        self.unexpected: list[str] = []

    def run(self) -> None:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for request in self.requests:
            headers = {"Idempotency-Key": str(uuid4())}
            if request.has_key:
                headers["X-Token-Auth"] = self.token
            if request.body is None:
                client.request("GET", request.path, headers=headers)
            else:
                headers["Content-Type"] = "application/json"
                body = json.dumps(request.body)
                client.request("POST", request.path, body, headers)
            response = client.getresponse()
            response.read()
            self.statuses.append(response.status)
            if response.status != request.status:
                self.unexpected.append(f"{request.path}: {response.status}")


def serve(port: int, directory: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "gunicorn", "partnerapi.wsgi"]
    command += ["--config", "python:partnerapi.operations.gunicorn_config"]
    command += ["--workers", "1", "--bind", f"127.0.0.1:{port}"]
    own = {"PARTNER_API_METRICS": str(directory / "metrics"), "LOG_FORMAT": "json"}
    with (directory / "log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=ROOT, env=os.environ | own, stdout=log, stderr=log
        )


def measure(requests: int, directory: Path) -> Report:
    from django.db import connection

    from partnerapi.sandbox.data.approvals import approved_grant
    from tests.chaos.population import make_accounts
    from tests.characters import new_world

    world = new_world()
    token, accounts = make_accounts(CLIENTS)
    connection.ensure_connection()
    partner = world.partner.__class__.objects.get(name="Impatient")
    approved_grant(partner)
    connection.close()
    statuses: list[int] = []
    port, issuer = free_port(), f"Issuer|{world.listed.pk}"
    clients = []
    for number, account in enumerate(accounts):
        mixed = mixture(f"Account|{account}", issuer, number)
        share = itertools.islice(mixed, len(range(number, requests, CLIENTS)))
        clients.append(Client(port, token, share, statuses))
    server = serve(port, directory)
    try:
        until(lambda: is_up(port), (directory / "log").read_text, pause=0.05)
        [worker] = psutil.Process(server.pid).children()
        for client in clients:
            client.start()
        memory = list(samples(worker, clients, statuses, requests))
        for client in clients:
            client.join()
    finally:
        server.terminate()
        server.wait()
    third = len(memory) // 3
    return Report(
        dict(Counter(statuses)),
        [line for client in clients for line in client.unexpected],
        statistics.mean(resident for resident, _ in memory[:third]),
        statistics.mean(resident for resident, _ in memory[-third:]),
        [
            statistics.mean(own for _, own in part)
            for part in (memory[:third], memory[-third:])
        ],
    )


def is_up(port: int) -> bool:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        client.request("GET", "/readyz")
        return client.getresponse().status == 200
    except OSError:
        return False
    finally:
        client.close()


def samples(
    worker: psutil.Process, clients: list[Client], statuses: list[int], requests: int
) -> Iterator[tuple[float, float]]:
    """The process's memory, and what of it is its own, MB, as the requests are done."""
    step = max(requests // SAMPLES, 1)
    for done in range(step, requests + 1, step):
        while len(statuses) < done and any(client.is_alive() for client in clients):
            sleep(0.01)
        memory = worker.memory_full_info()
        resident, own = memory.rss / 1e6, memory.uss / 1e6
        if done % max(requests // 10, 1) < step:
            sys.stderr.write(f"{done} requests: {resident:.1f} MB, own {own:.1f} MB\n")
        yield resident, own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=30_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    from tests.installation import throw_away_installation

    with tempfile.TemporaryDirectory() as directory, throw_away_installation():
        report = measure(options.requests, Path(directory))
    if options.json:
        sys.stdout.write(json.dumps(asdict(report) | {"growth": report.growth}))
    else:
        sys.stdout.write(
            f"{options.requests} requests, {report.statuses}; the process had "
            f"{report.first_third:.1f} MB in the first third, "
            f"{report.last_third:.1f} MB in the last: {report.growth:+.1%}; of its own "
            f"{report.own[0]:.1f} and {report.own[1]:.1f} MB\n"
        )
    for line, count in Counter(report.unexpected).items():
        sys.stderr.write(f"{count} × {line}\n")
    sys.exit(bool(report.unexpected) or report.growth > MOST_GROWTH)


if __name__ == "__main__":
    with yardstick():
        main()
