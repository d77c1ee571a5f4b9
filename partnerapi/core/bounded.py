"""Keeps what was used last, as long as it is not too large in sum."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")


class Counters(NamedTuple):
    """What `functools.lru_cache` tells of a cache; here sizes, not entries, count."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


class Cache(Generic[Value]):
    """Values by key; those used longest ago make room, so that sizes sum to `maximum`.

    What strangers send is unlike in size: a bound on the number alone bounds nothing.
    """

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self.size = self.hits = self.misses = 0
        self.lock = Lock()

    def get(self, key: Hashable) -> Value | None:
        with self.lock:
            entry = self.entries.get(key)
            if entry is None:
                self.misses += 1
                return None
            self.hits += 1
            self.entries.move_to_end(key)
            return entry[0]

    def keep(self, key: Hashable, value: Value, size: int) -> None:
        """Keep a value, or note that it has grown."""
        with self.lock:
            if key in self.entries:
                self.size -= self.entries.pop(key)[1]
            self.entries[key] = value, size
            self.size += size
            while self.size > self.maximum:
                _, (_, freed) = self.entries.popitem(last=False)
                self.size -= freed

    def cache_info(self) -> Counters:
        return Counters(self.hits, self.misses, self.maximum, self.size)

    def clear(self) -> None:
        with self.lock:
            self.entries.clear()
            self.size = 0
