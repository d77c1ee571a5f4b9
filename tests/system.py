"""Runs `manage.py up` the way an operator does, for tests."""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
from django.conf import settings

from tests.waiting import PROGRAM_SECONDS, until

END_CALL = """
    UPDATE trading_auction SET earliest_at = now(), ends_at = now()
    WHERE ended IS NULL AND token_id = (SELECT id FROM issuers_token WHERE symbol = %s)
"""
IS_CONTINUOUS = """
    SELECT 1 FROM trading_market m JOIN issuers_token t ON t.id = m.token_id
    WHERE t.symbol = %s AND m.phase = 'CONTINUOUS'
"""


def bare_environment() -> dict[str, str]:
    """The environment of someone who has configured nothing."""
    return {n: v for n, v in os.environ.items() if n not in settings.VARIABLES}


def limited(**limits: int) -> dict[str, str]:
    """The environment of a process that has other limits than all installations."""
    return {
        "DJANGO_SETTINGS_MODULE": "tests.limited_settings",
        "LIMITS": json.dumps(limits),
    }


def free_port() -> int:
    """One that stays free: the system gives no one a port below 32768 unasked."""
    while True:
        port = 15_000 + secrets.randbelow(17_000)
        with (
            contextlib.suppress(OSError),
            socket.create_server(("127.0.0.1", port)),
        ):
            return port


def up_command(directory: Path, port: int) -> list[str]:
    manage = str(settings.BASE_DIR / "manage.py")
    command = [sys.executable, manage, "up", "--json", "--port", str(port)]
    return [*command, "--fix-port", str(free_port()), "--directory", str(directory)]


def refused(
    directory: Path, port: int, prefix: Sequence[str] = (), **environment: str
) -> str:
    """What `up` says on standard error when it ends with exit code 1."""
    ended = subprocess.run(
        [*prefix, *up_command(directory, port)],
        env=bare_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    assert ended.returncode == 1, ended
    assert ended.stdout == ""
    return ended.stderr


def remove_servers(directory: Path) -> None:
    """Delete what lies outside the state directory, which pytest does not know."""
    link = directory / "servers"
    if link.is_symlink():
        shutil.rmtree(link.resolve(), ignore_errors=True)


@dataclass
class System:
    up: subprocess.Popen[str]
    directory: Path
    described: dict
    log: Path

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.up.pid).children(recursive=True)

    def variable(self, name: str) -> str:
        lines = (self.directory / "environment").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)[name]

    def end_call(self, symbol: str) -> None:
        """The second comes at which the call of a market ends, and it trades anew."""
        address = self.variable("DATABASE_OWNER_URL")
        with psycopg.connect(address, autocommit=True) as owner:
            owner.execute(END_CALL, [symbol])
            until(lambda: owner.execute(IS_CONTINUOUS, [symbol]).fetchone())


@contextlib.contextmanager
def system(directory: Path, port: int) -> Iterator[System]:
    """A system that answers; on exit it gets a signal to end if it still runs."""
    log = directory.parent / f"{directory.name}.log"
    with log.open("w") as stderr:
        up = subprocess.Popen(
            up_command(directory, port),
            env=bare_environment(),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert up.stdout is not None
    with up.stdout:
        try:
            line = up.stdout.readline()
            assert line, f"it ended before it was ready:\n{log.read_text()}"
            yield System(up, directory, json.loads(line), log)
        finally:
            if up.poll() is None:
                up.terminate()
            up.wait(PROGRAM_SECONDS)
