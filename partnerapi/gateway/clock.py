"""Server time: so many seconds a minute for each caller, in each web process.

What a caller takes of one process, another process has left to give, so each keeps its
own account of it, and needs neither Redis nor the other processes. A caller's minute
begins with its first request after the minute before it.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from django.conf import settings

from partnerapi.core.postgresql.timing import Meter
from partnerapi.gateway.refusals import Throttled

MINUTE = 60.0
MOST_MINUTES = 10_000
"""Callers that are remembered, 200 bytes each. One more, and only those stay that have
a request running or no time left: the server has no time for many of these."""


@dataclass(slots=True)
class Minute:
    """What a caller has taken in the minute that `ends`, a time of `time.monotonic`.

    used: seconds, with those that it owes of minutes before.
    running, begun: how many of its requests run, and the sum of when they began.
    """

    used: float = 0.0
    ends: float = 0.0
    running: int = 0
    begun: float = 0.0

    def go_on(self, limit: float, now: float) -> None:
        """Pay what is owed with the minutes that have passed."""
        if now < self.ends:
            return
        passed = 1 + (now - self.ends) // MINUTE
        self.used = max(0.0, self.used - passed * limit)
        self.ends = self.ends + passed * MINUTE if self.used else now + MINUTE

    def taken(self, now: float) -> float:
        """Seconds: a request that runs has taken those since it began."""
        return self.used + self.running * now - self.begun

    def retry_after(self, limit: float, now: float) -> int:
        """Whole seconds until the limit lets another request begin, at least 1."""
        if self.used < limit:
            return 1
        minutes = (self.used - limit) // limit
        return max(1, math.ceil(self.ends + minutes * MINUTE - now))


minutes: dict[str, Minute] = {}
lock = threading.Lock()


def limit_of(name: str) -> float:
    """Seconds a minute of a partner, or of an address, by the name of its bucket."""
    seconds: int = settings.PARTNER_API_BUDGET_SECONDS
    return seconds if name.startswith("partner:") else seconds / 2


def minute_of(name: str, now: float) -> Minute:
    """The caller holds `lock`."""
    found = minutes.get(name)
    if found is None:
        if len(minutes) >= MOST_MINUTES:
            forget(now)
        found = minutes[name] = Minute()
    found.go_on(limit_of(name), now)
    return found


def forget(now: float) -> None:
    for name, minute in [*minutes.items()]:
        minute.go_on(limit_of(name), now)
        if minute.used < limit_of(name) and not minute.running:
            del minutes[name]


def taken(name: str) -> float:
    """Seconds that a caller has taken in its minute."""
    with lock:
        found = minutes.get(name)
        if found is None:
            return 0.0
        now = monotonic()
        found.go_on(limit_of(name), now)
        return found.taken(now)


def left(name: str) -> float:
    """Seconds that a caller may still take in its minute, at least 0."""
    return max(0.0, limit_of(name) - taken(name))


class Running:
    """The server time of one request; for the thread that makes it.

    `name` is whose it is, as of a bucket of points.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.meter = Meter()
        self.began: float | None = None

    def begin(self, name: str) -> None:
        """From now on the request is this caller's, and takes a second a second.

        Raises:
            Throttled: the caller has no time left in its minute.
        """
        now, limit = monotonic(), limit_of(name)
        with lock:
            minute = minute_of(name, now)
            is_spent = minute.taken(now) >= limit
            seconds = minute.retry_after(limit, now)
        if is_spent:
            self.name = name
            raise spent(seconds)
        self.begin_anyway(name)

    def begin_anyway(self, name: str) -> None:
        """As `begin`, even if the caller has no time left."""
        self.name = name
        self.go_on()

    def go_on(self) -> None:
        now = self.began = monotonic()
        with lock:
            minute = minute_of(self.name, now)
            minute.running += 1
            minute.begun += now

    def pause(self) -> None:
        if self.began is None:
            return
        with lock:
            minute = minute_of(self.name, monotonic())
            # A caller without a running request may have been forgotten.
            if minute.running:
                minute.running -= 1
                minute.begun -= self.began
        self.began = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Only what is measured counts: the thread waits for others."""
        self.pause()
        try:
            yield
        finally:
            self.go_on()

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """What the thread does within `paused` for itself and others."""
        self.go_on()
        try:
            yield
        finally:
            self.pause()

    def end(self) -> float:
        """Charge the time that the request has taken, and return it, seconds."""
        self.pause()
        seconds = self.meter.end()
        with lock:
            minute_of(self.name, monotonic()).used += seconds
        return seconds

    @property
    def left(self) -> float:
        """Seconds that the caller has left, with what is known of this request."""
        with lock:
            now = monotonic()
            minute = minute_of(self.name, now)
            own = 0.0 if self.began is None else now - self.began
            taken = minute.taken(now) - own + self.meter.seconds
        return max(0.0, limit_of(self.name) - taken)


def share(running: list[Running], seconds: float) -> None:
    """Charge the first's time, so many of its seconds, to all in equal parts."""
    part = seconds / len(running)
    for each in running:
        each.meter.add(part)
    running[0].meter.add(-seconds)


def spent(seconds: int) -> Throttled:
    return Throttled(
        f"The server time of this minute is spent; try again in {seconds} seconds.",
        headers={"Retry-After": str(seconds)},
        reason=TIME,
    )


TIME = "TIME"
"""The reason of THROTTLED for a caller that still has points."""
