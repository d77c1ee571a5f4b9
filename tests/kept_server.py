"""A PostgreSQL that outlives a test run, for the next one.

There are as many as run side by side: a run takes one for itself. A keeper, a process
of its own, starts the server. It ends the server, removes the data and ends itself when
no run has taken them for a while, or on SIGTERM. The directories lie in the user's
cache. The next run removes the data of a keeper that was killed, for they are not
written durably.
"""

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from partnerapi.sandbox.run.places import START_SECONDS
from partnerapi.sandbox.run.postgres import APPLICATION, DATABASE, OWNER
from partnerapi.sandbox.run.processes import (
    Interrupted,
    Processes,
    RunError,
    take_lock,
)
from partnerapi.sandbox.run.servers import supply
from tests.administration import (
    administrator_of,
    let_owner_test,
    switch_autovacuum_off,
)
from tests.tables import CACHE, best_postgres, remove_unfinished

IDLE_SECONDS = 900.0
POLL_SECONDS = 0.5
TEMPLATE = "tables_"
"""The names of databases begin so that others are copied from."""
TEMPLATES_KEPT = 4
BYTECODE = CACHE / "bytecode"
IS_KEPT = "PARTNERAPI_TESTS_ON_A_KEPT_SERVER"
"""An environment variable, by which xdist's workers know it, too."""


@contextlib.contextmanager
def kept_servers(
    cache: Path = CACHE, idle_seconds: float = IDLE_SECONDS
) -> Iterator[dict[str, str]]:
    """Addresses of a PostgreSQL and a Valkey that no other run uses meanwhile.

    The database that they name is empty; Valkey is this run's own.

    Raises:
        RunError: no programs, or a server that does not start.
    """
    remove_abandoned(cache)
    for number in itertools.count():
        directory = cache / f"server-{major()}-{number}"
        directory.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(RunError):
            lock = take_lock(directory)
            break
    with lock:
        processes = Processes(directory / "processes", lambda name, line: None)
        processes.end_leftovers()
        try:
            urls = running_server(directory, idle_seconds)
            clear(urls["DATABASE_OWNER_URL"])
            yield supply(directory, processes, urls)
        finally:
            processes.stop()
            directory.joinpath("used").touch()


def major() -> int:
    return best_postgres(Path("/nonexistent")).major


def running_server(directory: Path, idle_seconds: float) -> dict[str, str]:
    """The addresses of the server there, which a new keeper starts if none runs."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        directory.joinpath("used").touch()
        with contextlib.suppress(RunError):
            # Only for a moment: the keeper takes it.
            take_lock(kept_by(directory)).close()
            start_keeper(directory, idle_seconds)
        with contextlib.suppress(OSError, ValueError, psycopg.OperationalError):
            urls: dict[str, str] = json.loads((directory / "addresses").read_text())
            administrator_of(urls["DATABASE_OWNER_URL"]).close()
            return urls
        if time.monotonic() > deadline:
            raise RunError(f"the server that {directory} keeps does not answer")
        time.sleep(POLL_SECONDS / 10)


def kept_by(directory: Path) -> Path:
    """The directory of the keeper's own lock, record and log."""
    keeper = directory / "keeper"
    keeper.mkdir(exist_ok=True)
    return keeper


