"""Signs of life that acceptors leave in Valkey, for monitoring."""

import socket
from time import time
from typing import NamedTuple

from django.conf import settings

from partnerapi.core.redis import call

KEY = "fix:acceptors"


class Sign(NamedTuple):
    """`at` is a time of `time.time`, `lag` how old the order books are, seconds."""

    place: str
    at: float
    lag: float
    sessions: int


def place() -> str:
    return f"{socket.gethostname()}:{settings.FIX_PORT}"


def leave_sign(lag: float, sessions: int) -> None:
    """Say that this acceptor serves.

    Raises:
        RedisError: no answer.
    """
    here = place()
    call("HSET", KEY, here, f"{here} {time():.1f} {lag:.1f} {sessions}")


def take_sign_away() -> None:
    """Remove this acceptor's sign, because it was asked to end.

    Raises:
        RedisError: no answer.
    """
    call("HDEL", KEY, place())


def read_signs() -> list[Sign]:
    """The signs of all acceptors, except those that were asked to end.

    Raises:
        RedisError: no answer.
    """
    signs = []
    for value in call("HVALS", KEY):
        name, at, lag, sessions = value.decode().split()
        signs.append(Sign(name, float(at), float(lag), int(sessions)))
    return signs
