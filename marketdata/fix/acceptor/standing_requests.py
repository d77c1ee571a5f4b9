"""Requests of a session that are answered again; requests for books are elsewhere."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

MOST_STANDING = 200
"""Of a session: requests with SubscriptionRequestType(263)=1 that stand."""


class Reply(NamedTuple):
    """The present answer: a message's type and bodies; `gist` is their meaning."""

    gist: Hashable
    type: str
    bodies: Iterable[str]


class StandingRequests:
    """By type and id of a request: the question to repeat, and the last answer."""

    def __init__(self) -> None:
        self.standing: dict[tuple[str, str], tuple[Callable[[], Reply], Hashable]] = {}

    def is_full(self, key: tuple[str, str]) -> bool:
        return len(self.standing) >= MOST_STANDING and key not in self.standing

    def keep(self, key: tuple[str, str], ask: Callable[[], Reply], said: Reply) -> None:
        self.standing[key] = ask, said.gist

    def end(self, key: tuple[str, str]) -> None:
        self.standing.pop(key, None)

    def changed_replies(self) -> Iterator[Reply]:
        """The replies that differ from the last ones given."""
        for key, (ask, gist) in list(self.standing.items()):
            reply = ask()
            if reply.gist == gist:
                continue
            self.standing[key] = ask, reply.gist
            yield reply
