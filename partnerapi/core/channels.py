"""Waits for what is published on a channel of Redis."""

from threading import Event
from time import monotonic

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.client import PubSub
from redis.exceptions import RedisError
from redis.retry import Retry

from partnerapi.core.outages import Outage

CONNECT_SECONDS = 0.1
SLICE_SECONDS = 0.2
"""How late a wait may notice that it is to end."""
HEALTH_SECONDS = 5
MOST_AT_ONCE = 1_000


class ChannelListener:
    """Serves one thread. Messages published while Redis is away are lost.

    A wait ends early when `stopping` is set. The listener begins and ends `outage`.
    """

    def __init__(self, name: str, stopping: Event, outage: Outage) -> None:
        self.name = name
        self.stopping = stopping
        self.outage = outage
        self.client = redis.Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=CONNECT_SECONDS,
            # The next wait reconnects. Meanwhile the caller reads the tables.
            retry=Retry(NoBackoff(), 0),
            health_check_interval=HEALTH_SECONDS,
        )
        self.channel: PubSub | None = None

    def wait_for_messages(self, seconds: float) -> set[str]:
        """The messages that arrive within this many seconds, or until the end.

        Returns on the first arrival, with all messages published before. Without Redis,
        it returns when the seconds are over.
        """
        deadline = monotonic() + seconds
        try:
            self.connect()
            messages = self.receive(deadline)
        except RedisError as error:
            self.disconnect()
            self.outage.begin(error)
            messages = set()
        if self.channel is None:
            self.stopping.wait(max(0.0, deadline - monotonic()))
        return messages

    def connect(self) -> None:
        if self.channel is not None or not self.outage.may_try():
            return
        subscribed = self.client.pubsub(ignore_subscribe_messages=True)
        subscribed.subscribe(self.name)
        self.channel = subscribed
        self.outage.end()

    def receive(self, deadline: float) -> set[str]:
        messages: set[str] = set()
        for _ in range(MOST_AT_ONCE):
            if self.channel is None or self.stopping.is_set():
                break
            left = 0.0 if messages else deadline - monotonic()
            message = self.channel.get_message(
                timeout=max(0.0, min(left, SLICE_SECONDS))
            )
            if message is not None:
                messages.add(message["data"].decode(errors="replace"))
            elif messages or monotonic() >= deadline:
                break
        return messages

    def disconnect(self) -> None:
        if self.channel is not None:
            self.channel.close()
            self.channel = None

    def close(self) -> None:
        self.disconnect()
        self.client.close()
