"""Tells whoever follows the logs, by way of Redis, that one of them has grown.

Only a hint: the tables are the truth, and are looked at without it, too. So nobody
waits for Redis here, and a writer never fails for want of it.
"""

import logging
import threading
from time import monotonic
from typing import Any
from uuid import UUID

from django.core.cache import caches
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0

local = threading.local()


def channel(database: int) -> str:
    """Where the bell of a Redis database rings; the message is the token's id.

    Redis itself shares its channels among its databases.
    """
    return f"marketdata:bell:{database}"


class Outage:
    """What this process knows of Redis being away; no thread tries before `until`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lasts = False
        self.until = 0.0

    def may_try(self) -> bool:
        if not self.lasts:
            return True
        with self.lock:
            if monotonic() < self.until:
                return False
            self.until = monotonic() + RETRY_SECONDS
            return True

    def begin(self, error: RedisError) -> None:
        with self.lock:
            self.until = monotonic() + RETRY_SECONDS
            if self.lasts:
                return
            self.lasts = True
        logger.warning(
            "Redis does not answer (%s): who follows the order books looks for changes "
            "every second until it does",
            error,
        )

    def end(self) -> None:
        with self.lock:
            if not self.lasts:
                return
            self.lasts = False
        logger.info("Redis answers again: the order books' bell rings")


outage = Outage()


def ring(token_id: UUID) -> None:
    if not outage.may_try():
        return
    try:
        publish(str(token_id))
    except RedisError as error:
        outage.begin(error)
    else:
        outage.end()


def publish(message: str) -> None:
    """Publish on this thread's own connection, without waiting for the answer.

    It is read before the next message, by when it has long come.

    Raises:
        RedisError: no answer to the last message; the next call connects anew.
    """
    redis = getattr(local, "redis", None)
    if redis is None:
        cache: Any = caches["default"]
        client = cache.client.get_client(write=True)
        redis = local.redis = client.connection_pool.make_connection()
        local.awaits_answer = False
    try:
        if local.awaits_answer:
            redis.read_response()
        local.awaits_answer = False
        redis.send_command("PUBLISH", channel(redis.db), message)
        local.awaits_answer = True
    except RedisError:
        # An answer that comes late must not be taken for the next one's.
        redis.disconnect()
        local.awaits_answer = False
        raise
