"""Budgets of points: a token bucket per integration account or address, in Redis.

One call a request. Where Redis does not answer, a bucket of this process takes over:
callers are never unlimited, and the API is never down for want of Redis.
"""

import hashlib
import logging
import math
import threading
from dataclasses import dataclass
from typing import Any

from cachetools import LRUCache
from redis.exceptions import NoScriptError, RedisError

from partnerapi.core.buckets import Bucket
from partnerapi.core.outages import Outage
from partnerapi.core.redis import call

outage = Outage(
    logging.getLogger(__name__),
    away="Redis does not answer (%s): until it does, each process has its own budgets",
    back="Redis answers again: all processes share the budgets",
)

# Returns whether the points were taken, and what is left. Redis' own clock decides, so
# that servers with different clocks share a bucket.
TAKE = """
local capacity, refill, points = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'level', 'at')
local level, at = tonumber(bucket[1]) or capacity, tonumber(bucket[2]) or now
level = math.min(capacity, level + math.max(0, now - at) * refill)
local taken = points <= level
if taken then
    level = level - points
    redis.call('HSET', KEYS[1], 'level', level, 'at', now)
    redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - level) / refill * 1000) + 1000)
end
return {taken and 1 or 0, tostring(level)}
"""


@dataclass(frozen=True, slots=True)
class Budget:
    """A bucket as it stands after a request.

    `limit` and `remaining` are points, `refill_per_second` points a second. `taken`
    says whether the request was paid for; `missing` is what it lacked, points.
    """

    limit: int
    remaining: int
    refill_per_second: int
    taken: bool
    missing: float

    @property
    def retry_after(self) -> int:
        """Whole seconds until the same request can be paid, at least 1."""
        return max(1, math.ceil(self.missing / self.refill_per_second))

    @property
    def reset(self) -> int:
        """Whole seconds until the bucket is full again."""
        return math.ceil((self.limit - self.remaining) / self.refill_per_second)


def take(name: str, limit: int, refill: int, points: int) -> Budget:
    """Take points from the bucket of this name, or leave it alone if it holds fewer."""
    taken, level = take_in_redis(name, limit, refill, points) or take_here(
        name, limit, refill, points
    )
    return Budget(limit, int(level), refill, taken, max(0.0, points - level))


def take_in_redis(
    name: str, limit: int, refill: int, points: int
) -> tuple[bool, float] | None:
    """None: Redis does not answer, or did not within the last second."""
    if not outage.may_try():
        return None
    try:
        taken, level = evaluate(f"budget:{name}", limit, refill, points)
    except RedisError as error:
        outage.begin(error)
        return None
    outage.end()
    return bool(taken), float(level)


TAKE_SHA = hashlib.sha1(TAKE.encode(), usedforsecurity=False).hexdigest()


def evaluate(key: str, limit: int, refill: int, points: int) -> list[Any]:
    """Run TAKE.

    Raises:
        RedisError: no answer.
    """
    arguments = (1, key, limit, refill, points)
    answer: list[Any]
    try:
        answer = call("EVALSHA", TAKE_SHA, *arguments)
    except NoScriptError:
        answer = call("EVAL", TAKE, *arguments)
    return answer


LOCAL_BUCKETS = 10_000
"""Buckets of this process; beyond them the one drawn on longest ago is full again."""

local_buckets: LRUCache[str, Bucket] = LRUCache(LOCAL_BUCKETS)
local_lock = threading.Lock()


def take_here(name: str, limit: int, refill: int, points: int) -> tuple[bool, float]:
    with local_lock:
        bucket = local_buckets.setdefault(name, Bucket(limit, refill))
        bucket.capacity, bucket.refill = limit, refill
        return bucket.take(points), bucket.left
