"""The last requests of each partner, which staff look at: noted, and written aside.

No body, no variable and no answer is kept. It is no record: a process that is killed
loses its last second, and nothing is written while Redis is away.
"""

from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple

import orjson
from django.core.cache import caches
from redis.exceptions import RedisError

from partnerapi.core.asides import Aside

MOST_KEPT = 1_000
"""Requests of a partner."""
KEPT_SECONDS = 30 * 24 * 60 * 60
"""So long after its last request a partner's are gone."""
MOST_NOTED = 20_000
"""Requests that one process holds until they are written; beyond, the oldest go."""
WRITE_SECONDS = 1.0


class Recent(NamedTuple):
    """`at`: seconds since 1970. `points` is its cost, `ms` how long it took."""

    at: float
    operation: str
    name: str
    points: int
    ms: float
    status: int
    code: str
    request_id: str


class RecentRequests:
    """What this process has answered and not written yet. Thread-safe."""

    def __init__(self) -> None:
        self.noted: deque[tuple[str, Recent]] = deque(maxlen=MOST_NOTED)
        self.aside = Aside(self.write_or_lose, WRITE_SECONDS)

    def note(self, partner_id: str, request: Recent) -> None:
        self.noted.append((partner_id, request))
        self.aside.noted()

    def write(self) -> None:
        """Write what was noted; one round trip.

        Raises:
            RedisError: what was noted is lost.
        """
        by_partner: dict[str, list[bytes]] = {}
        for _ in range(len(self.noted)):
            partner_id, request = self.noted.popleft()
            by_partner.setdefault(partner_id, []).append(orjson.dumps([*request]))
        if not by_partner:
            return
        written = client().pipeline(transaction=False)
        for partner_id, lines in by_partner.items():
            written.lpush(key_of(partner_id), *lines[-MOST_KEPT:])
            written.ltrim(key_of(partner_id), 0, MOST_KEPT - 1)
            written.expire(key_of(partner_id), KEPT_SECONDS)
        written.execute()

    def write_or_lose(self) -> None:
        # Budgets say that Redis is away.
        with suppress(RedisError):
            self.write()


recent = RecentRequests()


def requests_of(partner_id: str, most: int = MOST_KEPT) -> list[Recent]:
    """A partner's last requests, the latest first.

    Raises:
        RedisError: no answer.
    """
    lines = client().lrange(key_of(partner_id), 0, most - 1)
    # Processes write theirs in turn: within a second, the list is not in order.
    return sorted((Recent(*orjson.loads(line)) for line in lines), reverse=True)


def key_of(partner_id: str) -> str:
    return f"recent:{partner_id}"


def client() -> Any:
    cache: Any = caches["default"]
    return cache.client.get_client(write=True)
