"""Tells followers of the logs, by way of Redis, that one of them has grown.

Only a hint: the tables are the truth, and followers look at them without it, too. So
nobody waits for Redis here, and a writer never fails for want of it.
"""

import logging
from uuid import UUID

from redis.exceptions import RedisError

from partnerapi.core.outages import Outage
from partnerapi.core.redis import database, tell

outage = Outage(
    logging.getLogger(__name__),
    away="Redis does not answer (%s): followers of the order books look for changes "
    "every second until it does",
    back="Redis answers again: followers of the order books are notified",
)


def channel() -> str:
    """Where the growth of a log is published; the message is the token's id."""
    return f"marketdata:bell:{database()}"


def notify(token_id: UUID) -> None:
    if not outage.may_try():
        return
    try:
        tell("PUBLISH", channel(), str(token_id))
    except RedisError as error:
        outage.begin(error)
    else:
        outage.end()
