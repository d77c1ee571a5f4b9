"""Waits for the order books' bell, or, where Redis is away, as long without it."""

import contextlib
import logging
from threading import Event
from time import monotonic
from uuid import UUID

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.client import PubSub
from redis.exceptions import RedisError
from redis.retry import Retry

from marketdata.bell import channel

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 0.1
RETRY_SECONDS = 2.0
SLICE_SECONDS = 0.2
"""How long the end may have to wait while Redis is listened to."""
HEALTH_SECONDS = 5
MOST_AT_ONCE = 1_000


class Hearing:
    """For one thread. A bell that rings while Redis is away is not heard."""

    def __init__(self, stopping: Event) -> None:
        self.stopping = stopping
        self.client = redis.Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=CONNECT_SECONDS,
            # We come again ourselves, and look at the table meanwhile.
            retry=Retry(NoBackoff(), 0),
            health_check_interval=HEALTH_SECONDS,
        )
        options = self.client.connection_pool.connection_kwargs
        self.channel = channel(options.get("db", 0))
        self.bell: PubSub | None = None
        self.retry_at = 0.0
        self.is_away = False

    def wait(self, seconds: float) -> set[UUID]:
        """The tokens rung for within so many seconds, or until the end is wanted.

        Returns as soon as it has heard one, with all that were rung for before.
        """
        deadline = monotonic() + seconds
        try:
            self.connect()
            rung = self.hear(deadline)
        except RedisError as error:
            self.disconnect()
            if not self.is_away:
                self.is_away = True
                logger.warning(
                    "Redis does not answer (%s): order books are looked at every second"
                    " until it does",
                    error,
                )
            rung = set()
        if self.bell is None:
            self.stopping.wait(max(0.0, deadline - monotonic()))
        return rung

    def connect(self) -> None:
        if self.bell is not None or monotonic() < self.retry_at:
            return
        self.retry_at = monotonic() + RETRY_SECONDS
        bell = self.client.pubsub(ignore_subscribe_messages=True)
        bell.subscribe(self.channel)
        self.bell = bell
        if self.is_away:
            self.is_away = False
            logger.info("Redis answers again: the order books' bell is heard")

    def hear(self, deadline: float) -> set[UUID]:
        rung: set[UUID] = set()
        for _ in range(MOST_AT_ONCE):
            if self.bell is None or self.stopping.is_set():
                break
            left = 0.0 if rung else deadline - monotonic()
            message = self.bell.get_message(timeout=max(0.0, min(left, SLICE_SECONDS)))
            if message is not None:
                # What is no token's id is not for us.
                with contextlib.suppress(ValueError):
                    rung.add(UUID(message["data"].decode()))
            elif rung or monotonic() >= deadline:
                break
        return rung

    def disconnect(self) -> None:
        if self.bell is not None:
            self.bell.close()
            self.bell = None

    def close(self) -> None:
        self.disconnect()
        self.client.close()
