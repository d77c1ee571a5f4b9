"""How Celery reaches its broker, and what beat asks for."""

import contextvars
import ssl
from datetime import timedelta
from pathlib import Path
from time import time
from typing import Any

import pytest
from celery.signals import before_task_publish
from kombu import Connection

from partnerapi.celery import app, broker_url, take_request_id
from partnerapi.core import json_lines
from partnerapi.core.schedule import PERIODS
from partnerapi.operations.beat import Scheduler
from partnerapi.operations.tasks import answer_ping


@pytest.mark.parametrize(
    ("redis_url", "expected"),
    [
        ("unix:///run/v/s.sock?db=3", "redis+socket:///run/v/s.sock?virtual_host=3"),
        ("unix:///a%20b/s.sock", "redis+socket:///a%20b/s.sock?virtual_host=0"),
        ("unix://me:p%40w@/s?db=1", "redis+socket://me:p%40w@/s?virtual_host=1"),
        ("unix://me@/s?password=p%40w", "redis+socket://me:p%40w@/s?virtual_host=0"),
        ("redis://:p%2Fw@cache:6380/2", "redis://:p%2Fw@cache:6380/2"),
        ("redis://cache?db=4", "redis://cache/4"),
        ("redis://cache", "redis://cache"),
    ],
)
def test_the_broker_is_the_cache_under_the_address_that_celery_reads(
    redis_url: str, expected: str
):
    assert broker_url(redis_url) == expected


@pytest.mark.parametrize(
    ("redis_url", "requirement"),
    [
        ("rediss://cache:6380/2", ssl.CERT_REQUIRED),
        ("rediss://cache:6380/2?ssl_cert_reqs=none", ssl.CERT_NONE),
    ],
)
def test_certificates_are_checked_unless_the_address_says_otherwise(
    redis_url: str, requirement: ssl.VerifyMode
):
    read = Connection(broker_url(redis_url)).info()
    assert read["ssl"] == {"ssl_cert_reqs": requirement}
    assert (read["hostname"], read["virtual_host"]) == ("cache", "2")


def test_beat_asks_for_every_task_that_is_a_job():
    app.loader.import_default_modules()
    asked = {entry["task"] for entry in app.conf.beat_schedule.values()}
    ours = {name for name in app.tasks if name.startswith("partnerapi.")}
    wanted = ours - {"partnerapi.operations.tasks.answer_ping"}
    assert asked == wanted, "give each task its time in partnerapi/celery.py"


def test_beat_goes_on_after_the_clock_has_jumped_back(tmp_path: Path):
    file = str(tmp_path / "schedule")
    before = Scheduler(app=app, schedule_filename=file)
    for entry in before.schedule.values():
        entry.last_run_at += timedelta(days=1)
    before.close()
    scheduler = Scheduler(app=app, schedule_filename=file)
    try:
        waits = {n: e.is_due().next for n, e in scheduler.schedule.items()}
        assert max(waits.values()) > 86_400
        # Celery looks again after so many seconds, at the longest.
        assert scheduler.tick() <= scheduler.max_interval
        for entry in scheduler.schedule.values():
            job = entry.task.rpartition(".")[2]
            period = PERIODS.get(job, timedelta(seconds=2))
            assert entry.is_due().next <= period.total_seconds()
        # It jumps again, while beat runs.
        for entry in scheduler.schedule.values():
            entry.last_run_at += timedelta(days=1)
        scheduler.tick()
        assert min(entry.is_due().next for entry in scheduler.schedule.values()) <= 600
        assert scheduler._heap[0].time - time() <= 600
    finally:
        scheduler.close()


def test_a_task_ends_before_its_message_goes_to_another_worker():
    visible_after = app.conf.broker_transport_options["visibility_timeout"]
    assert app.conf.task_time_limit < visible_after
    assert app.conf.result_backend is None


def test_a_task_has_the_id_of_the_request_that_asked_for_it():
    sent: list[dict[str, Any]] = []

    def keep(headers: dict[str, Any], **kwargs: object) -> None:
        sent.append(headers)

    before_task_publish.connect(keep)
    seen = contextvars.copy_context()
    try:
        seen.run(json_lines.request_id.set, "of-a-request")
        seen.run(answer_ping.apply_async, ["ping:never"], expires=-1)
    finally:
        before_task_publish.disconnect(keep)
    [headers] = sent
    answer_ping.push_request(**headers)
    try:
        seen.run(take_request_id, task_id="1", task=answer_ping)
        assert seen[json_lines.request_id] == "of-a-request"
    finally:
        answer_ping.pop_request()
    seen.run(take_request_id, task_id="1", task=answer_ping)
    assert seen[json_lines.request_id] == "1"
