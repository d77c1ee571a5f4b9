"""What `/healthz` and `/readyz` say of a web process, as balancers ask: by HTTP."""

import contextlib
import http.client
import json
import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from partnerapi.core.schedule import PERIODS
from partnerapi.operations.diagnosis import database, jobs, trials
from partnerapi.operations.diagnosis.findings import Check, Finding, State, findings
from partnerapi.operations.diagnosis.readiness import Readiness
from partnerapi.operations.models import JobRun
from partnerapi.operations.release import known_migrations
from tests.gateway.conftest import WebServer, serving
from tests.owner import as_owner
from tests.system import free_port
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.django_db(transaction=True)


def url_of_test_database() -> str:
    name = connection.settings_dict["NAME"]
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


@pytest.fixture(scope="module")
def server(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebServer]:
    """As in production: for HTTPS only, and for one host name."""
    environment = {
        "DATABASE_URL": url_of_test_database(),
        "PARTNER_API_HTTPS": "true",
        "ALLOWED_HOSTS": "127.0.0.1",
        "PARTNER_API_MAX_SECONDS": "2",
    }
    with serving(1, environment, tmp_path_factory.mktemp("web")) as server:
        yield server


def get(server: WebServer, path: str) -> tuple[int, str]:
    client = http.client.HTTPConnection("127.0.0.1", server.port, PATIENCE_SECONDS)
    try:
        client.request("GET", path, headers={"Host": "10.0.0.7"})
        answer = client.getresponse()
        return answer.status, answer.read().decode()
    finally:
        client.close()


def ready(server: WebServer) -> tuple[int, dict[str, dict[str, Any]]]:
    status, text = get(server, "/readyz")
    return status, {check["check"]: check for check in json.loads(text)["checks"]}


def test_probes_are_answered_without_https_and_by_any_name(server: WebServer):
    assert get(server, "/healthz") == (200, "ok\n")
    until(lambda: ready(server)[0] == 200)
    checks = ready(server)[1]
    for name in ("database", "migrations", "valkey", "job verify_books"):
        assert checks[name]["state"] == "ok", checks[name]
    assert get(server, "/schema.graphql")[0] == 400


def test_a_migration_that_is_not_applied_is_named_with_its_remedy(server: WebServer):
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE app = 'accounts' RETURNING app, name,"
            " applied"
        )
        rows = cursor.fetchall()
    try:
        until(lambda: ready(server)[0] == 503)
        checks = ready(server)[1]
        assert checks["migrations"]["state"] == "failed"
        mine = [row for row in rows if row[:2] in known_migrations()]
        assert checks["migrations"]["unapplied"] == len(mine)
        assert "manage.py migrate" in checks["migrations"]["remedy"]
        [found] = trials.web(f"http://127.0.0.1:{server.port}")
        assert (found.state, "answers 503" in found.says) == (
            State.FAILED,
            True,
        )
    finally:
        with as_owner(), connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO django_migrations (app, name, applied)"
                " VALUES (%s, %s, %s)",
                rows,
            )
    until(lambda: ready(server)[0] == 200)


@contextlib.contextmanager
def locked(table: str) -> Iterator[None]:
    """Whoever reads the table waits, as for a database that stands still."""
    with as_owner():
        owner = dict(connection.settings_dict)
        url = url_of_test_database()
        parts = urlsplit(url)
        netloc = parts.netloc.rpartition("@")[2]
        user, password = owner["USER"], owner["PASSWORD"]
        account = f"{user}:{password}" if password else user
        url = parts._replace(netloc=f"{account}@{netloc}").geturl()
    with psycopg.connect(url) as session:
        session.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
        session.rollback()


