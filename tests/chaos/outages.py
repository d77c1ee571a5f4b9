"""Answers to clients while PostgreSQL or Valkey stand still, or refuse to work.

Run it with `python -m tests.chaos.outages --seconds 30`. Sixteen clients of a real web
server read accounts with a key and change one, each once a turn, while another reads
the schema, for which no database is needed, and one a document. One fault after the
other begins, lasts and ends. It ends with exit code 1 where an answer takes longer than
MAX_SECONDS and one more, where one is INTERNAL_SERVER_ERROR or has an outage's error in
a 200, where `/readyz` was ever 503 while half of the requests were answered, where
the schema was ever late while a server stood still (other faults take the
processors themselves), or where the answers are not normal again within a second; all
but MAX_SECONDS as on idle cores.
"""

import argparse
import contextlib
import http.client
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from partnerapi.sandbox.run.processes import Processes
from tests.benchmarks.yardstick import Pace, yardstick
from tests.chaos.asking import READ, Answer, Asking, post
from tests.chaos.clients import CHANGE
from tests.chaos.installation import Database, breakable_installation
from tests.chaos.web import serving

CLIENTS = 16
MOST_SCHEMA_SECONDS = 0.1
NORMAL_SECONDS = 1.0
TURN_SECONDS = 0.0005
"""Of a client's thread: nineteen of Python's 5 ms would be taken for the web's."""
IDLE = "as on idle cores"
READY = "ready"
LEAST_ANSWERED = 0.5
"""A process that answers so many of its requests is ready."""


@dataclass
class Outcome:
    """What became of the requests during a fault, and after it."""

    fault: str
    codes: dict[str, int] = field(default_factory=dict)
    slowest: float = 0.0
    schema: float = 0.0
    health: float = 0.0
    """The slowest answer of `/healthz`."""
    named_after: float = 0.0
    """Until `/readyz` said what is wrong; 0: it did not say."""
    ready: float = 0.0
    """The share of the answers of `/readyz` that were 200."""
    answered: float = 0.0
    """The share of the requests that were answered."""
    normal_after: float = 0.0
    rate: float = 0.0
    """Good answers a second, as a share of those without a fault."""
    log_bytes: float = 0.0
    """A second."""


class Clients(Asking):
    """Ask for as long as they run; every answer is kept."""

    def __init__(self, port: int, token: str, accounts: list[UUID]) -> None:
        self.port, self.token, self.accounts = port, token, accounts
        self.answers: list[Answer] = []
        self.schema: list[Answer] = []
        self.health: list[Answer] = []
        self.readiness: list[Answer] = []
        super().__init__(
            [
                *(partial(self.ask_for_accounts, n) for n in range(CLIENTS)),
                self.ask_for_schema,
                self.ask_for_documents,
                self.ask_for_readiness,
            ]
        )

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask_for_accounts(self, number: int) -> None:
        turn = 0
        account = f"Account|{self.accounts[number]}"
        while not self.ended.is_set():
            turn += 1
            self.answers.append(self.post({"query": READ}))
            status = ("SUSPENDED", "ACTIVE")[turn % 2]
            variables = {"input": {"accountID": account, "status": status}}
            self.answers.append(self.post({"query": CHANGE, "variables": variables}))

    def post(self, body: dict[str, Any]) -> Answer:
        return post(self.connect(), self.token, body)

    def ask_for_schema(self) -> None:
        while not self.ended.wait(0.05):
            self.schema.append(self.get("/schema.graphql"))
            self.health.append(self.get("/healthz"))

    def ask_for_readiness(self) -> None:
        while not self.ended.wait(0.05):
            begun = time.monotonic()
            client = self.connect()
            try:
                client.request("GET", "/readyz")
                told = json.loads(client.getresponse().read())
            except OSError:
                # It has not come up yet.
                continue
            finally:
                client.close()
            wrong = [c["check"] for c in told["checks"] if c["state"] != "ok"]
            seconds = time.monotonic() - begun
            code = READY if told["ready"] else "unready"
            self.readiness.append(Answer(begun, seconds, " ".join([code, *wrong])))

    def ask_for_documents(self) -> None:
        """There is none by this name, and only the database knows it."""
        while not self.ended.wait(0.05):
            self.answers.append(self.get(f"/documents/{uuid4()}/logo.png"))

    def get(self, path: str) -> Answer:
        begun = time.monotonic()
        client = self.connect()
        try:
            client.request("GET", path)
            code = f"{client.getresponse().status} page"
        except OSError as error:
            code = type(error).__name__
        finally:
            client.close()
        return Answer(begun, time.monotonic() - begun, code)


