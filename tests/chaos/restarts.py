"""Whether clients notice that web servers restart, or that one of them is killed.

Run it with `python -m tests.chaos.restarts`. Two web servers stand behind one socket,
as the systemd units that are shipped run them, and clients read accounts and change
one, each request on a connection of its own, as nginx asks. First nothing happens; then
the web servers restart, one after the other, again and again; then every process of
them is killed once, and in the end both masters at once. It ends with exit code 1 where
a request failed during restarts, where one took longer than half a second as on idle
cores and than three times the slowest without a restart, or where after a kill no one
was answered for five seconds as on idle cores.
"""

import argparse
import contextlib
import http.client
import json
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.table import Table

from partnerapi.sandbox.run.processes import RunError
from tests.benchmarks.yardstick import Pace, yardstick
from tests.chaos.asking import READ, Answer, Asking, post
from tests.chaos.clients import CHANGE
from tests.chaos.installation import breakable_installation
from tests.chaos.units import Service, held_socket

CLIENTS = 4
PAUSE_SECONDS = 0.005
"""Between two requests of a client: the machine has room for a start beside them."""
ROOM = {"PARTNER_API_DATABASE_CONNECTIONS": str(2 * CLIENTS)}
"""So that no client waits for another's connection: one partner has half of them."""
MOST_SECONDS = 0.5
MOST_TIMES_USUAL = 3
LISTENING_SECONDS = 5.0
IDLE = "as on idle cores"


class LocalConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("127.0.0.1", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Clients(Asking):
    """Ask for as long as they run, with one key after the other; answers are kept."""

    def __init__(self, path: Path, tokens: list[str], accounts: list[UUID]) -> None:
        self.path, self.tokens = path, tokens
        self.answers: list[Answer] = []
        super().__init__(partial(self.ask, account) for account in accounts)

    def ask(self, account: UUID) -> None:
        turn = 0
        while not self.ended.wait(PAUSE_SECONDS):
            turn += 1
            if turn % 4:
                self.answers.append(self.post(turn, {"query": READ}))
                continue
            status = ("SUSPENDED", "ACTIVE")[turn // 4 % 2]
            variables = {"input": {"accountID": f"Account|{account}", "status": status}}
            body = {"query": CHANGE, "variables": variables}
            self.answers.append(self.post(turn, body))

    def post(self, turn: int, body: dict[str, Any]) -> Answer:
        token = self.tokens[turn % len(self.tokens)]
        return post(LocalConnection(self.path), token, body, Connection="close")


@dataclass
class Outcome:
    what: str
    codes: dict[str, int] = field(default_factory=dict)
    slowest: float = 0.0
    silent: float = 0.0
    """After a kill: the longest time in which no one got a good answer."""


def outcome(what: str, answers: list[Answer]) -> Outcome:
    codes = dict(Counter(answer.code for answer in answers))
    return Outcome(what, codes, max(answer.seconds for answer in answers))


def until_asked(clients: Clients, number: int) -> list[Answer]:
    """The next so many answers."""
    first = len(clients.answers)
    while len(clients.answers) < first + number:
        time.sleep(0.02)
    return clients.answers[first:]


def restart(services: list[Service]) -> None:
    for service in services:
        service.restart()


def kills(services: list[Service], clients: Clients) -> Iterator[Outcome]:
    """Kill every process once, and then both masters; wait each time for new ones."""
    for number, service in enumerate(services, 1):
        for worker in service.workers():
            yield killed(f"a process of {number} killed", [worker.pid], [], clients)
        master = f"the master of {number} killed"
        yield killed(master, [service.process.pid], [service], clients)
    masters = [service.process.pid for service in services]
    yield killed("both masters killed", masters, services, clients)


def killed(
    what: str, pids: list[int], dying: list[Service], clients: Clients
) -> Outcome:
    first = len(clients.answers)
    deaths = [service.deaths for service in dying]
    begun = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for service, before in zip(dying, deaths, strict=True):
        while service.deaths == before:
            time.sleep(0.01)
        # It is held until the service is ready again.
        with service.lock:
            pass
    until_answered(clients, begun + 1)
    found = outcome(what, clients.answers[first:])
    good = [a.at + a.seconds for a in clients.answers[first:] if a.code == "200"]
    found.silent = max(after - before for before, after in pairwise([begun, *good]))
    return found


def until_answered(clients: Clients, since: float) -> None:
    """Until a request that was sent after that instant has a good answer."""
    while not any(
        answer.at > since and answer.code == "200"
        for answer in clients.answers[-CLIENTS:]
    ):
        time.sleep(0.01)


@contextlib.contextmanager
def web_servers(path: Path, environment: dict[str, str]) -> Iterator[list[Service]]:
    """Two, which share a socket at this path."""
    with held_socket(path) as listener, contextlib.ExitStack() as running:
        services = []
        for number in ("1", "2"):
            own = path.with_name(number)
            own.mkdir()
            service = Service("partnerapi-web@.service", listener, environment, own)
            running.callback(service.stop)
            services.append(service)
        yield services


def measure(requests: int, times: int, directory: Path) -> list[Outcome]:
    from tests.chaos.population import make_accounts

    token, accounts = make_accounts(CLIENTS)
    path = directory / "web.sock"
    with (
        web_servers(path, os.environ | ROOM) as services,
        Clients(path, [token], accounts) as clients,
    ):
        until_asked(clients, requests // 10)
        outcomes = [outcome("nothing happens", until_asked(clients, requests))]
        first = len(clients.answers)
        done = 0
        while done < times or len(clients.answers) < first + requests:
            restart(services)
            done += 1
        whole = clients.answers[first:]
        outcomes.append(outcome(f"{done} rolling restarts", whole))
        outcomes += kills(services, clients)
    return outcomes


def failures(outcomes: list[Outcome], busy: bool, pace: Pace) -> list[str]:
    """The failures; on a busy machine time does not count."""
    usual, restarts, *kills = outcomes
    found = [f"{o.what}: {c}" for o in (usual, restarts) for c in o.codes if c != "200"]
    if busy:
        return found
    slowest = pace.idle(restarts.slowest)
    if slowest > max(MOST_SECONDS, MOST_TIMES_USUAL * pace.idle(usual.slowest)):
        found.append(f"{restarts.what}: a request took {slowest:.2f} s {IDLE}")
    found += [
        f"{kill.what}: no one answered for {pace.idle(kill.silent):.1f} s {IDLE}"
        for kill in kills
        if pace.idle(kill.silent) > LISTENING_SECONDS
    ]
    return found


def show(outcomes: list[Outcome]) -> None:
    table = Table(title="Clients while web servers restart and die")
    for column in ("what", "answers", "slowest", "silence"):
        table.add_column(column)
    for each in outcomes:
        codes = "\n".join(f"{count} × {code}" for code, count in each.codes.items())
        after = f"{each.silent:.2f} s" if each.silent else ""
        table.add_row(each.what, codes, f"{each.slowest:.3f} s", after)
    Console().print(table)


def main(pace: Pace) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, help="during restarts")
    parser.add_argument("--restarts", type=int, default=20, help="rolling ones")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--busy", action="store_true", help="do not judge by time")
    options = parser.parse_args()
    try:
        with breakable_installation() as (_, database):
            outcomes = measure(options.requests, options.restarts, database.directory)
    except RunError as error:
        sys.exit(str(error))
    wrong = failures(outcomes, options.busy, pace)
    if options.json:
        report = {"outcomes": [asdict(o) for o in outcomes], "failures": wrong}
        sys.stdout.write(json.dumps(report))
    else:
        show(outcomes)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    with yardstick() as pace:
        main(pace)
