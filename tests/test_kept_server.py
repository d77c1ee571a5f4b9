"""The server that test runs keep, tried in a cache of its own."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from shutil import rmtree

import psycopg
import pytest

from partnerapi.core.sql_files import every_file
from partnerapi.sandbox.run.processes import RunError, started_at, take_lock
from tests.administration import administrator_of
from tests.kept_server import BYTECODE, TEMPLATE, kept_by, kept_servers
from tests.tables import alone, makers
from tests.waiting import until

STARTED = "SELECT pg_postmaster_start_time()"
DATABASES = "SELECT datname FROM pg_database WHERE NOT datistemplate ORDER BY datname"
LONG_SECONDS = 100_000.0


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    for directory in tmp_path.glob("server-*"):
        servers = directory.joinpath("servers").resolve()
        if has_keeper(directory):
            # It ends when its directory is gone.
            rmtree(directory)
            until(partial(is_gone, servers))
        rmtree(servers, ignore_errors=True)


def is_gone(servers: Path) -> bool:
    return not servers.exists()


def has_keeper(directory: Path) -> bool:
    try:
        take_lock(kept_by(directory)).close()
    except RunError:
        return True
    return False


def processes(directory: Path) -> list[dict]:
    lines = (kept_by(directory) / "processes").read_text().splitlines()
    return [json.loads(line) for line in lines]


def is_running(process: dict) -> bool:
    return started_at(process["pid"]) == process["started"]


def asked(urls: dict[str, str], statement: str) -> list[tuple]:
    with administrator_of(urls["DATABASE_OWNER_URL"]) as session:
        return session.execute(statement).fetchall()


def test_a_run_finds_the_server_of_the_run_before_without_what_it_left(cache: Path):
    with kept_servers(cache, LONG_SECONDS) as first:
        started = asked(first, STARTED)
        with administrator_of(first["DATABASE_OWNER_URL"]) as session:
            for name in ("test_left", *(f"{TEMPLATE}{n}" for n in range(6))):
                session.execute(f'CREATE DATABASE "{name}"')
                session.execute(f"COMMENT ON DATABASE \"{name}\" IS '{name}'")
            session.execute("CREATE ROLE someone")
            session.execute("ALTER SYSTEM SET work_mem = '1MB'")
        with psycopg.connect(first["DATABASE_OWNER_URL"]) as session:
            session.execute("CREATE TABLE left_over ()")
    with kept_servers(cache, LONG_SECONDS) as second:
        assert asked(second, STARTED) == started
        databases = {
            name for (name,) in asked(second, "SELECT datname FROM pg_database")
        }
        assert databases - {"template0", "template1", "postgres", "partnerapi"} == {
            f"{TEMPLATE}{number}" for number in range(2, 6)
        }
        assert asked(second, "SELECT FROM pg_roles WHERE rolname = 'someone'") == []
        assert asked(second, "SHOW work_mem") == [("4MB",)]
        with psycopg.connect(second["DATABASE_URL"]) as session:
            row = session.execute("SELECT to_regclass('left_over')").fetchone()
            assert row == (None,)


def test_runs_side_by_side_have_servers_of_their_own(cache: Path):
    with ExitStack() as runs:
        urls = [runs.enter_context(kept_servers(cache, LONG_SECONDS)) for _ in range(2)]
        for name in ("DATABASE_URL", "REDIS_URL"):
            assert urls[0][name] != urls[1][name]
        assert asked(urls[0], STARTED) != asked(urls[1], STARTED)


def test_a_server_whose_keeper_was_killed_is_replaced(cache: Path):
    with kept_servers(cache, LONG_SECONDS) as urls:
        started = asked(urls, STARTED)
        [directory] = cache.glob("server-*")
        [postgres] = processes(directory)
        os.kill(int((kept_by(directory) / "pid").read_text()), signal.SIGKILL)
    with kept_servers(cache, LONG_SECONDS) as urls:
        assert not is_running(postgres)
        assert asked(urls, STARTED) != started


def test_a_server_that_no_run_takes_ends_and_leaves_no_data(cache: Path):
    bytecode = cache / BYTECODE.name
    bytecode.mkdir()
    with kept_servers(cache, 0):
        [directory] = cache.glob("server-*")
        [postgres] = processes(directory)
        servers = directory.joinpath("servers").resolve()
        assert is_running(postgres)
    until(lambda: not has_keeper(directory))
    assert not is_running(postgres)
    assert left_of(servers) == left_of(directory) == []
    assert not bytecode.exists()


def test_a_keeper_that_is_told_to_end_ends_its_server(cache: Path):
    with kept_servers(cache, LONG_SECONDS):
        [directory] = cache.glob("server-*")
        [postgres] = processes(directory)
        servers = directory.joinpath("servers").resolve()
    os.kill(int((kept_by(directory) / "pid").read_text()), signal.SIGTERM)
    until(lambda: not has_keeper(directory))
    assert not is_running(postgres)
    assert left_of(servers) == left_of(directory) == []


def left_of(directory: Path) -> list[Path]:
    """The files of more than a kilobyte, and sockets."""
    return [
        path
        for path in directory.rglob("*")
        if not path.is_dir() and (path.stat().st_size > 1024 or path.is_socket())
    ]


def test_a_run_removes_what_killed_ones_have_left(cache: Path):
    with ExitStack() as runs:
        for _ in range(2):
            runs.enter_context(kept_servers(cache, LONG_SECONDS))
        first, second = sorted(cache.glob("server-*"))
        [postgres] = processes(second)
        servers = second.joinpath("servers").resolve()
    os.kill(int((kept_by(second) / "pid").read_text()), signal.SIGKILL)
    until(lambda: not has_keeper(second))
    unfinished = [cache / f"tables-{name}.unfinished" for name in ("killed", "written")]
    for path in unfinished:
        path.touch()
    with alone(unfinished[1]), kept_servers(cache, LONG_SECONDS):
        assert has_keeper(first)
        assert not is_running(postgres)
        assert not servers.exists()
        assert [path.exists() for path in unfinished] == [False, True]


def test_the_log_of_a_kept_server_stays_small(cache: Path):
    with kept_servers(cache, LONG_SECONDS) as urls:
        [(size,)] = asked(urls, "SELECT pg_size_bytes(current_setting('max_wal_size'))")
        assert size <= 128 * 1024**2


def test_what_a_file_of_sql_says_names_the_tables():
    """A role's rights follow `called by`, and a kept template has them."""
    assert {file.path for file in every_file()} <= {*makers()}