def processes_of(server: Any) -> list[psutil.Process]:
    leader = psutil.Process(server.popen.pid)
    return [leader, *leader.children(recursive=True)]


class Faults:
    """Each fault is a context: it lasts as long as its body."""

    def __init__(self, processes: Processes, database: Database) -> None:
        self.processes, self.database = processes, database

    @contextlib.contextmanager
    def none(self) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        [server] = [p for p in self.processes.running if p.name == name]
        stopped = processes_of(server)
        for process in stopped:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in stopped:
                process.send_signal(signal.SIGCONT)

    def postgres_stopped(self) -> contextlib.AbstractContextManager[None]:
        return self.stopped("postgres")

    def valkey_stopped(self) -> contextlib.AbstractContextManager[None]:
        return self.stopped("valkey")

    @contextlib.contextmanager
    def restarting(self) -> Iterator[None]:
        ended = threading.Event()

        def restart() -> None:
            while not ended.wait(5):
                self.database.restart(signal.SIGINT)

        thread = threading.Thread(target=restart)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        self.set("default_transaction_read_only", "on")
        try:
            yield
        finally:
            self.set("default_transaction_read_only", "off")

    def set(self, name: str, value: str) -> None:
        with administrator() as session:
            session.execute("SET default_transaction_read_only = off")
            session.execute(f"ALTER SYSTEM SET {name} = {value}")
            session.execute("SELECT pg_reload_conf()")

    @contextlib.contextmanager
    def crowded(self) -> Iterator[None]:
        with contextlib.ExitStack() as taken:
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    taken.enter_context(psycopg.connect(os.environ["DATABASE_URL"]))
            with administrator() as session:
                session.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE query LIKE '%accounts_account%' AND pid <> pg_backend_pid()"
                )
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    taken.enter_context(psycopg.connect(os.environ["DATABASE_URL"]))
            yield

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as session:
            session.execute("LOCK TABLE accounts_account IN ACCESS EXCLUSIVE MODE")
            yield
            session.rollback()


def administrator() -> psycopg.Connection:
    from tests.administration import administrator_of

    return administrator_of(os.environ["DATABASE_OWNER_URL"])


def is_normal(answer: Answer) -> bool:
    return answer.code == "200"


def suffer(
    name: str,
    fault: Callable[[], contextlib.AbstractContextManager[None]],
    clients: Clients,
    seconds: float,
    log: Path,
) -> tuple[Outcome, list[Answer]]:
    size = log.stat().st_size
    first, first_schema = len(clients.answers), len(clients.schema)
    first_health, first_readiness = len(clients.health), len(clients.readiness)
    begun = time.monotonic()
    with fault():
        time.sleep(seconds)
    ended = time.monotonic()
    while not any(is_normal(a) for a in clients.answers[-CLIENTS:] if a.at > ended):
        time.sleep(0.02)
    normal = time.monotonic() - ended
    time.sleep(1)
    mine = [a for a in clients.answers[first:] if begun <= a.at <= ended]
    good = sum(is_normal(a) for a in mine if a.at + a.seconds <= ended)
    looks = [a for a in clients.readiness[first_readiness:] if a.at <= ended]
    told = [a.at + a.seconds - begun for a in looks if a.code != READY]
    late = [a.seconds for a in clients.schema[first_schema:] if a.at <= ended]
    health = [a.seconds for a in clients.health[first_health:] if a.at <= ended]
    outcome = Outcome(
        name,
        dict(Counter(answer.code for answer in mine)),
        max((answer.seconds for answer in mine), default=0.0),
        max(late, default=0.0),
        max(health, default=0.0),
        min(told, default=0.0),
        sum(a.code.startswith(READY) for a in looks) / len(looks),
        sum(not a.code.startswith(("5", "Conn")) for a in mine) / len(mine),
        normal,
        good / (ended - begun),
        (log.stat().st_size - size) / (ended - begun),
    )
    return outcome, mine


FAULTS = (
    "none", "postgres_stopped", "valkey_stopped", "restarting", "read_only", "crowded",
    "locked",
)  # fmt: skip


