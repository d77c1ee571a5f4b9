"""Counts failed Logons in bounded memory."""

import threading

from cachetools import LRUCache

from partnerapi.core.buckets import Bucket

REMEMBERED = 10_000
"""Logins at addresses whose failures are counted."""
LOGIN_LENGTH = 50


class FailedLogons:
    """Counts the failures of a login at an address; `per_minute` of them are allowed.

    So neither strangers elsewhere nor other logins at the address lock a partner out.
    It counts in this process only. Thread-safe.
    """

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self.buckets: LRUCache[tuple[str, str], Bucket] = LRUCache(REMEMBERED)
        self.lock = threading.Lock()

    def is_exhausted(self, login: str, address: str) -> bool:
        with self.lock:
            known = self.buckets.get((login[:LOGIN_LENGTH], address))
            return known is not None and known.level < 1

    def count(self, login: str, address: str) -> None:
        name = login[:LOGIN_LENGTH], address
        with self.lock:
            bucket = self.buckets.get(name)
            if bucket is None:
                bucket = Bucket(self.per_minute, self.per_minute / 60)
                self.buckets[name] = bucket
            bucket.spend(1)
