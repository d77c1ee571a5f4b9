"""Counts failed Logons in bounded memory."""

import threading
from collections.abc import Iterable

from cachetools import LRUCache

from partnerapi.core.buckets import Bucket

REMEMBERED = 10_000
"""Names whose failures are counted, and logins that once proved a key."""


class FailedLogons:
    """Counts failures by login and by address; `per_minute` of them are allowed.

    Of this process only: one acceptor owns its sessions. Thread-safe.
    """

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self.buckets: LRUCache[str, Bucket] = LRUCache(REMEMBERED)
        self.lock = threading.Lock()

    def is_exhausted(self, names: Iterable[str]) -> bool:
        with self.lock:
            return any(self.bucket(name).level < 1 for name in names)

    def count(self, names: Iterable[str]) -> None:
        with self.lock:
            for name in names:
                self.buckets.setdefault(name, self.bucket(name)).spend(1)

    def bucket(self, name: str) -> Bucket:
        """How often a name may still fail; a full bucket is not kept."""
        known = self.buckets.get(name)
        return known or Bucket(self.per_minute, self.per_minute / 60)
