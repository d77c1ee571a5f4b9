"""The thread's own connection to Redis, against a real server and a silent one."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from redis.exceptions import RedisError, ResponseError

from partnerapi.core.redis import call, own, tell


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    own.__dict__.clear()
    yield
    if own.connection:
        own.connection.disconnect()
    own.__dict__.clear()


def test_an_answer_is_that_of_its_own_command():
    tell("SET", "own-connection", "1")
    tell("INCR", "own-connection")
    assert call("INCR", "own-connection") == 3
    assert call("DEL", "own-connection") == 1


def test_a_refused_command_leaves_the_connection_in_order():
    call("SET", "own-connection", "text")
    kept = own.connection
    with pytest.raises(ResponseError):
        call("INCR", "own-connection")
    assert call("DEL", "own-connection") == 1
    assert own.connection is kept


def test_a_command_after_a_silence_gets_an_answer_of_its_own(settings: Any):
    right = settings.CACHES
    with socket.create_server(("127.0.0.1", 0)) as silent:
        location = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        settings.CACHES = {"default": right["default"] | {"LOCATION": location}}
        with pytest.raises(RedisError):
            call("PING")
        tell("PING")
        with pytest.raises(RedisError):
            tell("PING")
    settings.CACHES = right
    own.__dict__.clear()
    assert call("ECHO", "hello") == b"hello"