def measure(seconds: float, max_seconds: int, names: list[str]) -> list[Outcome]:
    with breakable_installation() as (processes, database):
        from tests.chaos.population import make_accounts

        token, accounts = make_accounts(CLIENTS)
        faults = Faults(processes, database)
        log = database.directory / "web.log"
        outcomes = []
        with (
            serving(log, {"PARTNER_API_MAX_SECONDS": str(max_seconds)}) as port,
            Clients(port, token, accounts) as clients,
        ):
            while not any(map(is_normal, clients.answers)):
                time.sleep(0.05)
            for name in ["none", *(name for name in names if name != "none")]:
                fault = getattr(faults, name)
                outcomes.append(suffer(name, fault, clients, seconds, log)[0])
        usual = outcomes[0].rate
        for outcome in outcomes:
            outcome.rate /= usual
    return outcomes


def failures(
    outcomes: list[Outcome], max_seconds: int, busy: bool, pace: Pace
) -> list[str]:
    """The failures; on a busy machine time does not count.

    Seconds are as on idle cores, but for MAX_SECONDS, which are a deadline.
    """
    found = []
    for outcome in outcomes:
        wrong = [
            code
            for code in outcome.codes
            if "INTERNAL" in code or code in ("200 UNAVAILABLE", "500", "500 page")
        ]
        found += [f"{outcome.fault}: answered {code}" for code in wrong]
        if outcome.answered >= LEAST_ANSWERED and outcome.ready < 1:
            found.append(
                f"{outcome.fault}: {outcome.answered:.0%} were answered, and the "
                f"process was ready in {outcome.ready:.0%} of the looks"
            )
        if outcome.fault == "postgres_stopped" and outcome.ready == 1:
            found.append(f"{outcome.fault}: /readyz did not say so")
        if busy:
            continue
        if pace.idle(outcome.slowest - max_seconds) > 1:
            found.append(f"{outcome.fault}: an answer took {outcome.slowest:.1f} s")
        schema = pace.idle(outcome.schema)
        if outcome.fault.endswith("stopped") and schema > MOST_SCHEMA_SECONDS:
            found.append(f"{outcome.fault}: the schema took {schema:.2f} s {IDLE}")
        if (health := pace.idle(outcome.health)) > MOST_SCHEMA_SECONDS:
            found.append(f"{outcome.fault}: /healthz took {health:.2f} s {IDLE}")
        if (normal := pace.idle(outcome.normal_after)) > NORMAL_SECONDS:
            found.append(f"{outcome.fault}: normal only after {normal:.1f} s {IDLE}")
    return found


def show(outcomes: list[Outcome]) -> None:
    table = Table(title="Sixteen clients while something is wrong")
    for column in (
        "fault", "answers", "slowest", "schema", "health", "named after",
        "ready", "normal after",
        "good answers", "log a second",
    ):  # fmt: skip
        table.add_column(column)
    for outcome in outcomes:
        codes = "\n".join(f"{count} × {code}" for code, count in outcome.codes.items())
        table.add_row(
            outcome.fault,
            codes,
            f"{outcome.slowest:.2f} s",
            f"{outcome.schema:.2f} s",
            f"{outcome.health:.3f} s",
            f"{outcome.named_after:.2f} s",
            f"{outcome.ready:.0%}",
            f"{outcome.normal_after:.2f} s",
            f"{outcome.rate:.0%}",
            f"{outcome.log_bytes:.0f} bytes",
        )
    Console().print(table)


def main(pace: Pace) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, help="of each fault")
    parser.add_argument("--max-seconds", type=int, default=10, help="of a request")
    parser.add_argument("--faults", nargs="+", default=list(FAULTS[1:]), choices=FAULTS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--busy", action="store_true", help="do not judge by time")
    options = parser.parse_args()
    sys.setswitchinterval(TURN_SECONDS)
    outcomes = measure(options.seconds, options.max_seconds, options.faults)
    found = failures(outcomes, options.max_seconds, options.busy, pace)
    if options.json:
        report = {"outcomes": [*map(asdict, outcomes)], "failures": found}
        sys.stdout.write(json.dumps(report))
    else:
        show(outcomes)
        for line in found:
            sys.stdout.write(line + "\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    with yardstick() as pace:
        main(pace)
