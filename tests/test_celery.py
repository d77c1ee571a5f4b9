"""How Celery reaches its broker, and what beat asks for."""

import ssl

import pytest
from kombu import Connection

from partnerapi.celery import app, broker_url


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


def test_beat_asks_for_tasks_that_there_are():
    app.loader.import_default_modules()
    asked = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert asked == {
        "partnerapi.operations.tasks.prune_book_log",
        "partnerapi.operations.tasks.prune_failed_sign_ins",
        "partnerapi.operations.tasks.prune_idempotency_records",
        "partnerapi.operations.tasks.register_statement",
        "partnerapi.operations.tasks.verify_books",
        "partnerapi.operations.tasks.verify_register",
    }
    assert asked <= set(app.tasks)


def test_a_task_ends_before_its_message_goes_to_another_worker():
    visible_after = app.conf.broker_transport_options["visibility_timeout"]
    assert app.conf.task_time_limit < visible_after
    assert app.conf.result_backend is None
