"""CPU of a web process and PostgreSQL for each point of documents made to be costly.

python -m tests.benchmarks.dear_documents
"""

import argparse
import http.client
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from tests.benchmarks.yardstick import yardstick
from tests.installation import UNLIMITED, throw_away_installation

MOST_SPENT_RATIO = 2.0
HOLDERS = 47_000
ROUNDS, MOST_RUNS = 5, 40
BODY_NANOSECONDS = 40_000_000
"""A body is sent in each round until this much CPU is spent."""
YARDSTICK_RUNS = 8
"""In each round, of both yardsticks."""
MOST_TOLD = 40
ISSUERS = 5_000
CLIENTS, LISTS = 100, 100
"""Of a market: clients that each send so many orders."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.dear_documents",
        description="Send each body until its CPU can be measured, by turns with the "
        "benchmark's nested page and with `{ __typename }`, whose CPU is "
        "taken off, and divide it by its points. What points do not show, the "
        "caller's server time limits. Ends with an error where a body that a "
        f"spent budget refuses costs more than {MOST_SPENT_RATIO:g} times "
        "`{ __typename }`.",
    )
    parser.add_argument("--only", default="", help="a pattern of names of bodies")
    only: str = parser.parse_args().only
    console = Console(width=120)
    with throw_away_installation(), tempfile.TemporaryDirectory() as directory:
        key = fill(console)
        return measure(only, key, Path(directory), console)


def fill(console: Console) -> str:
    """Rows, and a key that may read all of them."""
    from accounts.access import Scope
    from accounts.keys.models import Partner
    from partnerapi.sandbox.data.approvals import approved_grant, approved_key
    from tests.benchmarks.graphql.rows import add_issuers, analyze
    from tests.benchmarks.large_registers import load

    add_issuers(1, ISSUERS)
    load(HOLDERS, HOLDERS + 1_000, console)
    analyze()
    number = int(UNLIMITED)
    partner = Partner.objects.create(
        login="dear", name="Dear", budget_points=number, budget_refill=number
    )
    approved_grant(partner)
    trade(partner)
    return approved_key(partner, list(Scope))[1]


def trade(partner: Any) -> None:
    """Clients of a partner, with orders and executions of a market."""
    from tests.benchmarks.graphql.rows import analyze
    from tests.marketdata.trading.trading import (
        buy,
        deposit,
        give,
        new_clients,
        new_market,
        place,
        sell,
    )

    token, clients = new_market(), new_clients(CLIENTS, partner)
    for client in clients:
        deposit(client, 10_000_000)
    give(token, dict.fromkeys(clients, 10_000))
    for number in range(LISTS):
        sides = [(sell, buy)[n % 2] for n in range(CLIENTS)]
        prices = [100 + number % 5 if side is sell else 101 for side in sides]
        place(
            token,
            *(
                side(client, 2, price)
                for side, client, price in zip(sides, clients, prices, strict=True)
            ),
        )
    analyze()


@dataclass(frozen=True)
class Cost:
    """Of one request: nanoseconds of the web process and PostgreSQL, points."""

    web: float
    database: float
    points: float
    status: int

    @property
    def nanoseconds(self) -> float:
        return self.web + self.database

    def a_point(self, least: "Cost") -> float:
        return max(0.0, self.nanoseconds - least.nanoseconds) / max(self.points, 0.001)


class Meter:
    """Sends bodies to a server of one process, and reads what they cost."""

    def __init__(self, server: Any, headers: dict[str, str]) -> None:
        self.headers = {"Content-Type": "application/json"} | headers
        self.client = http.client.HTTPConnection("127.0.0.1", server.port, 120)
        self.workers = psutil.Process(server.process.pid).children()
        self.sent = 0

    def send(self, body: Any) -> tuple[int, int]:
        self.sent += 1
        try:
            answer = self.ask(body(self.sent))
        except ConnectionError:
            # The server ended a connection that was idle for long.
            self.client.close()
            answer = self.ask(body(self.sent))
        answer.read()
        return answer.status, int(answer.headers["X-Query-Cost"])

    def ask(self, body: bytes) -> http.client.HTTPResponse:
        self.client.request("POST", "/graphql", body, self.headers)
        return self.client.getresponse()

    def nanoseconds(self) -> tuple[int, int]:
        web = sum(nanoseconds(worker.pid) for worker in self.workers)
        return web, sum(nanoseconds(pid) for pid in sessions())

    def measure(self, body: Any, yardsticks: Sequence[Any]) -> list[Cost]:
        """What a body and the yardsticks cost, by turns: machines change their pace."""
        found = [[self.cost(each, 1) for each in (body, *yardsticks)]]
        for _ in range(ROUNDS):
            found.append(
                [
                    self.cost(body, MOST_RUNS),
                    *(self.cost(each, YARDSTICK_RUNS) for each in yardsticks),
                ]
            )
        return [mean(costs) for costs in zip(*found[1:], strict=True)]

    def cost(self, body: Any, most_runs: int) -> Cost:
        points, runs, began = 0, 0, self.nanoseconds()
        spent = 0
        while runs < most_runs and spent < BODY_NANOSECONDS:
            status, price = self.send(body)
            points += price
            runs += 1
            now = self.nanoseconds()
            spent = sum(now) - sum(began)
        web, database = ((b - a) / runs for a, b in zip(began, now, strict=True))
        return Cost(web, database, points / runs, status)


def mean(costs: Sequence[Cost]) -> Cost:
    """The middle one: what others did to the machine in one round does not count."""
    return sorted(costs, key=lambda cost: cost.nanoseconds)[len(costs) // 2]


def nanoseconds(pid: int) -> int:
    """What the threads of a process have run, as Linux' scheduler counts it."""
    return sum(
        int(task.joinpath("schedstat").read_text().split()[0])
        for task in Path(f"/proc/{pid}/task").iterdir()
    )


