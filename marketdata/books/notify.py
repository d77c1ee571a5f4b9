"""Notifies feeds, through Redis, that a log of an order book has grown.

A notification is only a hint. The tables are the truth, and feeds also read them
without a notification. So a writer neither waits for Redis nor fails without it.
"""

import logging
from uuid import UUID

from redis.exceptions import RedisError

from partnerapi.core.outages import Outage
from partnerapi.core.redis import database, tell

outage = Outage(
    logging.getLogger(__name__),
    away="Redis does not answer (%s): followers of the order books poll for changes "
    "every second until it does",
    back="Redis answers again: followers of the order books are notified",
)


def channel() -> str:
    """The channel of the growth of logs; a message is the token's id."""
    return f"marketdata:growth:{database()}"


def notify(token_id: UUID) -> None:
    if not outage.may_try():
        return
    try:
        tell("PUBLISH", channel(), str(token_id))
    except RedisError as error:
        outage.begin(error)
    else:
        outage.end()
