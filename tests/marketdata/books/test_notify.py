"""Notifications in Redis of the logs that have grown."""

import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.db import transaction

from issuers.models import Token
from marketdata.books import notify
from marketdata.books.log import Deal, Message, record
from partnerapi.core import outages
from partnerapi.core.redis import call, database, own, tell
from tests.marketdata.books.markets import bid, head_of, traded
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme() -> Token:
    return traded("ACME")


@pytest.fixture
def hearer() -> Iterator[Any]:
    cache: Any = caches["default"]
    client = cache.client.get_client(write=True)
    with client.pubsub() as hearer:
        hearer.subscribe(notify.channel())
        assert hearer.get_message(timeout=PATIENCE_SECONDS)["type"] == "subscribe"
        yield hearer


def heard(hearer: Any) -> list[str]:
    """The tokens that were published since the last time."""
    # It takes the same way, so it arrives after all of them.
    tell("PUBLISH", notify.channel(), "the last")
    published: list[str] = []
    while message := hearer.get_message(timeout=PATIENCE_SECONDS):
        data = message["data"].decode()
        if data == "the last":
            return published
        published.append(data)
    raise AssertionError(f"the last did not come, only {published}")


def test_databases_of_one_redis_share_no_channel(acme: Token, hearer: Any):
    others = notify.channel().replace(str(database()), str(database() + 1_000))
    assert call("PUBLISH", others, str(acme.pk)) == 0
    assert heard(hearer) == []


def test_each_call_rings_once_after_its_commit(acme: Token, hearer: Any):
    token = str(acme.pk)
    record(acme.pk, [Message([bid(1, 1)]), Message([bid(2, 1)], [Deal(2, 1)])], "me")
    assert heard(hearer) == [token]
    with transaction.atomic():
        record(acme.pk, [Message([bid(3, 1)])], "me")
        assert heard(hearer) == []
    assert heard(hearer) == [token]


def test_what_is_rolled_back_is_not_published(acme: Token, hearer: Any):
    with transaction.atomic():
        record(acme.pk, [Message([bid(3, 1)])], "me")
        transaction.set_rollback(True)
    assert heard(hearer) == []


@pytest.fixture
def somewhere(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Points the cache to another port of this machine."""

    def at(port: int) -> None:
        own.__dict__.clear()
        settings.CACHES = {
            "default": settings.CACHES["default"]
            | {"LOCATION": f"redis://127.0.0.1:{port}/0"}
        }

    monkeypatch.setattr(notify.outage, "is_on", False)
    yield at
    if connection := own.connection:
        connection.disconnect()
    own.__dict__.clear()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Advances the outage's clock by this many seconds; otherwise it stands still."""
    now = [0.0]
    monkeypatch.setattr(outages, "monotonic", lambda: now[0])

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    return pass_by


def write(token: Token, *quantities: int) -> None:
    for quantity in quantities:
        record(token.pk, [Message([bid(1, quantity)])], "me")


def test_without_redis_a_writer_goes_on_and_says_so_once(
    acme: Token, somewhere: Any, later: Any, caplog: pytest.LogCaptureFixture
):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    somewhere(port)
    write(acme, 1, 2, 3)
    later(notify.outage.retry_seconds)
    write(acme, 4, 5, 6)
    assert head_of(acme.pk)[0] == 6
    [said] = caplog.records
    assert said.name == "marketdata.books.notify"
    assert said.levelno == logging.WARNING
    assert said.getMessage().startswith("Redis does not answer (")


def test_a_silent_redis_is_asked_once_a_second(acme: Token, somewhere: Any, later: Any):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        somewhere(silent.getsockname()[1])

        def asked() -> int:
            count = 0
            with contextlib.suppress(BlockingIOError):
                while True:
                    silent.accept()[0].close()
                    count += 1
            return count

        write(acme, 1, 2, 3, 4)
        assert asked() == 1
        later(0.99)
        write(acme, 5, 6)
        assert asked() == 0
        later(0.01)
        write(acme, 7, 8, 9)
        assert asked() == 1


def test_notifies_again_when_redis_is_back(
    acme: Token, hearer: Any, settings: Any, somewhere: Any, later: Any
):
    right = settings.CACHES
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    somewhere(port)
    write(acme, 1)
    settings.CACHES = right
    own.__dict__.clear()
    later(notify.outage.retry_seconds)
    write(acme, 2, 3)
    assert heard(hearer) == [str(acme.pk)] * 2
