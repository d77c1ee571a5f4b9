"""An installation as production has it, all of whose parts run, and may be broken.

A primary that archives its log, a standby, a Valkey; web server, worker, beat, FIX
acceptor, market clock and sender of webhooks, each with a log of its own and, as by
systemd, started again where it ends.
"""

import base64
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import redis
from django.conf import settings

from partnerapi.sandbox.rehearsal.clusters import Cluster
from partnerapi.sandbox.run.places import private_directory, server_account
from partnerapi.sandbox.run.postgres import APPLICATION, DATABASE, administration
from partnerapi.sandbox.run.processes import Processes
from partnerapi.sandbox.run.valkey import start_valkey
from tests.operations.certificates import new_certificate
from tests.operations.servers_of_their_own import manage, with_tables
from tests.servers import held_directory
from tests.system import free_port
from tests.waiting import PATIENCE_SECONDS, until

DISK = "512m"
"""The size of the primary's disk, where one can be mounted."""
RESTART_SECONDS = 1.0
ACCOUNTS = 4
MAKE_ACCESS = """
import json
from accounts.keys.models import Partner
from marketdata.models import FixSession
from tests.chaos.population import make_accounts
token, accounts = make_accounts({count})
[session] = FixSession.objects.bind(Partner.objects.get(name="Impatient"))
print(json.dumps([token, [str(account) for account in accounts]]))
"""

ALL_SENT = "UPDATE accounts_staffnotice SET sent_at = clock_timestamp()"
NO_STAFF_WORK = "UPDATE accounts_user SET is_active = FALSE WHERE is_staff"
"""Members of staff who decide would need a passkey."""
JUST_MADE = "UPDATE django_migrations SET applied = clock_timestamp()"
"""Its tables are a copy of those that the run of the tests began with."""
"""No server takes e-mails here."""


