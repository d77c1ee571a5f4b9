"""The servers under measurement: started, asked, and what their processes cost."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import orjson
import psutil
from django.conf import settings
from django.db import connection

from partnerapi.sandbox.run.processes import Process, Processes
from tests.benchmarks.graphql import load
from tests.benchmarks.graphql.answers import (
    DJANGO_PEER,
    POSTGRAPHILE,
    PRODUCT,
    Dialect,
    WrongAnswer,
    compare,
)
from tests.benchmarks.graphql.installs import Installation
from tests.benchmarks.graphql.rows import expected
from tests.system import free_port

START_SECONDS = 60
PEERS = "tests.benchmarks.graphql.peers"


@dataclass(frozen=True)
class Plan:
    """How a server is started: its command without a port, and its environment."""

    name: str
    dialect: Dialect
    command: tuple[str | Path, ...]
    environment: dict[str, str]
    headers: dict[str, str]
    cwd: Path

    def at(self, port: int) -> list[str | Path]:
        return [
            str(part).replace("{port}", str(port)) if isinstance(part, str) else part
            for part in self.command
        ]


PRODUCT_WORKER = "partnerapi.operations.web_worker.BufferingWorker"


def gunicorn(
    python: Path | str, site: str, workers: int, threads: int, worker: str = "gthread"
) -> tuple:
    return (
        *(python, "-m", "gunicorn", site, "--worker-class", worker),
        *("--workers", str(workers), "--threads", str(threads)),
        *("--bind", "127.0.0.1:{port}", "--log-level", "warning"),
        *("--keep-alive", "60", "--no-control-socket"),
    )


def product_on_gunicorn(key: str, threads: int, workers: int = 1) -> Plan:
    return Plan(
        name=f"partnerapi, gunicorn{f' × {workers}' if workers > 1 else ''}",
        dialect=PRODUCT,
        command=gunicorn(
            sys.executable, "partnerapi.wsgi", workers, threads, PRODUCT_WORKER
        ),
        environment={},
        headers={"X-Token-Auth": key},
        cwd=settings.BASE_DIR,
    )


def product_on_granian(key: str, threads: int, installed: Installation) -> Plan:
    return replace(
        product_on_gunicorn(key, threads),
        name="partnerapi, granian",
        command=(
            *(sys.executable, "-m", "granian", "partnerapi.wsgi:application"),
            *("--interface", "wsgi", "--host", "127.0.0.1", "--port", "{port}"),
            *("--workers", "1", "--blocking-threads", str(threads), "--no-ws"),
            *("--log-level", "warning", "--respawn-failed-workers"),
        ),
        environment={"PYTHONPATH": str(installed.granian)},
    )


def django_peer(name: str, threads: int, installed: Installation) -> Plan:
    return Plan(
        name=name,
        dialect=DJANGO_PEER,
        command=gunicorn(installed.python(name), f"{PEERS}.wsgi", 1, threads),
        environment={
            "DJANGO_SETTINGS_MODULE": f"{PEERS}.settings",
            "BENCHMARK_PEER": name.replace("-", "_"),
            "BENCHMARK_DATABASE": json.dumps(database()),
        },
        headers={},
        cwd=settings.BASE_DIR,
    )


def postgraphile(installed: Installation) -> Plan:
    return Plan(
        name="PostGraphile",
        dialect=POSTGRAPHILE,
        command=(installed.node, installed.postgraphile / "postgraphile.mjs", "{port}"),
        environment={
            "NODE_ENV": "production",
            "GRAPHILE_ENV": "production",
            "BENCHMARK_DATABASE": json.dumps(database()),
        },
        headers={},
        cwd=installed.postgraphile,
    )


def database() -> dict[str, str]:
    where = connection.settings_dict
    host = where["HOST"] or where["OPTIONS"].get("host", "")
    names = ("NAME", "PORT", "USER", "PASSWORD")
    return {name: str(where[name]) for name in names} | {"HOST": host}


@dataclass(frozen=True)
class Server:
    """A server that answers, and how to ask it."""

    plan: Plan
    port: int
    process: Process

    @property
    def name(self) -> str:
        return self.plan.name

    def request(self, document: str) -> load.Request:
        return load.make_request(self.port, document, self.plan.headers)

    def page(self, first: int, nested: int) -> load.Request:
        return self.request(self.plan.dialect.document(first, nested))

    def checked(self, first: int, nested: int) -> bytes:
        """The body of a page's answer, equal to what the database holds.

        Raises:
            WrongAnswer: it holds something else.
        """
        body = load.ask(self.page(first, nested))
        answer = orjson.loads(body)
        if "errors" in answer:
            raise WrongAnswer(f"{self.name} answered errors: {answer['errors'][:2]}")
        found = self.plan.dialect.read(answer["data"])
        compare(found, expected(first, nested), self.name)
        return body

    @cached_property
    def processes(self) -> list[psutil.Process]:
        leader = psutil.Process(self.process.popen.pid)
        return [leader, *leader.children(recursive=True)]

    def cpu_seconds(self) -> float:
        return sum(map(cpu_seconds, self.processes))


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def postgres_cpu_seconds() -> dict[int, float]:
    """What each session but our own has used, by process; {} for another machine's."""
    if not database()["HOST"].startswith("/"):
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return {pid: cpu_seconds(psutil.Process(pid)) for (pid,) in cursor.fetchall()}


def recorded(directory: Path) -> Processes:
    return Processes(directory / "processes", lambda name, line: None)


def end_leftovers(directory: Path) -> None:
    """End the servers of a run that was killed."""
    recorded(directory).end_leftovers()


@contextlib.contextmanager
def running(directory: Path, *plans: Plan) -> Iterator[list[Server]]:
    """Servers that have answered a page; on leaving, all of them end.

    Raises:
        RunError: one does not start.
        WrongAnswer: one answers something else than the database holds.
    """
    processes = recorded(directory)
    try:
        servers = []
        for plan in plans:
            port = free_port()
            process = processes.start(
                plan.name,
                plan.at(port),
                environment=os.environ | plan.environment,
                cwd=plan.cwd,
            )
            server = Server(plan, port, process)
            try:
                processes.wait_until(partial(listens, server), process, START_SECONDS)
                server.checked(1, 1)
            except WrongAnswer as error:
                said = "\n".join(process.errors)
                raise WrongAnswer(f"{plan.name}: {error}\n{said}") from None
            servers.append(server)
        yield servers
    finally:
        processes.stop()


def listens(server: Server) -> bool:
    try:
        load.ask(server.page(1, 1))
    except ConnectionError:
        return False
    return True
