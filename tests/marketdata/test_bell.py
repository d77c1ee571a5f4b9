"""The bell that says in Redis which log has grown."""

import logging
import socket
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest
from django.core.cache import caches
from django.db import transaction

from issuers.models import Token
from marketdata.books import notify
from marketdata.books.log import Deal, Message, record
from partnerapi.core.redis import own
from tests.marketdata.markets import bid, head_of, traded

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme() -> Token:
    return traded("ACME")


@pytest.fixture
def hearer() -> Iterator[Any]:
    cache: Any = caches["default"]
    with cache.client.get_client(write=True).pubsub() as hearer:
        hearer.subscribe(notify.CHANNEL)
        assert hearer.get_message(timeout=1)["type"] == "subscribe"
        yield hearer


def heard(hearer: Any) -> list[str]:
    """Whose bell rang by now; other tests' bells ring in the same channel."""
    rung = []
    while message := hearer.get_message(timeout=0.2):
        rung.append(message["data"].decode())
    return rung


def test_each_call_rings_once_after_its_commit(acme: Token, hearer: Any):
    own = str(acme.pk)
    record(acme.pk, [Message([bid(1, 1)]), Message([bid(2, 1)], [Deal(2, 1)])], "me")
    assert [token for token in heard(hearer) if token == own] == [own]
    with transaction.atomic():
        record(acme.pk, [Message([bid(3, 1)])], "me")
        assert own not in heard(hearer)
    assert own in heard(hearer)


def test_what_is_rolled_back_is_not_rung_for(acme: Token, hearer: Any):
    with transaction.atomic():
        record(acme.pk, [Message([bid(3, 1)])], "me")
        transaction.set_rollback(True)
    assert str(acme.pk) not in heard(hearer)


@pytest.fixture
def somewhere(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Lets the cache be at another port of this machine."""

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


def write_for_a_while(token: Token, seconds: float) -> int:
    began, count = monotonic(), 0
    while monotonic() - began < seconds:
        record(token.pk, [Message([bid(1, 1 + count)])], "me")
        count += 1
    return count


def test_without_redis_a_writer_goes_on_and_says_so_once(
    acme: Token, somewhere: Any, caplog: pytest.LogCaptureFixture
):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    somewhere(port)
    count = write_for_a_while(acme, 1.3)
    assert head_of(acme.pk)[0] == count
    [said] = caplog.records
    assert said.name == "marketdata.books.notify"
    assert said.levelno == logging.WARNING
    assert said.getMessage().startswith("Redis does not answer (")


def test_a_silent_redis_is_asked_once_a_second(acme: Token, somewhere: Any):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        somewhere(silent.getsockname()[1])
        asked = 0
        record(acme.pk, [Message([bid(1, 1)])], "me")
        began = monotonic()
        while monotonic() - began < 1.5:
            record(acme.pk, [Message([bid(1, 1)])], "me")
            try:
                silent.accept()[0].close()
            except BlockingIOError:
                continue
            asked += 1
    assert asked == 2


def test_the_bell_rings_again_when_redis_is_back(
    acme: Token, hearer: Any, settings: Any, somewhere: Any,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    right = settings.CACHES
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    somewhere(port)
    record(acme.pk, [Message([bid(1, 1)])], "me")
    assert str(acme.pk) not in heard(hearer)
    settings.CACHES = right
    own.__dict__.clear()
    monkeypatch.setattr(notify.outage, "until", monotonic())
    record(acme.pk, [Message([bid(1, 2)])], "me")
    record(acme.pk, [Message([bid(1, 2)])], "me")
    assert heard(hearer).count(str(acme.pk)) == 2
