"""Notifies web processes, through Redis, that partners have new events.

A notification is only a hint: who waits for events looks each second without it. So a
writer neither waits for Redis nor fails without it.
"""

import logging

from redis.exceptions import RedisError

from partnerapi.core.outages import Outage
from partnerapi.core.redis import database, tell

outage = Outage(
    logging.getLogger(__name__),
    away="Redis does not answer (%s): requests that wait for events look for them "
    "every second until it does",
    back="Redis answers again: requests that wait for events are notified",
)


def channel() -> str:
    """The channel of commits with events; the messages are empty."""
    return f"events:{database()}"


def notify() -> None:
    """Say that a transaction with events has ended."""
    if not outage.may_try():
        return
    try:
        tell("PUBLISH", channel(), "")
    except RedisError as error:
        outage.begin(error)
    else:
        outage.end()
