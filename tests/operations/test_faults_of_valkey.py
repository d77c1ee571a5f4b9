"""Faults of a Valkey of its own, planted, named with what to do, and survived."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis
from django.conf import settings as configured
from kombu import Connection

from partnerapi.celery import app, broker_url
from partnerapi.core.redis import call, forget, own
from partnerapi.operations import beat, signs
from partnerapi.operations.diagnosis import valkey
from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.task_metrics import QUEUE
from partnerapi.operations.tasks import answer_ping
from partnerapi.sandbox.run.places import private_directory, server_account
from partnerapi.sandbox.run.processes import Processes
from partnerapi.sandbox.run.valkey import start_valkey
from tests.operations.test_probes import url_of_test_database
from tests.servers import held_directory
from tests.waiting import PATIENCE_SECONDS, until

LINE_BYTES = 1_000


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    with held_directory() as directory:
        processes = Processes(directory / "processes", lambda name, line: None)
        account = server_account(directory / "servers")
        try:
            private = private_directory(directory, account)
            yield start_valkey(private, account, processes)
        finally:
            processes.stop()


@pytest.fixture
def administrator(socket: Path) -> Iterator[Any]:
    """Of a Valkey that is as it was before, afterwards."""
    with redis.Redis(unix_socket_path=str(socket)) as client:
        client.flushall()
        yield client
        client.config_set("maxmemory", 0)
        client.replicaof("NO", "ONE")
        client.flushall()


def url(socket: Path) -> str:
    return f"unix://{quote(str(socket))}?db=0"


@pytest.fixture
def here(socket: Path, administrator: Any, settings: Any) -> Iterator[Any]:
    """What this thread asks Valkey, it asks the one that a test may break."""
    cache = settings.CACHES["default"]
    settings.CACHES = {"default": cache | {"LOCATION": url(socket)}}
    own.__dict__.clear()
    yield administrator
    forget()
    own.__dict__.clear()


def named(finding: Finding, says: str, remedy: str) -> None:
    assert finding.state is State.WARNING, finding
    assert says in finding.says, finding
    assert remedy in finding.remedy, finding


def test_one_that_is_full(here: Any):
    [one] = valkey.valkey()
    assert one.state is State.OK
    used = here.info("memory")["used_memory"]
    here.config_set("maxmemory", int(used * 1.08))
    [one] = valkey.valkey()
    named(one, "of its maxmemory is in use", "Raise maxmemory")
    here.config_set("maxmemory", 1)
    [one] = valkey.valkey()
    named(one, "Valkey keeps nothing", "Raise maxmemory")
    here.config_set("maxmemory", 0)
    [one] = valkey.valkey()
    assert one.state is State.OK


def test_one_that_became_a_replica(here: Any):
    here.replicaof("127.0.0.1", 1)
    [one] = valkey.valkey()
    named(one, "Valkey keeps nothing", "REDIS_URL must name the primary")
    here.replicaof("NO", "ONE")
    [one] = valkey.valkey()
    assert one.state is State.OK


def test_one_that_asks_for_a_password(here: Any):
    here.config_set("requirepass", "secret")
    try:
        forget()
        [one] = valkey.valkey()
        named(one, "Valkey keeps nothing", "Put its password into REDIS_URL")
    finally:
        here.config_set("requirepass", "")
    forget()


def test_tasks_that_no_worker_takes(here: Any, monkeypatch: pytest.MonkeyPatch):
    [one] = valkey.queue()
    assert one.state is State.OK
    call("LPUSH", QUEUE, '{"headers": {"partnerapi_sent_at": 1}}')
    [one] = valkey.queue()
    named(one, "1 tasks are waiting", "Start a worker")


def test_two_beats_and_none(here: Any, monkeypatch: pytest.MonkeyPatch):
    [one] = valkey.beats()
    named(one, "no job starts", "Start one: celery --app=partnerapi beat")
    signs.leave_sign(beat.SIGNS)
    [one] = valkey.beats()
    assert (one.state, one.figures["beats"]) == (State.OK, 1)
    monkeypatch.setattr(signs, "place", lambda: "another:1")
    signs.leave_sign(beat.SIGNS)
    [one] = valkey.beats()
    named(one, "2 beats start each job: another:1", "End all but one")
    signs.take_sign_away(beat.SIGNS)
    [one] = valkey.beats()
    assert one.state is State.OK


@contextmanager
def running(part: str, directory: Path, socket: Path) -> Iterator[Any]:
    """A worker or beat of this Valkey, and its log."""
    command = [sys.executable, "-m", "celery", "--app=partnerapi", "--quiet", part]
    if part == "worker":
        command.append("--pool=solo")
    else:
        command.append(f"--schedule={directory / 'schedule'}")
    log = directory / part
    environment = {"REDIS_URL": url(socket), "DATABASE_URL": url_of_test_database()}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=configured.BASE_DIR,
            env=os.environ | environment,
            stdout=output,
            stderr=output,
        )
    try:
        yield process, log
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def asks(here: Any) -> bool:
    [one] = valkey.beats()
    return one.state is State.OK and here.llen(QUEUE) > 0


def test_a_beat_whose_messages_are_refused_says_so_in_a_line(
    here: Any, socket: Path, tmp_path: Path, django_db_setup: None, db: None
):
    with running("beat", tmp_path, socket) as (process, log):
        until(lambda: asks(here), log.read_text)
        size = log.stat().st_size
        here.config_set("maxmemory", 1)
        sent = here.llen(QUEUE)
        until(lambda: "accepts no message" in log.read_text(), log.read_text)
        here.config_set("maxmemory", 0)
        until(lambda: here.llen(QUEUE) > sent, log.read_text)
        here.replicaof("127.0.0.1", 1)
        sent = here.llen(QUEUE)
        here.replicaof("NO", "ONE")
        until(lambda: here.llen(QUEUE) != sent, log.read_text)
        assert process.poll() is None
        written = log.read_text()[size:]
    assert "Traceback" not in written
    assert len(written) < 2 * LINE_BYTES
    assert re.search("see manage.py doctor", written)


def answered(socket: Path, log: Path) -> bool:
    """Whether a task that is sent now is done."""
    options = app.conf.broker_transport_options
    forget()
    call("DEL", "ping:1")
    with Connection(broker_url(url(socket)), transport_options=options) as sender:
        answer_ping.apply_async(["ping:1"], connection=sender, retry=False)
    until(lambda: call("EXISTS", "ping:1"), log.read_text)
    return True


def test_a_worker_outlives_a_valkey_that_becomes_a_replica(
    here: Any, socket: Path, tmp_path: Path, django_db_setup: None, db: None
):
    with running("worker", tmp_path, socket) as (process, log):
        assert answered(socket, log)
        size = log.stat().st_size
        here.replicaof("127.0.0.1", 1)
        until(lambda: log.stat().st_size > size, log.read_text)
        here.replicaof("NO", "ONE")
        assert answered(socket, log)
        assert process.poll() is None
        written = log.read_text()[size:]
    assert "Unrecoverable" not in written
    assert len(written) < 10 * LINE_BYTES


def test_a_worker_whose_valkey_is_full_says_so_in_a_line(
    here: Any, socket: Path, tmp_path: Path, django_db_setup: None, db: None
):
    with running("worker", tmp_path, socket) as (process, log):
        assert answered(socket, log)
        size = log.stat().st_size
        here.config_set("maxmemory", 1)
        until(lambda: "Valkey refuses" in log.read_text(), log.read_text)
        here.config_set("maxmemory", 0)
        assert process.poll() is None
        written = log.read_text()[size:]
    assert "Traceback" not in written
    assert len(written) < LINE_BYTES