def start_keeper(directory: Path, idle_seconds: float) -> None:
    """Start a keeper, and wait until its server answers.

    Raises:
        RunError: it ended instead.
    """
    log = kept_by(directory) / "log"
    keeper = [
        sys.executable,
        "-m",
        "tests.kept_server",
        str(directory),
        str(idle_seconds),
    ]
    with log.open("w") as errors:
        starter = subprocess.Popen(
            # It is no child of the run, which ends before it.
            ["sh", "-c", '"$@" &', "sh", *keeper],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    assert starter.stdout is not None
    with starter, starter.stdout as ready:
        if not ready.readline():
            raise RunError(log.read_text().strip() or "the kept server has ended")


def keep(directory: Path, idle_seconds: float) -> None:
    """Run the server until no run has held the directory for so long, or SIGTERM."""
    keeper = kept_by(directory)
    processes = Processes(keeper / "processes", lambda name, line: None)

    def end(number: int, frame: object) -> None:
        processes.interrupted = True

    signal.signal(signal.SIGTERM, end)
    with contextlib.ExitStack() as held:
        held.enter_context(take_lock(keeper))
        (keeper / "pid").write_text(str(os.getpid()))
        remove_data(directory)
        elsewhere = {"REDIS_URL": "each run has its own"}
        try:
            urls = supply(directory, processes, elsewhere, durable=False)
            servers = directory.joinpath("servers").resolve()
            del urls["REDIS_URL"]
            (directory / "addresses").write_text(json.dumps(urls))
            print(flush=True)  # noqa: T201
            while all(p.popen.poll() is None for p in processes.running):
                if processes.interrupted or is_unwanted(directory, idle_seconds, held):
                    break
                time.sleep(POLL_SECONDS)
            processes.stop()
            # Where the directory is gone, so is the link to them.
            shutil.rmtree(servers, ignore_errors=True)
        except Interrupted:
            pass
        finally:
            processes.stop()
            remove_data(directory)
            # A run beside this one makes again what it still needs.
            shutil.rmtree(directory.parent / BYTECODE.name, ignore_errors=True)


def remove_data(directory: Path) -> None:
    """Remove what a keeper has left, and end what runs on it."""
    for place in (directory, directory / "keeper"):
        Processes(place / "processes", lambda name, line: None).end_leftovers()
    servers = directory / "servers"
    shutil.rmtree(servers.resolve(), ignore_errors=True)
    if servers.is_symlink():
        servers.unlink()


def remove_abandoned(cache: Path) -> None:
    """Remove what killed keepers and killed runs have left in the cache."""
    remove_unfinished(cache)
    for directory in cache.glob("server-*"):
        with (
            contextlib.suppress(RunError),
            take_lock(directory),
            take_lock(kept_by(directory)),
        ):
            remove_data(directory)


def is_unwanted(directory: Path, seconds: float, held: contextlib.ExitStack) -> bool:
    """Whether it is gone, or no run has taken it for so long; then none can take it."""
    try:
        unused = time.time() - directory.joinpath("used").stat().st_mtime
        if unused >= seconds:
            held.enter_context(take_lock(directory))
            return True
    except FileNotFoundError:
        return True
    except RunError:
        pass
    return False


def clear(owner_url: str) -> None:
    """Remove what the run before has left, killed or not, but the newest templates."""
    with administrator_of(owner_url) as session:
        for (name,) in session.execute(OLD_DATABASES, [TEMPLATES_KEPT]).fetchall():
            session.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        for (name,) in session.execute(OLD_ROLES, [[OWNER, APPLICATION]]).fetchall():
            session.execute(f'DROP ROLE "{name}"')
        session.execute("ALTER SYSTEM RESET ALL")
        session.execute(f'CREATE DATABASE "{DATABASE}" OWNER "{OWNER}"')
    let_owner_test(owner_url)
    switch_autovacuum_off(owner_url)


# A template's comment is when a run has asked for it last.
OLD_DATABASES = f"""
    SELECT datname FROM pg_database
    WHERE NOT datistemplate AND datname <> 'postgres' AND datname NOT IN (
        SELECT datname FROM pg_database WHERE starts_with(datname, '{TEMPLATE}')
        ORDER BY shobj_description(oid, 'pg_database') DESC NULLS LAST
        LIMIT %s)
"""
OLD_ROLES = """
    SELECT rolname FROM pg_roles
    WHERE NOT starts_with(rolname, 'pg_') AND NOT rolsuper AND rolname <> ALL (%s)
"""


if __name__ == "__main__":
    keep(Path(sys.argv[1]), float(sys.argv[2]))
