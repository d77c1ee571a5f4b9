"""The thread's own connection to Redis, against a real server."""

import re
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


def test_an_answer_that_comes_late_is_nobody_elses(settings: Any):
    cache = settings.CACHES["default"]
    location = re.sub("(socket_timeout)=[^&]*", r"\1=0.1", cache["LOCATION"])
    settings.CACHES = {"default": cache | {"LOCATION": location}}
    call("ECHO", "connected")
    with pytest.raises(RedisError):
        call("BLPOP", "a list that stays empty", 1)
    assert call("ECHO", "mine") == b"mine"