class Part:
    """One of the processes that serve, with its log."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        self.command, self.environment, self.log = command, environment, log
        self.starts = 0
        self.is_wanted = True
        self.start()

    def start(self, **more: str) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, *self.command],
                cwd=settings.BASE_DIR,
                env={**self.environment, **more},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.starts += 1
        self.is_wanted = True

    def stop(self) -> None:
        self.is_wanted = False
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)

    def family(self) -> list[psutil.Process]:
        leader = psutil.Process(self.process.pid)
        return [leader, *leader.children(recursive=True)]


class Living:
    def __init__(self, place: Path, processes: Processes) -> None:
        self.place, self.processes = place, processes
        self.disk = place / "disk"
        self.disk.mkdir()
        self.disk.chmod(0o755)
        self.is_mounted = mounted(self.disk, DISK)
        self.primary = Cluster(self.disk / "primary", processes)
        self.standby = Cluster(place / "standby", processes)
        self.parts: dict[str, Part] = {}
        self.ended = threading.Event()
        self.keeper = threading.Thread(target=self.keep)

    def make(self) -> None:
        account = server_account(self.place / "servers")
        private = private_directory(self.place, account)
        self.valkey_socket = start_valkey(private, account, self.processes)
        [self.valkey] = [p for p in self.processes.running if p.name == "valkey"]
        self.environment = self.settings()
        self.make_clusters()
        made = manage(
            self.primary,
            *("shell", "--verbosity", "0", "-c", MAKE_ACCESS.format(count=ACCOUNTS)),
            environment=self.environment,
        )
        self.token, self.accounts = json.loads(made.splitlines()[-1])
        with self.administrator() as session:
            session.execute(ALL_SENT)
            session.execute(JUST_MADE)
            session.execute(NO_STAFF_WORK)
        self.parts = {
            name: Part(command, self.environment, self.place / f"{name}.log")
            for name, command in self.commands().items()
        }
        self.keeper.start()
        until(lambda: self.doctor()[0] == 0, lambda: self.attention(), pause=1)

    def make_clusters(self) -> None:
        primary, standby = self.primary, self.standby
        primary.make()
        primary.run("pg_checksums", "--enable", f"--pgdata={primary.data}")
        primary.configure(
            archive_mode="on", archive_command="true", max_wal_size="96MB"
        )
        primary.start()
        with_tables(primary, self.environment)
        with self.administrator() as session:
            session.execute(f"ALTER ROLE {APPLICATION} PASSWORD 'right'")
        standby.copy(primary, "--write-recovery-conf")
        standby.configure(
            archive_mode="off",
            max_prepared_transactions="2",
            wal_retrieve_retry_interval="100ms",
        )
        standby.start()

    def settings(self) -> dict[str, str]:
        directories = {}
        for name in ("BACKUPS", "METRICS", "STATEMENTS", "DIRECTORY"):
            directory = self.place / name.lower()
            directory.mkdir()
            directories[f"PARTNER_API_{name}"] = str(directory)
        self.backup = self.place / "backups" / "base"
        self.backup.touch()
        self.port = free_port()
        usual = {n: v for n, v in os.environ.items() if n not in settings.VARIABLES}
        return usual | {
            "DATABASE_URL": self.address("right"),
            "REPLICA_URL": self.standby.urls["DATABASE_URL"],
            "REDIS_URL": f"unix://{quote(str(self.valkey_socket))}?db=0",
            "SECRET_KEY": secrets.token_urlsafe(50),
            "PARTNER_API_KEY_PEPPER": secrets.token_urlsafe(50),
            "PARTNER_API_STATEMENT_KEY": base64.b64encode(os.urandom(32)).decode(),
            "PARTNER_API_HTTPS": "false",
            "PARTNER_API_PASSKEY_DOMAIN": "admin.example.com",
            "PARTNER_API_MAX_SECONDS": "5",
            "EMAIL_URL": f"smtp://127.0.0.1:{free_port()}",
            "FIX_PORT": str(free_port()),
            "FIX_SESSIONS": "10",
            "LOG_FORMAT": "json",
            **directories,
            **new_certificate(self.place, days=60),
        }

    def address(self, password: str) -> str:
        usual = self.primary.urls["DATABASE_URL"]
        return usual.replace(f"{APPLICATION}@", f"{APPLICATION}:{password}@")

    def commands(self) -> dict[str, list[str]]:
        celery = ["-m", "celery", "--app=partnerapi"]
        return {
            "web": [
                *("-m", "gunicorn", "partnerapi.wsgi"),
                *("--config", "python:partnerapi.operations.gunicorn_config"),
                *("--workers", "2", "--bind", f"127.0.0.1:{self.port}"),
            ],
            "worker": [*celery, "worker", "--concurrency", "1"],
            "beat": [*celery, "beat", "--schedule", str(self.place / "schedule")],
            "acceptor": [str(settings.BASE_DIR / "manage.py"), "run_fix_acceptor"],
            "clock": [str(settings.BASE_DIR / "manage.py"), "run_market_clock"],
            "webhooks": [str(settings.BASE_DIR / "manage.py"), "run_webhooks"],
        }

    def keep(self) -> None:
        while not self.ended.wait(RESTART_SECONDS):
            for part in self.parts.values():
                if part.is_wanted and part.process.poll() is not None:
                    part.start()

    def doctor(self, **more: str) -> tuple[int, list[dict[str, Any]]]:
        """Its exit code and checks, with other settings than the parts have."""
        web = more.pop("WEB", f"http://127.0.0.1:{self.port}")
        ended = subprocess.run(
            [
                *(sys.executable, settings.BASE_DIR / "manage.py", "doctor", "--json"),
                *("--web", web),
            ],
            env=self.environment | {"FIX_KEY": self.token} | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert ended.stdout, ended.stderr
        return ended.returncode, json.loads(ended.stdout)["checks"]

    def attention(self, **more: str) -> list[str]:
        """What is not well."""
        return [
            f"{one['check']} ({one['state']}): {one['says']}"
            for one in self.doctor(**more)[1]
            if one["state"] != "ok"
        ]

    @contextmanager
    def administrator(self) -> Iterator[Any]:
        with administration(self.primary.private, DATABASE) as session:
            session.execute("SET default_transaction_read_only = off")
            # Its commits wait for no standby.
            session.execute("SET synchronous_commit = local")
            yield session

    @contextmanager
    def valkey_administrator(self) -> Iterator[Any]:
        with redis.Redis(unix_socket_path=str(self.valkey_socket)) as client:
            yield client

    def end(self) -> None:
        self.ended.set()
        if self.keeper.ident:
            self.keeper.join()
        for part in self.parts.values():
            if part.process.poll() is None:
                part.stop()
        self.processes.stop()
        for cluster in (self.primary, self.standby):
            cluster.remove()
        if self.is_mounted:
            unmount(self.disk)


def mounted(place: Path, size: str) -> bool:
    """Whether a disk of a size of its own could be mounted there, in memory."""
    if os.geteuid() != 0:
        return False
    named = ("-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(place))
    return not subprocess.run(["mount", *named], check=False).returncode  # noqa: S607


def unmount(place: Path) -> None:
    subprocess.run(["umount", str(place)], check=True)  # noqa: S607


@contextmanager
def filled(place: Path) -> Iterator[None]:
    """A disk without a byte that is free."""
    filler = place / "filler"
    try:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"\0" * 2**20)
        with filler.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"\0" * 512)
        yield
    finally:
        filler.unlink()


@contextmanager
def living_installation() -> Iterator[Living]:
    with held_directory() as directory:
        processes = Processes(directory / "processes", lambda name, line: None)
        living = Living(directory, processes)
        try:
            living.make()
            yield living
        finally:
            living.end()
