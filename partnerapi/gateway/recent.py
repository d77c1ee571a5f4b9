"""The last requests of each partner, which staff look at: noted, and written aside.

No body, no variable and no answer is kept. It is no record: a process that is killed
loses its last second, and nothing is written while Redis is away.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import orjson
from django.core.cache import caches
from redis.exceptions import RedisError

from accounts.keys.asides import Aside

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
        self.aside.start_writer()

    def write(self) -> None:
        """Write what was noted; two round trips at most.

        Raises:
            RedisError: what was noted is lost.
        """
        by_partner: dict[str, list[Recent]] = {}
        for _ in range(len(self.noted)):
            partner_id, request = self.noted.popleft()
            by_partner.setdefault(partner_id, []).append(request)
        if not by_partner:
            return
        written = client().pipeline(transaction=False)
        for partner_id, noted in by_partner.items():
            last = noted[-MOST_KEPT:]
            written.lpush(key_of(partner_id), *(orjson.dumps([*r]) for r in last))
            written.expire(key_of(partner_id), KEPT_SECONDS)
            for request in last:
                written.set(name_of(partner_id, request.request_id), 1, KEPT_SECONDS)
        # What goes is read first: it is not found by its id any more.
        for partner_id in by_partner:
            written.lrange(key_of(partner_id), MOST_KEPT, -1)
            written.ltrim(key_of(partner_id), 0, MOST_KEPT - 1)
        gone = written.execute()[-2 * len(by_partner) :: 2]
        forgotten = [
            name_of(partner_id, Recent(*orjson.loads(line)).request_id)
            for partner_id, lines in zip(by_partner, gone, strict=True)
            for line in lines
        ]
        if forgotten:
            client().delete(*forgotten)

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


def askers_of(request_id: str, partner_ids: Sequence[str]) -> list[str]:
    """Which of these partners have a request of this id among their last ones.

    Partners may choose the ids themselves, so that several have one.

    Raises:
        RedisError: no answer.
    """
    if not partner_ids:
        return []
    found = client().mget([name_of(pk, request_id) for pk in partner_ids])
    return [pk for pk, kept in zip(partner_ids, found, strict=True) if kept]


def name_of(partner_id: str, request_id: str) -> str:
    return f"recent:{partner_id}:{request_id}"


def key_of(partner_id: str) -> str:
    return f"recent:{partner_id}"


def client() -> Any:
    cache: Any = caches["default"]
    return cache.client.get_client(write=True)
