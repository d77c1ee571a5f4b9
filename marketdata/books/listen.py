"""Waits until Redis tells that logs of order books have grown."""

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

from marketdata.books.notify import channel
from partnerapi.core.outages import Outage

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 0.1
RETRY_SECONDS = 2.0
SLICE_SECONDS = 0.2
"""How late a wait may notice that it is to end."""
HEALTH_SECONDS = 5
MOST_AT_ONCE = 1_000


class GrowthListener:
    """For one thread. Messages that are published while Redis is away are lost."""

    def __init__(self, stopping: Event) -> None:
        self.stopping = stopping
        self.client = redis.Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=CONNECT_SECONDS,
            # The next wait connects again; meanwhile the feed looks at the tables.
            retry=Retry(NoBackoff(), 0),
            health_check_interval=HEALTH_SECONDS,
        )
        self.channel: PubSub | None = None
        self.outage = Outage(
            logger,
            away="Redis does not answer (%s): order books are looked at every second "
            "until it does",
            back="Redis answers again: changes of order books are listened to",
            retry_seconds=RETRY_SECONDS,
        )

    def wait(self, seconds: float) -> set[UUID]:
        """The tokens whose logs have grown, within so many seconds or until the end.

        It returns as soon as one has come, with all that were published before; where
        Redis is away, when the seconds are over.
        """
        deadline = monotonic() + seconds
        try:
            self.connect()
            grown = self.receive(deadline)
        except RedisError as error:
            self.disconnect()
            self.outage.begin(error)
            grown = set()
        if self.channel is None:
            self.stopping.wait(max(0.0, deadline - monotonic()))
        return grown

    def connect(self) -> None:
        if self.channel is not None or not self.outage.may_try():
            return
        subscribed = self.client.pubsub(ignore_subscribe_messages=True)
        subscribed.subscribe(channel())
        self.channel = subscribed
        self.outage.end()

    def receive(self, deadline: float) -> set[UUID]:
        grown: set[UUID] = set()
        for _ in range(MOST_AT_ONCE):
            if self.channel is None or self.stopping.is_set():
                break
            left = 0.0 if grown else deadline - monotonic()
            message = self.channel.get_message(
                timeout=max(0.0, min(left, SLICE_SECONDS))
            )
            if message is not None:
                # Another publisher's message is no token's id.
                with contextlib.suppress(ValueError):
                    grown.add(UUID(message["data"].decode()))
            elif grown or monotonic() >= deadline:
                break
        return grown

    def disconnect(self) -> None:
        if self.channel is not None:
            self.channel.close()
            self.channel = None

    def close(self) -> None:
        self.disconnect()
        self.client.close()
