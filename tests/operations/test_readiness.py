"""A look at a process costs it nothing, and load is not a reason to call it unready."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISSOCK
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import Error, OperationalError, connection
from psycopg import sql

from accounts.keys.models import Partner
from partnerapi.core.postgresql import lending
from partnerapi.core.postgresql.faults import Fault, fault_of
from partnerapi.core.redis import call
from partnerapi.operations.diagnosis import findings, readiness, valkey
from partnerapi.operations.diagnosis.findings import Check, Finding, State
from partnerapi.operations.diagnosis.readiness import Readiness
from partnerapi.operations.exposition import registry_of
from partnerapi.sandbox.data.approvals import approved_key
from tests.core.test_lending import Wire
from tests.gateway.conftest import WebServer, serving
from tests.operations.test_probes import ready, url_of_test_database
from tests.owner import as_owner
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.django_db(transaction=True)

LOOKS = 250
"""More than a pool of connections of redis-py holds."""
LINE_BYTES = 1_000


def owner() -> psycopg.Connection:
    """A session of the tables' owner, for locks that outlast a statement."""
    with as_owner():
        settings = dict(connection.settings_dict)
    parts = urlsplit(url_of_test_database())
    account = f"{settings['USER']}:{settings['PASSWORD']}".rstrip(":")
    netloc = f"{account}@{parts.netloc.rpartition('@')[2]}"
    return psycopg.connect(parts._replace(netloc=netloc).geturl(), autocommit=True)


def open_sockets() -> int:
    """Those of this process: other processes of the run share its servers."""
    sockets = 0
    for descriptor in os.listdir("/dev/fd"):
        with suppress(OSError):
            sockets += S_ISSOCK(os.fstat(int(descriptor)).st_mode)
    return sockets


@pytest.fixture
def each_look_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "FRESH_SECONDS", 0.0)


@pytest.mark.usefixtures("each_look_is_new")
def test_looks_and_scrapes_leave_no_connection_and_stay_true(tmp_path: Path):
    asked = Readiness(
        [Check("valkey", valkey.valkey), Check("acceptor", valkey.acceptors)]
    )
    registry = registry_of(tmp_path)
    before = open_sockets()
    for number in range(LOOKS):
        assert asked.now()[0].state is State.OK
        if number % 2:
            with ThreadPoolExecutor(1) as scrape:
                metrics = scrape.submit(lambda: list(registry.collect())).result()
            names = {metric.name for metric in metrics}
            assert "partnerapi_queue_tasks" in names, number
    until(lambda: open_sockets() <= before + 1)


def test_threads_that_ask_valkey_and_end_do_not_use_it_up():
    def ask() -> None:
        answers.append(call("PING"))

    answers: list[Any] = []
    for _ in range(LOOKS):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert len(answers) == LOOKS


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebServer]:
    environment = {
        "DATABASE_URL": url_of_test_database(),
        "PARTNER_API_DATABASE_CONNECTIONS": "1",
        "LOG_FORMAT": "json",
        "PARTNER_API_HTTPS": "true",
        "PARTNER_API_TRUSTED_PROXIES": "0",
    }
    with serving(1, environment, tmp_path) as server:
        until(lambda: ready(server)[0] == 200)
        yield server


@contextmanager
def asked_all_the_while(server: WebServer) -> Iterator[list[tuple[int, dict]]]:
    """What `/readyz` says meanwhile."""
    said: list[tuple[int, dict]] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(0.1):
            said.append(ready(server))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield said
        enough = len(said) + 3
        until(lambda: len(said) >= enough)
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    "tables",
    ["issuers_issuer", "issuers_issuer, django_migrations, partnerapi_jobrun"],
)
def test_a_locked_table_makes_no_process_unready(server: WebServer, tables: str):
    query = b'{"query":"{ issuers(first: 1) { nodes { id } } }"}'
    with owner() as session, ThreadPoolExecutor(12) as clients:
        session.execute("BEGIN")
        session.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
        with asked_all_the_while(server) as said:
            answers = [clients.submit(server.post, query) for _ in range(24)]
            statuses = {answer.result()[0] for answer in answers}
        session.execute("ROLLBACK")
    assert 503 in statuses
    assert {status for status, _ in said} == {200}
    assert all(one["database"]["state"] == "ok" for _, one in said if "database" in one)


def test_a_database_that_refuses_is_away_unless_it_has_just_answered(
    monkeypatch: pytest.MonkeyPatch,
):
    def away() -> list[Finding]:
        raise OperationalError("connection refused")

    asked = Readiness([Check("database", away)])
    lender = lending.Lender(1)
    monkeypatch.setattr(lending, "lender", lender)
    assert [one.state for one in asked.now()] == [State.FAILED]
    lender.served_at = time.monotonic()
    monkeypatch.setattr(findings, "SERVED_SECONDS", PATIENCE_SECONDS)
    asked = Readiness([Check("database", away)])
    [found] = asked.now()
    assert (found.state, found.remedy) == (
        State.WARNING,
        "Check that it runs and can be reached.",
    )


