"""Budgets of points: a token bucket per integration account or address, in Redis.

One call a request. Where Redis does not answer, a bucket of this process takes over:
callers are never unlimited, and the API is never down for want of Redis.
"""

import hashlib
import logging
import math
import threading
from dataclasses import dataclass
from time import monotonic
from typing import Any

from django.core.cache import caches
from redis.exceptions import NoScriptError, RedisError

logger = logging.getLogger(__name__)

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
    try:
        taken, level = evaluate(f"budget:{name}", limit, refill, points)
    except RedisError as error:
        logger.warning("Redis does not answer (%s): budgets are this process's", error)
        taken, level = take_here(name, limit, refill, points)
    left = float(level)
    return Budget(limit, int(left), refill, bool(taken), max(0.0, points - left))


TAKE_SHA = hashlib.sha1(TAKE.encode(), usedforsecurity=False).hexdigest()
local = threading.local()


def evaluate(key: str, limit: int, refill: int, points: int) -> list[Any]:
    """Run TAKE on this thread's own connection, which costs half of the client's way.

    Raises:
        RedisError: no answer; the next call connects anew.
    """
    redis = getattr(local, "redis", None)
    if redis is None:
        cache: Any = caches["default"]
        client = cache.client.get_client(write=True)
        redis = local.redis = client.connection_pool.make_connection()
    try:
        redis.send_command("EVALSHA", TAKE_SHA, 1, key, limit, refill, points)
        answer: list[Any] = redis.read_response()
    except NoScriptError:
        redis.send_command("EVAL", TAKE, 1, key, limit, refill, points)
        answer = redis.read_response()
    except RedisError:
        # An answer that comes late must not be taken for the next one's.
        redis.disconnect()
        raise
    return answer


local_buckets: dict[str, tuple[float, float]] = {}
local_lock = threading.Lock()
LOCAL_BUCKETS = 10_000


def take_here(name: str, limit: int, refill: int, points: int) -> tuple[bool, float]:
    now = monotonic()
    with local_lock:
        level, at = local_buckets.pop(name, (float(limit), now))
        level = min(limit, level + (now - at) * refill)
        taken = points <= level
        if taken:
            level -= points
        if len(local_buckets) >= LOCAL_BUCKETS:
            # The one that has not been drawn on for longest.
            local_buckets.pop(next(iter(local_buckets)))
        local_buckets[name] = level, now
    return taken, level
