"""Who has failed to log on too often; what is remembered of anybody is bounded."""

import threading
from collections.abc import Hashable, Iterable
from time import monotonic
from typing import Any

REMEMBERED = 10_000
"""Names of whom failures are counted, and of those that once proved a key."""


def remember(known: dict[Any, Any], name: Hashable, value: object) -> None:
    """Note something about a name; whoever was not noted for longest gives way."""
    known.pop(name, None)
    if len(known) >= REMEMBERED:
        known.pop(next(iter(known)))
    known[name] = value


class FailedLogons:
    """Counts failures of a login or an address, and forgets one every few seconds.

    Its own process's: one acceptor owns its sessions. Thread-safe.
    """

    def __init__(self, per_minute: int) -> None:
        self.most = per_minute
        self.per_second = per_minute / 60
        self.levels: dict[str, tuple[float, float]] = {}
        self.lock = threading.Lock()

    def too_many(self, names: Iterable[str]) -> bool:
        now = monotonic()
        with self.lock:
            return any(self.level(name, now) > self.most - 1 for name in names)

    def count(self, names: Iterable[str]) -> None:
        now = monotonic()
        with self.lock:
            for name in names:
                remember(self.levels, name, (self.level(name, now) + 1, now))

    def level(self, name: str, now: float) -> float:
        level, at = self.levels.get(name, (0.0, now))
        return max(0.0, level - (now - at) * self.per_second)