def test_a_database_that_stays_silent_is_away_unless_it_answers_requests(
    monkeypatch: pytest.MonkeyPatch,
):
    ended = threading.Event()

    def silent() -> Iterator[Finding]:
        ended.wait(PATIENCE_SECONDS)
        yield Finding("database", State.OK, "At last")

    lender = lending.Lender(1)
    monkeypatch.setattr(lending, "lender", lender)
    monkeypatch.setattr(readiness, "WAIT_SECONDS", 0.05)
    checks = [Check("database", silent), Check("valkey", silent)]
    asked = Readiness(checks)
    try:
        assert [one.state for one in asked.now()] == [State.UNKNOWN, State.UNKNOWN]
        monkeypatch.setattr(readiness, "SILENT_SECONDS", 0.05)
        assert [one.state for one in asked.now()] == [State.FAILED, State.UNKNOWN]
        lender.served_at = time.monotonic()
        monkeypatch.setattr(readiness, "SERVED_SECONDS", PATIENCE_SECONDS)
        assert [one.state for one in asked.now()] == [State.UNKNOWN, State.UNKNOWN]
    finally:
        ended.set()


@pytest.mark.usefixtures("each_look_is_new")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_an_unforeseen_error_keeps_from_being_looked_at_is_not_known():
    def fails() -> list[Finding]:
        raise ValueError("An unforeseen fault")

    def works() -> Iterator[Finding]:
        yield Finding("first", State.OK, "It works")

    asked = Readiness(
        [Check("first", works), Check("second", fails), Check("third", works)]
    )
    for _ in range(2):
        assert [(found.check, found.state) for found in asked.now()] == [
            ("first", State.OK),
            ("second", State.UNKNOWN),
            ("third", State.UNKNOWN),
        ]


@pytest.mark.usefixtures("each_look_is_new")
def test_what_only_reads_is_ready_for_a_while():
    def only_reads() -> Iterator[Finding]:
        yield Finding("database", State.FAILED, "It only reads", patience=patience)

    asked = Readiness([Check("database", only_reads)])
    patience = PATIENCE_SECONDS
    assert asked.now()[0].state is State.WARNING
    patience = 0.0
    assert asked.now()[0].state is State.FAILED


def test_a_valkey_that_hangs_is_no_reason_to_take_a_process_away(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Wire, "to_server", lambda wire: socket.socket())
    asked = Readiness([Check("valkey", valkey.valkey)])
    wire = Wire()
    wire.passes.clear()
    cache = settings.CACHES["default"]
    location = f"redis://127.0.0.1:{wire.port}/0"
    settings.CACHES = {"default": cache | {"LOCATION": location}}
    [found] = asked.now()
    assert found.state in (State.WARNING, State.UNKNOWN)
    wire.listener.close()


QUERY = b'{"query":"{ accounts(first: 1) { nodes { id } } }"}'


@pytest.fixture
def token() -> str:
    acme = Partner.objects.create(login="acme", name="Acme")
    return approved_key(acme, ["accounts:read"])[1]


def role() -> str:
    name: str = connection.settings_dict["USER"]
    return name


@pytest.mark.parametrize(
    ("break_it", "mend_it", "check"),
    [
        (
            "REVOKE SELECT ON accounts_account FROM {role}",
            "GRANT SELECT ON accounts_account TO {role}",
            "grants",
        ),
        (
            "REVOKE ALL ON SCHEMA public FROM PUBLIC, {role}",
            "GRANT USAGE ON SCHEMA public TO PUBLIC, {role}",
            None,
        ),
        (
            "ALTER TABLE accounts_account RENAME TO accounts_lost",
            "ALTER TABLE accounts_lost RENAME TO accounts_account",
            "grants",
        ),
        (
            "ALTER SCHEMA public RENAME TO lost",
            "ALTER SCHEMA lost RENAME TO public",
            None,
        ),
    ],
)
def test_what_a_running_process_is_refused_is_unavailable_and_unready(
    server: WebServer, token: str, break_it: str, mend_it: str, check: str | None
):
    mine = {"X-Token-Auth": token, "X-Forwarded-Proto": "https"}
    assert server.post(QUERY, **mine)[0] == 200
    named = {"role": sql.Identifier(role())}
    size, begun = server.log.stat().st_size, time.monotonic()
    with owner() as session:
        session.execute(sql.SQL(break_it).format(**named))
        try:
            for _ in range(20):
                status, body = server.post(QUERY, **mine)
                assert (status, code_of(body)) == (503, "UNAVAILABLE")
            until(lambda: ready(server)[0] == 503)
            checks = ready(server)[1]
            failed = [one for one in checks.values() if one["state"] == "failed"]
            assert check in (None, failed[0]["check"])
            assert "grant_application_role" in failed[0]["remedy"]
        finally:
            session.execute(sql.SQL(mend_it).format(**named))
    seconds = time.monotonic() - begun
    assert server.log.stat().st_size - size < (seconds + 3) * LINE_BYTES
    until(lambda: ready(server)[0] == 200)
    assert server.post(QUERY, **mine)[0] == 200


def code_of(body: dict) -> str:
    code: str = body["errors"][0]["extensions"]["code"]
    return code


def error_of(refuse: Callable[[], object]) -> Exception:
    with pytest.raises(Error) as caught:
        refuse()
    return caught.value


def test_a_guard_that_refuses_a_change_is_no_missing_right():
    def run(statement: str) -> Callable[[], object]:
        def refused() -> None:
            with connection.cursor() as cursor:
                cursor.execute(statement)

        return refused

    guard = "DO $$ BEGIN RAISE 'No' USING ERRCODE = 'insufficient_privilege'; END $$"
    assert fault_of(error_of(run(guard))) is None
    assert fault_of(error_of(run("DELETE FROM django_migrations"))) is Fault.UNGRANTED
    assert fault_of(error_of(run("SELECT FROM nothing"))) is Fault.INCOMPLETE