def sessions() -> list[int]:
    """PostgreSQL's processes for the sessions of others."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [(own,)] = cursor.fetchall()
    postmaster = psutil.Process(own).parent()
    assert postmaster is not None
    return [
        child.pid for child in postmaster.children(recursive=True) if child.pid != own
    ]


def measure(only: str, key: str, directory: Path, console: Console) -> int:
    from tests.gateway.conftest import serving
    from tests.graphql.dear import PAGE, TYPENAME, bodies, with_text

    yardsticks = partial(with_text, TYPENAME, None), partial(with_text, PAGE, None)
    chosen = {name: body for name, body in bodies().items() if re.search(only, name)}
    rows = []
    with serving(1, {}, directory) as server:
        meter = Meter(server, {"X-Token-Auth": key})
        for name, body in chosen.items():
            cost, least, page = meter.measure(body, yardsticks)
            ratio = cost.a_point(least) / page.a_point(least)
            rows.append((ratio, row(name, cost, ratio)))
            console.print(rows[-1][1], highlight=False)
        for name, each in (("{ __typename }", least), ("nested page", page)):
            console.print(row(name, each, each is page), highlight=False)
    console.print("The most costly:")
    for _, text in sorted(rows)[-MOST_TOLD:]:
        console.print(text, highlight=False)
    spent = {"PARTNER_API_ANONYMOUS_BUDGET_POINTS": "10"}
    spent["PARTNER_API_ANONYMOUS_BUDGET_REFILL"] = "1"
    wrong = measure_spent(chosen, key, spent, directory, console)
    console.print(f"{wrong} of {len(chosen)} bodies cost too much to refuse")
    return int(bool(wrong))


def measure_spent(
    chosen: Any, key: str, spent: dict[str, str], directory: Path, console: Console
) -> int:
    """How many bodies cost too much once the budget is spent."""
    from tests.gateway.conftest import serving
    from tests.graphql.dear import TYPENAME, with_text

    typename = partial(with_text, TYPENAME, None)
    wrong = 0
    with serving(1, spent, directory) as server:
        keyed, meter = Meter(server, {"X-Token-Auth": key}), Meter(server, {})
        dearest = (0.0, "")
        for name, body in chosen.items():
            for _ in range(3):
                meter.send(typename)
            pairs = [
                (meter.cost(body, MOST_RUNS), keyed.cost(typename, MOST_RUNS))
                for _ in range(ROUNDS)
            ]
            cost, least = map(mean, zip(*pairs, strict=True))
            ratio = cost.nanoseconds / least.nanoseconds
            dearest = max(dearest, (ratio, name))
            if ratio > MOST_SPENT_RATIO:
                console.print(f"{ratio:5.2f} × refused: {name}", highlight=False)
                wrong += 1
    console.print(f"refused, the most costly: {dearest[0]:.2f} × {dearest[1]}")
    return wrong


def row(name: str, cost: Cost, ratio: float) -> str:
    return (
        f"{ratio:6.2f} × {cost.web / 1e6:8.3f} + {cost.database / 1e6:7.3f} ms "
        f"{cost.points:8.1f} points {cost.status} {name}"
    )


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
