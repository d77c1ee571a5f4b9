"""A durable installation to throw away, and to break while it is asked.

PostgreSQL with fsync and synchronous commits; gunicorn with several workers behind
one port, whose listener outlives them all.
"""

import contextlib
import os
import random
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import django
import psutil
import psycopg

from partnerapi.sandbox.run.places import private_directory, server_account
from partnerapi.sandbox.run.postgres import (
    find_postgres,
    machine_postgres,
    start_postgres,
    wheel_postgres,
)
from partnerapi.sandbox.run.processes import Process, Processes, RunError
from partnerapi.sandbox.run.servers import supply
from tests.administration import let_owner_test
from tests.installation import BUDGETS, UNLIMITED, migrate
from tests.servers import SETTINGS, held_directory, remove_leftovers

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 600


class Database:
    """The server behind DATABASE_URL: crashed, stopped, started again."""

    def __init__(self, directory: Path, processes: Processes) -> None:
        self.directory = directory
        self.processes = processes
        self.restarts = 0

    @property
    def server(self) -> Process:
        [server] = [p for p in self.processes.running if p.name == "postgres"]
        return server

    def restart(self, number: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT stops it in order, SIGQUIT and SIGKILL do not."""
        self.end(number)
        self.start()

    def end(self, number: signal.Signals) -> None:
        server = self.server
        server.popen.send_signal(number)
        server.popen.wait(START_SECONDS)
        self.processes.running.remove(server)

    def start(self) -> None:
        account = server_account(self.directory / "servers")
        private = private_directory(self.directory, account)
        postgres = find_postgres(private, [*machine_postgres(), *wheel_postgres()])
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                start_postgres(postgres, private, account, self.processes, durable=True)
                break
            except RunError:
                # Sessions of a killed server live until they notice.
                self.processes.running.remove(self.server)
                if time.monotonic() > deadline:
                    raise
        self.restarts += 1


class Web:
    """gunicorn with several workers; `application` names what it serves."""

    def __init__(
        self, processes: Processes, workers: int, application: str = "partnerapi.wsgi"
    ) -> None:
        self.processes = processes
        self.workers = workers
        self.application = application
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        # gunicorn does so itself, but not for a listener that it is handed.
        self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self.listener.getsockname()[1]
        self.killed_workers = self.killed_masters = 0
        self.master = self.start()

    def start(self) -> Process:
        number = self.listener.fileno()
        return self.processes.start(
            "web",
            [
                *(sys.executable, "-m", "gunicorn", self.application),
                *("--config", "python:partnerapi.operations.gunicorn_config"),
                *("--workers", str(self.workers), "--keep-alive", "60"),
                *("--log-level", "critical", f"--bind=fd://{number}"),
            ],
            environment=os.environ,
            cwd=ROOT,
            pass_fds=[number],
        )

    def living(self) -> list[psutil.Process]:
        master = psutil.Process(self.master.popen.pid)
        found = []
        for child in master.children():
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.status() != psutil.STATUS_ZOMBIE:
                    found.append(child)
        return found

    def kill_worker(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not (living := self.living()):
            if time.monotonic() > deadline:
                raise RunError("the web server has no worker left")
            time.sleep(0.01)
        random.choice(living).kill()
        self.killed_workers += 1

    def kill_master(self) -> None:
        """Kill it and start another; its workers find out, and end, by themselves."""
        self.master.popen.kill()
        self.master.popen.wait()
        self.processes.running.remove(self.master)
        self.master = self.start()
        self.killed_masters += 1

    def close(self) -> None:
        self.listener.close()


@contextlib.contextmanager
def breakable_installation(
    make_tables: Callable[[], None] = migrate,
) -> Iterator[tuple[Processes, Database]]:
    """Servers, settings and a database with empty tables; budgets never run out."""
    remove_leftovers()
    os.environ |= SETTINGS | dict.fromkeys(BUDGETS, UNLIMITED)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "partnerapi.settings",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "PARTNER_API_KEY_PEPPER": secrets.token_urlsafe(50),
    }
    with held_directory() as directory:
        processes = Processes(directory / "processes", lambda name, line: None)
        try:
            os.environ |= supply(directory, processes, {}, durable=True)
            let_owner_test(os.environ["DATABASE_OWNER_URL"])
            check_durable()
            django.setup()
            make_tables()
            close_connection()
            yield processes, Database(directory, processes)
            close_connection()
        finally:
            processes.stop()


def check_durable() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"]) as session:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            row = session.execute(f"SHOW {name}").fetchone()
            if row != ("on",):
                raise RunError(f"{name} is not on in the server that was started")


def close_connection() -> None:
    """Close this process's session, which would block the next step."""
    from django.db import connection

    connection.close()
