"""`doctor` names what is wrong with an installation, and what to do about it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from accounts.keys.models import Partner
from marketdata.fix.acceptor import liveness
from partnerapi.core.redis import call
from partnerapi.operations.diagnosis import machine, valkey
from partnerapi.operations.diagnosis.findings import State
from partnerapi.operations.exposition import Processes
from partnerapi.operations.task_metrics import Queue
from partnerapi.sandbox.data.approvals import approved_key
from tests.core.test_lending import Wire
from tests.operations.certificates import new_certificate
from tests.operations.test_probes import url_of_test_database
from tests.system import bare_environment, free_port
from tests.waiting import PATIENCE_SECONDS, until

Checks = dict[str, dict[str, Any]]


def doctor(environment: dict[str, str], *options: str) -> tuple[int, Checks]:
    ended = subprocess.run(
        [sys.executable, settings.BASE_DIR / "manage.py", "doctor", "--json", *options],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert ended.stdout, ended.stderr
    found = json.loads(ended.stdout)["checks"]
    return ended.returncode, {check["check"]: check for check in found}


def test_an_installation_without_settings_is_told_so(tmp_path: Path):
    code, checks = doctor(bare_environment() | {"PARTNER_API_DIRECTORY": str(tmp_path)})
    assert code == 2
    assert "DATABASE_URL is not set" in checks["settings"]["says"]
    assert "manage.py up" in checks["settings"]["remedy"]


@pytest.mark.django_db(transaction=True)
def test_each_of_many_faults_is_named_with_its_remedy(tmp_path: Path):
    acme = Partner.objects.create(login="acme", name="Acme")
    _, token = approved_key(acme, [])
    code, checks = doctor(
        os.environ
        | {
            "DATABASE_URL": url_of_test_database(),
            "REPLICA_URL": url_of_test_database(),
            "SECRET_KEY": "secret",
            "PARTNER_API_KEY_PEPPER": "another" * 10 + "0123",
            "FIX_KEY": token,
            "FIX_PORT": str(free_port()),
            "REDIS_URL": f"redis://127.0.0.1:{free_port()}/0",
            "PARTNER_API_STATEMENTS": str(tmp_path / "not mounted"),
        }
        | new_certificate(tmp_path, days=-1),
        "--web",
        f"http://127.0.0.1:{free_port()}",
    )
    assert code == 2
    for check, state, says, remedy in (
        ("secret SECRET_KEY", "failed", "can be guessed", "token_urlsafe"),
        ("secret PARTNER_API_KEY_PEPPER", "ok", "", ""),
        ("pepper", "failed", "is refused", "PARTNER_API_KEY_PEPPER"),
        ("certificate", "failed", "partners refuse it", "SIGHUP"),
        ("valkey", "warning", "does not answer", "REDIS_URL"),
        ("worker", "unknown", "Valkey accepts no task", "Valkey"),
        ("logon", "failed", "", "run_fix_acceptor"),
        ("web", "failed", "does not answer", "gunicorn"),
        (f"disk {tmp_path}/not mounted", "failed", "No such file", "mount"),
        ("database", "ok", "", ""),
        ("replica", "failed", "is not a standby", "REPLICA_URL"),
        ("clock", "ok", "", ""),
        ("migrations", "ok", "", ""),
        ("grants", "ok", "", ""),
    ):
        found = checks[check]
        assert found["state"] == state, found
        assert says in found["says"], found
        assert remedy in found["remedy"], found


def test_a_database_that_is_away_is_said_once():
    url = f"postgres://nobody@127.0.0.1:{free_port()}/none"
    code, checks = doctor(os.environ | {"DATABASE_URL": url})
    assert code == 2
    assert checks["database"]["state"] == "failed"
    assert "can be reached" in checks["database"]["remedy"]
    later = ("clock", "migrations", "grants", "jobs")
    assert {checks[name]["state"] for name in later} == {"unknown"}


@pytest.mark.django_db(transaction=True)
def test_a_standby_that_is_away_hides_nothing_of_the_primary():
    url = f"postgres://nobody@127.0.0.1:{free_port()}/none"
    own = {"DATABASE_URL": url_of_test_database(), "REPLICA_URL": url}
    checks = doctor(os.environ | own)[1]
    assert checks["replica"]["state"] == "warning"
    assert "The standby does not answer" in checks["replica"]["says"]
    assert {checks[name]["state"] for name in ("database", "clock", "grants")} == {"ok"}


@contextmanager
def running(*command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore:You're running the worker with", "-m", *command],
        cwd=settings.BASE_DIR,
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


@pytest.mark.django_db(transaction=True)
def test_a_worker_is_tried_by_a_task_and_counts_it(tmp_path: Path):
    own = {
        "DATABASE_URL": url_of_test_database(),
        "PARTNER_API_METRICS": str(tmp_path / "metrics"),
    }
    environment = os.environ | own
    dead = doctor(environment)[1]["worker"]
    assert dead["state"] == "failed"
    assert "celery --app=partnerapi worker" in dead["remedy"]
    # It has expired, and waits to be deleted.
    waiting = samples(Queue())
    assert waiting["partnerapi_queue_tasks"] >= 1
    assert waiting["partnerapi_queue_oldest_seconds"] > 0
    worker = ("celery", "--app=partnerapi", "--quiet", "worker", "--pool=solo")
    with running(*worker, **own):
        until(lambda: doctor(environment)[1]["worker"]["state"] == "ok")
    counted = samples(Processes(tmp_path / "metrics"))
    assert samples(Queue())["partnerapi_queue_tasks"] == 0
    assert counted["partnerapi_tasks_total", "begun", "answer_ping"] >= 1
    assert counted["partnerapi_tasks_total", "done", "answer_ping"] >= 1
    assert counted["partnerapi_task_seconds_count", "answer_ping"] >= 1


def samples(collector: Queue | Processes) -> dict[Any, float]:
    """Numbers by their names, and where they have labels by these, too, in order."""
    found: dict[Any, float] = {}
    for sample in chain.from_iterable(one.samples for one in collector.collect()):
        labels = [value for _, value in sorted(sample.labels.items())]
        found[(sample.name, *labels) if labels else sample.name] = sample.value
    return found


def test_a_certificate_is_named_before_it_ends(tmp_path: Path, settings: Any):
    for days, state in ((3, State.WARNING), (60, State.OK), (-1, State.FAILED)):
        named = new_certificate(tmp_path, days)
        settings.FIX_TLS_CERTIFICATE = named["FIX_TLS_CERTIFICATE"]
        settings.FIX_TLS_KEY = named["FIX_TLS_KEY"]
        [found] = machine.certificate()
        assert found.state is state
    settings.FIX_TLS_CERTIFICATE = settings.FIX_TLS_KEY = ""
    assert list(machine.certificate()) == []


def test_a_second_web_server_on_a_port_is_named():
    port = free_port()
    serve = ("gunicorn", "partnerapi.wsgi", "--reuse-port", "--no-control-socket")
    serve += ("--bind", f"127.0.0.1:{port}")
    with running(*serve) as one:
        until(lambda: machine.gunicorn_masters().get(one.pid) == {port})
        [found] = machine.web_servers()
        assert found.state is State.OK
        with running(*serve) as other:
            until(lambda: machine.gunicorn_masters().get(other.pid) == {port})
            [found] = machine.web_servers()
    assert found.state is State.FAILED
    assert str(one.pid) in found.says
    assert str(other.pid) in found.says
    assert "kill -TERM" in found.remedy


def test_an_acceptor_that_was_killed_is_named():
    place = liveness.place()
    # Of acceptors that other tests have killed.
    call("DEL", liveness.KEY)
    try:
        liveness.leave_sign(lag=0.5, sessions=3)
        [found] = valkey.acceptors()
        assert (found.state, found.figures["sessions"]) == (State.OK, 3)
        liveness.leave_sign(lag=60, sessions=3)
        [found] = valkey.acceptors()
        assert (found.state, "60.0 s behind" in found.says) == (State.WARNING, True)
        call("HSET", liveness.KEY, place, f"{place} {time() - 60:.1f} 0.5 3")
        [found] = valkey.acceptors()
        assert found.state is State.WARNING
        assert "run_fix_acceptor" in found.remedy
    finally:
        liveness.take_sign_away()
    assert list(valkey.acceptors()) == []


@pytest.mark.django_db(transaction=True)
def test_the_host_that_answers_is_found_among_several():
    wire = Wire()
    parts = urlsplit(url_of_test_database())
    hosts = f"127.0.0.1:{free_port()},127.0.0.1:{wire.port}"
    account, _, _ = parts.netloc.rpartition("@")
    url = parts._replace(netloc=f"{account}@{hosts}", query="").geturl()
    try:
        checks = doctor(os.environ | {"DATABASE_URL": url})[1]
        assert checks["database"]["state"] == "ok", checks["database"]
    finally:
        wire.listener.close()
