"""Signs of life that processes leave in Valkey, for those who watch them."""

import os
import socket
from time import time
from typing import NamedTuple

from partnerapi.core.redis import call


class Sign(NamedTuple):
    """`place` is a host and a process's number, `at` a time of `time.time`."""

    place: str
    at: float


def place() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def leave_sign(key: str) -> None:
    """Say that this process is at work.

    Raises:
        RedisError: no answer.
    """
    call("HSET", key, place(), f"{place()} {time():.1f}")


def take_sign_away(key: str) -> None:
    """Say that this process ends.

    Raises:
        RedisError: no answer.
    """
    call("HDEL", key, place())


def read_signs(key: str, silent_seconds: float) -> list[Sign]:
    """The signs that are no older than so many seconds; the others are removed.

    Raises:
        RedisError: no answer.
    """
    live = []
    for value in call("HVALS", key):
        name, at = value.decode().split()
        if time() - float(at) > silent_seconds:
            call("HDEL", key, name)
        else:
            live.append(Sign(name, float(at)))
    return live
