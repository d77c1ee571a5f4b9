"""Supplies PostgreSQL and Valkey for a test run where no address of one is set.

Loaded with `-p tests.servers`, before pytest-django reads the settings. One set of
servers serves all of xdist's workers, each of which has a database of its own in
PostgreSQL (`tests/databases.py`) and in Redis.
"""

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pytest

from partnerapi.sandbox.run.processes import Processes, RunError, take_lock
from partnerapi.sandbox.run.servers import supply
from tests.administration import let_owner_test, switch_autovacuum_off
from tests.kept_server import BYTECODE, IS_KEPT, kept_servers

PREFIX, UNNAMED = "partnerapi-tests-", "new-"
SETTINGS = {
    "PARTNER_API_SANDBOX": "true",
    "PARTNER_API_HTTPS": "false",
    "LOG_LEVEL": "WARNING",
    "PARTNER_API_BUDGET_SECONDS": str(10**9),
}
PATIENCE_SECONDS = 120.0
"""The limit of a wait: ten times what a busy machine takes, and no measure of speed."""
PATIENCE = {"PARTNER_API_MAX_SECONDS": f"{PATIENCE_SECONDS:.0f}"}


def worker_number() -> int:
    """0 for the only process or the one that leads; 1 and up for xdist's workers."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    return int(worker.removeprefix("gw")) + 1 if worker else 0


def redis_database(url: str, number: int) -> str:
    """The address of the database `number` places after the named one.

    Clients wait as long as a busy machine takes, and not a request's tenth of a second:
    other tests cover a silent Redis.
    """
    base, _, query = url.partition("?")
    options = dict(parse_qsl(query))
    patience = str(PATIENCE_SECONDS)
    options |= dict.fromkeys(("socket_timeout", "socket_connect_timeout"), patience)
    if url.startswith("unix:"):
        options["db"] = str(int(options.get("db", 0)) + number)
        return f"{base}?{urlencode(options)}"
    match = re.fullmatch(r"(\w+://[^/]+)(?:/(\d*))?", base)
    if match is None:
        raise pytest.UsageError(
            f"REDIS_URL={url}: expected redis://host:port/number; tests choose the "
            "databases that follow it"
        )
    return f"{match[1]}/{int(match[2] or 0) + number}?{urlencode(options)}"


def remove_leftovers() -> None:
    """End the servers of test runs that were killed, and delete their directories."""
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        # Its run may remove it meanwhile, or hold its lock, since it goes on.
        with contextlib.suppress(FileNotFoundError, RunError):
            remove_leftover(directory)


def remove_leftover(directory: Path) -> None:
    if directory.stat().st_uid == os.geteuid():
        with take_lock(directory):
            Processes(directory / "processes", lambda name, line: None).end_leftovers()
            if (directory / "disk").is_mount():
                subprocess.run(["umount", str(directory / "disk")], check=True)  # noqa: S607
            shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def held_directory() -> Iterator[Path]:
    """Of servers, which may run as another user; no other run takes it for a leftover.

    It has its name only while it is held: another run removes what no one holds, and
    would make its lock anew in a directory that is being emptied.
    """
    made = Path(tempfile.mkdtemp(prefix=UNNAMED + PREFIX))
    with take_lock(made):
        directory = made.rename(made.with_name(made.name.removeprefix(UNNAMED)))
        directory.chmod(0o755)
        try:
            yield directory
        finally:
            shutil.rmtree(directory.joinpath("servers").resolve(), ignore_errors=True)
            shutil.rmtree(directory.rename(made), ignore_errors=True)


@contextlib.contextmanager
def throw_away_servers(durable: bool = False) -> Iterator[dict[str, str]]:
    remove_leftovers()
    with held_directory() as directory:
        processes = Processes(directory / "processes", lambda name, line: None)
        try:
            urls = supply(directory, processes, os.environ, durable=durable)
            if not os.environ.get("DATABASE_URL"):
                let_owner_test(urls["DATABASE_OWNER_URL"])
                if not durable:
                    switch_autovacuum_off(urls["DATABASE_OWNER_URL"])
            yield urls
        finally:
            processes.stop()


@contextlib.contextmanager
def servers_of_the_run() -> Iterator[dict[str, str]]:
    """A kept PostgreSQL and a Valkey, or the PostgreSQL that the environment names."""
    if os.environ.get("DATABASE_URL"):
        with throw_away_servers() as urls:
            yield urls
    else:
        remove_leftovers()
        with kept_servers() as urls:
            yield {**urls, IS_KEPT: "true"}


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers() -> int:
    """Of `-n auto`: two more than processors, for many tests wait for something."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config,
) -> Generator[None, object, object]:
    servers = contextlib.ExitStack()
    early_config.add_cleanup(servers.close)
    number = worker_number()
    if not number:
        # So a run that gets a signal still stops its servers, and its children receive
        # SIGINT, which a shell's background jobs ignore.
        for told in (signal.SIGTERM, signal.SIGINT):
            signal.signal(told, signal.default_int_handler)
        for name, value in (SETTINGS | PATIENCE).items():
            os.environ.setdefault(name, value)
        for name in ("SECRET_KEY", "PARTNER_API_KEY_PEPPER"):
            os.environ.setdefault(name, secrets.token_urlsafe(50))
        try:
            os.environ |= servers.enter_context(servers_of_the_run())
        except RunError as error:
            raise pytest.UsageError(str(error)) from None
        # Hundreds of programs are started. Where none may write bytecode into the
        # project, the first one that needs a module keeps it for the others.
        if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
            os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(BYTECODE)
            sys.dont_write_bytecode = False
    os.environ["REDIS_URL"] = redis_database(os.environ["REDIS_URL"], number)
    return (yield)
