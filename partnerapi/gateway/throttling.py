"""Budgets of points: a token bucket per integration account or address, in Redis.

One call a request, and another where points are taken or given back later. A bucket
of this process remembers what Redis said last: it holds at least as much as the one in
Redis, so that a caller without points is refused without a call. Where Redis does not
answer, it takes over: callers are never unlimited, and the API is never down for want
of Redis.
"""

import hashlib
import logging
import math
import threading
from dataclasses import dataclass, replace
from typing import Any

from cachetools import LRUCache
from redis.exceptions import NoScriptError, RedisError

from partnerapi.core.buckets import Bucket
from partnerapi.core.outages import Outage
from partnerapi.core.redis import call, tell

outage = Outage(
    logging.getLogger(__name__),
    away="Redis does not answer (%s): until it does, each process has its own budgets",
    back="Redis answers again: all processes share the budgets",
)

# Takes the points, or what is owed where the bucket holds less: that may be below 0.
# Returns whether the points were taken, and what is left. Redis' own clock decides, so
# that servers with different clocks share a bucket.
TAKE = """
local capacity, refill = tonumber(ARGV[1]), tonumber(ARGV[2])
local points, owed = tonumber(ARGV[3]), tonumber(ARGV[4])
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'level', 'at')
local level, at = tonumber(bucket[1]) or capacity, tonumber(bucket[2]) or now
level = math.min(capacity, level + math.max(0, now - at) * refill)
local taken = points <= level
local drawn = taken and points or owed
if drawn ~= 0 then
    level = math.min(capacity, level - drawn)
    redis.call('HSET', KEYS[1], 'level', level, 'at', now)
    redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - level) / refill * 1000) + 1000)
end
return {taken and 1 or 0, tostring(level)}
"""


@dataclass(frozen=True, slots=True)
class Budget:
    """A bucket as it stands after a request.

    `limit` and `level` are points, `refill_per_second` points a second; a level may be
    below 0. `taken` says whether the request was paid for; `missing` is what it lacks
    now, points.
    """

    limit: int
    level: float
    refill_per_second: float
    taken: bool
    missing: float

    @property
    def remaining(self) -> int:
        """Whole points that the bucket holds."""
        return max(0, int(self.level))

    @property
    def retry_after(self) -> int:
        """Whole seconds until the same request can be paid, at least 1."""
        return max(1, math.ceil(self.missing / self.refill_per_second))

    @property
    def reset(self) -> int:
        """Whole seconds until the bucket is full again."""
        return math.ceil((self.limit - math.floor(self.level)) / self.refill_per_second)


def look(name: str, limit: int, refill: float, points: int) -> Budget:
    """Whether the bucket may hold so many points, as far as this process knows."""
    with local_lock:
        level = local_bucket(name, limit, refill).level
    return Budget(limit, level, refill, points <= level, max(0.0, points - level))


def take(name: str, limit: int, refill: float, points: float, owed: int = 0) -> Budget:
    """Take points from the bucket of this name; where it holds fewer, what is owed.

    What is owed is taken in any case: the bucket may then hold less than nothing.
    """
    taken, level = take_in_redis(name, limit, refill, points, owed) or take_here(
        name, limit, refill, points, owed
    )
    return Budget(limit, level, refill, taken, max(0.0, points - level))


def spend(name: str, limit: int, refill: float, points: int) -> Budget:
    """Take points from the bucket of this name, whatever it holds; below 0, give."""
    return take(name, limit, refill, math.inf, points)


def settle(name: str, limit: int, refill: float, points: int, budget: Budget) -> Budget:
    """As `spend`, without waiting for Redis; `budget` is the bucket as last seen.

    Where Redis does not take it, the bucket refills with time.
    """
    with local_lock:
        local_bucket(name, limit, refill).spend(points)
    if outage.may_try():
        command = (1, f"budget:{name}", limit, refill, math.inf, points)
        try:
            tell("EVALSHA", TAKE_SHA, *command)
        except RedisError as error:
            outage.begin(error)
    level = min(limit, budget.level - points)
    return replace(budget, level=level)


def take_in_redis(
    name: str, limit: int, refill: float, points: float, owed: int
) -> tuple[bool, float] | None:
    """None: Redis does not answer, or did not within the last second."""
    if not outage.may_try():
        return None
    try:
        taken, answered = evaluate(f"budget:{name}", limit, refill, points, owed)
    except RedisError as error:
        outage.begin(error)
        return None
    outage.end()
    level = float(answered)
    with local_lock:
        local_bucket(name, limit, refill).fill_to(level)
    return bool(taken), level


TAKE_SHA = hashlib.sha1(TAKE.encode(), usedforsecurity=False).hexdigest()


def evaluate(
    key: str, limit: int, refill: float, points: float, owed: int
) -> list[Any]:
    """Run TAKE.

    Raises:
        RedisError: no answer.
    """
    arguments = (1, key, limit, refill, points, owed)
    answer: list[Any]
    try:
        answer = call("EVALSHA", TAKE_SHA, *arguments)
    except NoScriptError:
        answer = call("EVAL", TAKE, *arguments)
    return answer


LOCAL_BUCKETS = 10_000
"""Buckets of this process, 300 bytes each; beyond them the one drawn on longest ago is
full again."""

local_buckets: LRUCache[str, Bucket] = LRUCache(LOCAL_BUCKETS)
local_lock = threading.Lock()


def take_here(
    name: str, limit: int, refill: float, points: float, owed: int = 0
) -> tuple[bool, float]:
    with local_lock:
        bucket = local_bucket(name, limit, refill)
        taken = bucket.take(points)
        if not taken:
            bucket.spend(owed)
        return taken, bucket.left


def local_bucket(name: str, limit: int, refill: float) -> Bucket:
    """This process's bucket of the name; the caller holds `local_lock`."""
    bucket = local_buckets.setdefault(name, Bucket(limit, refill))
    bucket.capacity, bucket.refill = limit, refill
    return bucket
