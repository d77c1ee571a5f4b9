import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import psycopg
import pytest
from celery.beat import PersistentScheduler
from django.conf import settings
from django.core.management import get_commands, load_command_class

from partnerapi.celery import app
from partnerapi.sandbox.run.processes import started_at
from partnerapi.sandbox.run.welcome import BOOKS
from tests.system import (
    System,
    bare_environment,
    free_port,
    refused,
    remove_servers,
    system,
    up_command,
)
from tests.waiting import PATIENCE_SECONDS, until

MOST_COMMANDS = 12
"""That the second start of a system may take as long as, one after the other."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state directory with a path of 120 characters below one of mode 0700.

    It is filled once: a test that starts a system in it finds the data there.
    """
    start = f"{tmp_path_factory.mktemp('filled')}/"
    directory = Path(start + "d" * (120 - len(start)))
    yield directory
    remove_servers(directory)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Path]:
    """A state directory that is not there yet."""
    yield tmp_path / "state"
    remove_servers(tmp_path / "state")


@pytest.fixture
def open_state() -> Iterator[Path]:
    """A state directory that every user can reach."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory) / "state"


def ask(described: dict, query: str) -> dict:
    request = urllib.request.Request(
        described["graphql"],
        data=json.dumps({"query": query}).encode(),
        headers={
            "Content-Type": "application/json",
            "X-Token-Auth": described["key"],
        },
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def one_line(stderr: str) -> str:
    assert stderr.count("\n") == 1, stderr
    return stderr.strip()


def command_seconds() -> float:
    """How long a command that does nothing takes on this machine at this moment."""
    began = time.monotonic()
    command = [sys.executable, "manage.py", "check"]
    subprocess.run(command, cwd=settings.BASE_DIR, check=True, capture_output=True)
    return time.monotonic() - began


def test_a_system_serves_until_its_end_and_the_next_keeps_its_data(state):
    assert len(str(state)) == 120
    port = free_port()
    with system(state, port) as first:
        serves(first, port)
        refuses_a_second_run(state)
        finds_no_fault(state)
        with psycopg.connect(first.variable("DATABASE_URL")) as connection:
            connection.execute("UPDATE issuers_issuer SET tag_line = 'Kept'")
            assert connection.execute(EXPIRED).rowcount == 3
        secrets = [first.variable(n) for n in ("SECRET_KEY", "PARTNER_API_KEY_PEPPER")]
        ends(first, signal.SIGTERM)
    for name in ("environment", "staff-password"):
        assert stat.S_IMODE((state / name).stat().st_mode) == 0o600
    turn_beat_back(state)

    before = command_seconds()
    began = time.monotonic()
    with system(state, port) as second:
        seconds = time.monotonic() - began
        # Five processes, one after the other, with room for twice of that.
        assert seconds < MOST_COMMANDS * (before + command_seconds()) / 2
        for described in (first.described, second.described):
            # Each start has a port of its own.
            assert "--port" in described["fix"].pop("client")
            described["fix"].pop("port")
        assert second.described == first.described
        query = "{ issuers(first: 1) { nodes { tagLine } } }"
        assert ask(second.described, query) == {
            "data": {"issuers": {"nodes": [{"tagLine": "Kept"}]}}
        }
        assert secrets == [
            second.variable(n) for n in ("SECRET_KEY", "PARTNER_API_KEY_PEPPER")
        ]
        does_what_was_missed(second)
        moves_its_books(second)
        ends(second, signal.SIGINT)


def finds_no_fault(state: Path) -> None:
    """What a newcomer's `doctor` says."""
    ended = subprocess.run(
        [sys.executable, settings.BASE_DIR / "manage.py", "doctor", "--json"],
        env=bare_environment() | {"PARTNER_API_DIRECTORY": str(state)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {check["check"]: check for check in json.loads(ended.stdout)["checks"]}
    # Web servers are the whole machine's, and so those of other tests; a worker and an
    # acceptor of a busy machine may take longer than is waited for.
    for name in ("web servers", "worker", "logon"):
        assert found.pop(name)
    assert [one for one in found.values() if one["state"] == "failed"] == []


def serves(running: System, port: int) -> None:
    described = running.described
    assert described["fix"]["port"] != port
    assert described | {"fix": None} == {
        "graphql": f"http://localhost:{port}/graphql",
        "graphiql": f"http://localhost:{port}/graphiql",
        "admin": f"http://localhost:{port}/admin/",
        "key": running.variable("PARTNER_API_SANDBOX_KEY"),
        "markets": ["DORVAUX", "VALDASTRI", "TIDEWICK", "ROSMARIN", "GRACHTENLAB"],
        "staff": {
            "login": "staff@sandbox.example",
            "colleague": "colleague@sandbox.example",
            "password": (running.directory / "staff-password").read_text(),
        },
        "fix": None,
    }
    query = "{ viewer { login } }"
    assert ask(described, query) == {"data": {"viewer": {"login": "demo"}}}
    # What the processes say while they start is kept aside.
    said = running.log.read_text()
    assert "FATAL" not in said
    assert "WARNING" not in said
    assert "postgres |" in (running.directory / "start.log").read_text()


def refuses_a_second_run(state: Path) -> None:
    assert one_line(refused(state, free_port())) == (
        f"CommandError: {state} is in use by another run; stop that one, or choose "
        "another directory with --directory"
    )


def ends(running: System, number: signal.Signals) -> None:
    """It ends at the signal, and leaves no process."""
    children = running.children()
    assert "postgres" in set(names(children))
    assert len(children) > 9
    running.up.send_signal(number)
    assert running.up.wait(PATIENCE_SECONDS) == 0
    assert [child for child in children if child.is_running()] == []
    assert not (running.directory / "processes").exists()


def names(processes: list[psutil.Process]) -> Iterator[str]:
    """Of those that have not ended, as workers of PostgreSQL do."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            yield process.name()


EXPIRED = """
INSERT INTO partnerapi_idempotencyrecord
    (partner_id, key, fingerprint, body, created_at, expires_at)
SELECT id, gen_random_uuid(), '', '{}', now() - interval '25 hours',
    now() - interval '1 hour'
FROM accounts_partner
"""


def turn_beat_back(state: Path) -> None:
    """Every job has been missed for a day."""
    scheduler = PersistentScheduler(
        app=app, schedule_filename=str(state / "beat-schedule")
    )
    for entry in scheduler.schedule.values():
        entry.last_run_at -= timedelta(days=1)
    scheduler.close()


def does_what_was_missed(running: System) -> None:
    """Beat asks for it, and the worker does it."""
    with psycopg.connect(
        running.variable("DATABASE_URL"), autocommit=True
    ) as connection:
        left = "SELECT FROM partnerapi_idempotencyrecord"
        until(lambda: connection.execute(left).rowcount == 0, pause=0.1)
    assert " ERROR " not in running.log.read_text()


MARKET = """
SELECT count(*), count(*) FILTER (WHERE last_sequence > 40)
FROM marketdata_orderbookhead h
WHERE NOT EXISTS (SELECT FROM trading_marketparameters p
    WHERE p.token_id = h.token_id AND p.model = 'FIXING')
"""
"""Books that move all the time; one of fixings waits for its next call."""


def moves_its_books(running: System) -> None:
    with psycopg.connect(
        running.variable("DATABASE_URL"), autocommit=True
    ) as connection:

        def found() -> object:
            return connection.execute(MARKET).fetchone()

        until(lambda: found() == (23, 23), found, pause=0.1)
        moved = "SELECT sum(last_sequence) FROM marketdata_orderbookhead"
        before = connection.execute(moved).fetchone()
        until(lambda: connection.execute(moved).fetchone() != before, pause=0.1)
    answer = ask(running.described, BOOKS)
    books = {
        token["symbol"]: token["orderBook"]
        for token in answer["data"]["issuer"]["tokens"]["nodes"]
    }
    assert {symbol: len(book["bids"]) for symbol, book in books.items() if book} == {
        "LUMARELLE": 3,
        "LUMARELLE-E": 3,
    }
    assert books["LUMARELLE-B"] is None


def test_the_start_after_a_kill_cleans_up(state):
    port = free_port()
    with system(state, port) as killed:
        left = killed.children()
        killed.up.kill()
    with system(state, port) as running:
        assert ask(running.described, "{ __typename }") == {
            "data": {"__typename": "Query"}
        }
        log = running.log.read_text()
        for name in ("web", "market", "worker", "beat", "valkey", "postgres"):
            assert f"stopped {name}, left over from a run that was killed" in log
        assert [child for child in left if child.is_running()] == []
        ends_with(running, "postgres")


def ends_with(running: System, name: str) -> None:
    """The end of one of its processes is its own end."""
    children = running.children()
    for line in (running.directory / "processes").read_text().splitlines():
        recorded = json.loads(line)
        if recorded["name"] == name:
            os.kill(recorded["pid"], signal.SIGKILL)
    assert running.up.wait(PATIENCE_SECONDS) == 1
    last = running.log.read_text().splitlines()[-1]
    assert last.startswith(f"CommandError: {name} ended with SIGKILL: ")
    psutil.wait_procs(children, timeout=PATIENCE_SECONDS)
    assert [child for child in children if child.is_running()] == []


def test_the_end_of_one_process_ends_all(state):
    with system(state, free_port()) as running:
        ends_with(running, "web")


def test_a_stranger_with_a_recorded_id_is_left_alone(fresh):
    stranger = subprocess.Popen(["sleep", "3600"])
    try:
        fresh.mkdir()
        assert started_at(stranger.pid) is not None
        record = {"name": "web", "pid": stranger.pid, "started": "1", "signal": 15}
        (fresh / "processes").write_text(json.dumps(record) + "\n")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            refused(fresh, taken.getsockname()[1])
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_port_in_use_is_named(fresh):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert one_line(refused(fresh, port)) == (
            f"CommandError: port {port} cannot be used: Address already in use; stop "
            "the program that listens there, or choose another port with --port"
        )


def test_a_port_for_fix_in_use_is_named_before_anything_begins(fresh):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [*up_command(fresh, free_port()), "--fix-port", str(port)],
            env=bare_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert one_line(ended.stderr) == (
        f"CommandError: port {port} cannot be used: Address already in use; stop the "
        "program that listens there, or choose another port with --fix-port"
    )


def test_an_unreadable_directory_is_named(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    # Root passes by permissions, unless it gives its capabilities away.
    without = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    prefix = without if os.geteuid() == 0 else []
    assert one_line(refused(closed / "state", free_port(), prefix)) == (
        f"CommandError: {closed}/state: Permission denied; correct that, or choose "
        "another directory with --directory"
    )


def test_a_file_in_place_of_the_directory_is_named(tmp_path):
    file = tmp_path / "file"
    file.touch()
    assert one_line(refused(file, free_port())) == (
        f"CommandError: {file}: File exists; correct that, or choose another "
        "directory with --directory"
    )


def small_disk(directory: Path) -> list[str]:
    """A prefix that lets a command write little: 8 MB of disk, or files of 4 MB."""
    mount = f"mount -t tmpfs -o size=8m,mode=755 none {directory}"
    tried = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount], capture_output=True, check=False
    )
    if tried.returncode == 0:
        return ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    return ["sh", "-c", 'ulimit -f 8192 && exec "$@"', "sh"]


def test_a_full_disk_is_named(open_state):
    open_state.parent.chmod(0o755)
    prefix = small_disk(open_state.parent)
    line = one_line(refused(open_state, free_port(), prefix))
    assert line.startswith("CommandError: initdb ended with exit code 1: ")
    assert line.endswith(("No space left on device", "File too large"))


def test_data_of_another_version_of_postgresql_are_not_touched(open_state):
    (open_state / "servers" / "postgresql-99").mkdir(parents=True)
    line = one_line(refused(open_state, free_port()))
    assert line.startswith(
        f"CommandError: the data in {open_state}/servers was written by PostgreSQL "
        "99, but this machine has "
    )
    assert line.endswith(
        "; install PostgreSQL 99, or choose another directory with --directory"
    )


def test_a_database_of_ones_own_is_filled_only_when_that_is_allowed(fresh):
    configured = {
        name: os.environ[name]
        # The rest it makes.
        for name in ("DATABASE_URL", "REDIS_URL")
    }
    assert one_line(refused(fresh, free_port(), **configured)) == (
        "CommandError: DATABASE_URL names your own database, which `up` fills with "
        "sandbox data; set PARTNER_API_SANDBOX=true to allow that"
    )


def test_a_start_that_fails_shows_what_the_processes_said(state):
    said = refused(state, free_port(), FIX_TLS_KEY="/nowhere.pem")
    lines = said.splitlines()
    assert any(line.startswith("fix      | ") for line in lines)
    assert lines[-1].startswith("CommandError: fix ended with exit code 1: ")
    assert "FIX_TLS_CERTIFICATE" in lines[-1]


def test_a_port_out_of_range_is_refused(fresh):
    assert one_line(refused(fresh, 65536)) == (
        "CommandError: --port 65536: expected 1 to 65535."
    )


def test_runserver_listens_on_8080():
    app = get_commands()["runserver"]
    assert app == "partnerapi"
    assert load_command_class(app, "runserver").default_port == "8080"


def is_loading(pid: int) -> bool:
    """Whether it has come so far as to load what it is made of."""
    return "psycopg" in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.parametrize("step", ["", "PostgreSQL and Valkey", "Tables"])
def test_a_start_that_is_interrupted_says_so_in_one_line(fresh: Path, step: str):
    process = subprocess.Popen(
        up_command(fresh, free_port()),
        env=bare_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    if step:
        while step not in process.stderr.readline():
            assert process.poll() is None
    else:
        until(lambda: is_loading(process.pid))
    process.send_signal(signal.SIGINT)
    said = process.stderr.read().splitlines()
    process.stderr.close()
    process.wait(PATIENCE_SECONDS)
    # A step that ended meanwhile has printed its duration.
    [line] = [line for line in said if not line.startswith("  ")]
    assert line in ("up       | stopping", "up stopped before it began")
    assert not (fresh / "processes").exists()