def test_a_process_answers_while_all_its_connections_wait(server: WebServer):
    query = b'{"query":"{ issuers(first: 1) { nodes { id } } }"}'
    answers: list[int] = []
    with locked("issuers_issuer"):
        threads = [
            threading.Thread(target=lambda: answers.append(server.post(query)[0]))
            for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        assert get(server, "/healthz") == (200, "ok\n")
        # Behind those that wait it would come after most of them.
        before = len(answers)
        assert get(server, "/schema.graphql")[0] == 400
        assert len(answers) - before < 8
        for thread in threads:
            thread.join()
    assert len(answers) == 16


def test_what_does_not_come_within_a_second_is_named():
    asked, ended = threading.Event(), threading.Event()

    def look() -> Iterator[Finding]:
        asked.set()
        ended.wait(PATIENCE_SECONDS)
        yield Finding("second", State.OK, "At last")

    def first() -> Iterator[Finding]:
        yield Finding("first", State.OK, "At once")

    checks = (Check("first", first), Check("second", look), Check("third", first))
    readiness = Readiness(checks)
    try:
        found = [(finding.check, finding.state) for finding in readiness.now()]
        assert found == [
            ("first", State.OK),
            ("second", State.UNKNOWN),
            ("third", State.UNKNOWN),
        ]
        assert asked.is_set()
    finally:
        ended.set()
    until(lambda: readiness.now()[1].says == "At last")


def job(name: str) -> Finding:
    [found] = [f for f in jobs.jobs() if f.check == f"job {name}"]
    return found


def test_a_job_that_is_late_and_one_that_failed_are_named():
    with as_owner():
        JobRun.objects.all().delete()
    now = timezone.now()
    late = now - 2 * PERIODS["prune_idempotency_records"] - timedelta(seconds=5)
    for name, at, result in (
        ("prune_idempotency_records", late, "DONE"),
        ("verify_register", now, "FAILED"),
        ("verify_books", now, "DONE"),
        ("register_statement", now - timedelta(minutes=10), "BEGUN"),
        ("clear_sessions", now, "BEGUN"),
    ):
        JobRun.objects.create(
            job=name, started_at=at, seconds=1, result=result, detail="1 is broken"
        )
    assert job("prune_idempotency_records").state is State.WARNING
    assert "beat and a worker" in job("prune_idempotency_records").remedy
    assert job("verify_register").state is State.WARNING
    assert "1 is broken" in job("verify_register").says
    assert job("verify_books").state is State.OK
    assert job("register_statement").state is State.WARNING
    assert "its worker was killed" in job("register_statement").says
    assert job("clear_sessions").state is State.OK


def test_a_database_that_is_away_is_named_once():
    nobody = f"postgres://nobody@127.0.0.1:{free_port()}/x"

    def away() -> Iterator[Finding]:
        with pytest.raises(psycopg.OperationalError) as caught:
            psycopg.connect(nobody)
        from django.db import OperationalError

        raise OperationalError(str(caught.value)) from caught.value

    checks = (
        Check("database", away),
        Check("migrations", database.migrations, needs_database=True),
    )
    [[first], [second]] = findings(checks)
    assert (first.state, second.state) == (State.FAILED, State.UNKNOWN)
    assert first.remedy == "Check that it runs and can be reached."


def test_a_right_that_is_missing_or_too_much_is_named():
    role = connection.settings_dict["USER"]
    [before] = database.grants()
    assert before.state is State.OK
    for statement, back, state, named in (
        (
            f"REVOKE INSERT ON accounts_partner FROM {role}",
            f"GRANT INSERT ON accounts_partner TO {role}",
            State.FAILED,
            "lacks INSERT accounts_partner",
        ),
        (
            f"GRANT DELETE ON issuers_ledgertransaction TO {role}",
            f"REVOKE DELETE ON issuers_ledgertransaction FROM {role}",
            State.WARNING,
            "more rights than it needs: DELETE issuers_ledgertransaction",
        ),
    ):
        with as_owner(), connection.cursor() as cursor:
            cursor.execute(statement)
        try:
            [found] = database.grants()
            assert (found.state, found.says[-len(named) :]) == (state, named)
            assert "grant_application_role" in found.remedy
        finally:
            with as_owner(), connection.cursor() as cursor:
                cursor.execute(back)
