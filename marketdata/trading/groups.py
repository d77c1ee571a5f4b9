"""Requests of one market that wait in a process go together, in one transaction.

The first finds no other and goes alone, at once. Those that come meanwhile stand in
line, without a connection. When it is done, the first of the line leads: it takes with
it what waits at that moment, and those that come then are the next group. So a lone
caller waits for nothing, and many callers share their statements and commits.
"""

import logging
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock
from time import monotonic
from typing import Any, Protocol

from django.db import connection

from partnerapi.core.postgresql import lending

logger = logging.getLogger(__name__)

MOST = 100
"""Requests of a group."""


class Asked(Protocol):
    """A request. No two of a group have the same identity; `owner` is a partner."""

    @property
    def identity(self) -> Hashable: ...

    @property
    def owner(self) -> Hashable: ...


class Place(Protocol):
    """What a thread of the web worker has while it works; see its `Place`."""

    def stand_aside(self) -> None: ...

    def pass_to(self, other: Any) -> None: ...


@dataclass(eq=False, slots=True)
class Waiting:
    """A request in line.

    `called`: it leads, is answered, or leaves. `is_alone`: its group failed, or it has
    left one.
    """

    asked: Asked
    due: float
    alone: Callable[[], Any]
    together: Callable[[list[Any]], list[Any]]
    place: Place | None
    called: Event = field(default_factory=Event)
    leads: bool = False
    is_alone: bool = False
    answer: Any = None
    backend: int | None = None


class Groups:
    """The lines of the requests of each subject, such as a market. Thread-safe.

    `subject` names what a request is about, None if it goes alone; `resolve` makes the
    results of a group.
    """

    def __init__(
        self,
        subject: Callable[..., Hashable | None],
        resolve: Callable[[Any, Sequence[tuple[Any, dict[str, Any]]]], list[Any]],
    ) -> None:
        self.subject, self.resolve = subject, resolve
        self.lock = Lock()
        # Of each subject that has a leader, those behind it.
        self.lines: dict[Hashable, deque[Waiting]] = {}

    def answer(
        self,
        subject: Hashable,
        asked: Asked,
        due: float,
        alone: Callable[[], Any],
        together: Callable[[list[Any]], list[Any]],
        place: Place | None,
    ) -> Any:
        """The answer to a request, which this waits for.

        `alone` answers it. `together` answers several in one transaction, with None for
        each that must go alone. `due` is a time of `time.monotonic`.

        Raises:
            Busy: it is due, and was not begun. And what `alone` raises.
        """
        one = Waiting(asked, due, alone, together, place)
        self.go_in_line(subject, one)
        if one.answer is None:
            # Its key has an answer, or another transaction holds it. The market does
            # not wait for that, and of those of a partner one does at a time.
            one.called.clear()
            one.leads, one.is_alone = False, True
            self.go_in_line(("alone", asked.owner), one)
        elif not one.leads:
            lending.answered_by(one.backend)
        return one.answer

    def go_in_line(self, subject: Hashable, one: Waiting) -> None:
        """Wait until a request is answered; without an answer it must go alone."""
        with self.lock:
            line = self.lines.get(subject)
            keeps_place = not line
            if line is None:
                self.lines[subject] = deque()
            else:
                line.append(one)
        if line is None:
            # There is no other.
            try:
                one.answer = one.alone()
            finally:
                self.pass_on(subject, one)
            return
        # With two callers of a market no group forms: they work as if there were none.
        if one.place and not keeps_place and not one.called.is_set():
            one.place.stand_aside()
        self.wait(line, one)
        if one.leads:
            try:
                self.lead(subject, one)
            finally:
                self.pass_on(subject, one)

    def wait(self, line: deque[Waiting], one: Waiting) -> None:
        """Wait to be called; a request that is due leaves the line.

        Raises:
            Busy: it is due.
        """
        if one.called.wait(max(0.0, one.due - monotonic())):
            return
        with self.lock:
            is_in_line = one in line
            if is_in_line:
                line.remove(one)
        if is_in_line:
            lending.check_due(monotonic())
        # What is begun comes to an end.
        one.called.wait()

    def lead(self, subject: Hashable, one: Waiting) -> None:
        # While this waits for a connection, more may come.
        connection.ensure_connection()
        group = [one, *self.take(subject, one)]
        if len(group) > 1:
            self.answer_together(subject, group)
        if len(group) == 1 or one.is_alone:
            one.answer = one.alone()

    def take(self, subject: Hashable, leader: Waiting) -> list[Waiting]:
        """Take out of the line those that go with the leader, in their order."""
        taken: list[Waiting] = []
        if leader.is_alone:
            return taken
        identities = {leader.asked.identity}
        now = monotonic()
        with self.lock:
            line = self.lines[subject]
            for one in [*line]:
                if len(taken) + 1 == MOST:
                    break
                identity = one.asked.identity
                if one.is_alone or one.due <= now or identity in identities:
                    continue
                identities.add(identity)
                taken.append(one)
                line.remove(one)
        return taken

    def answer_together(self, subject: Hashable, group: list[Waiting]) -> None:
        """Answer a group; if it fails as a whole, its requests go one by one."""
        leader, *others = group
        answers: list[Any] = []
        try:
            answers = leader.together([one.asked for one in group])
        except Exception as error:  # Alone, each gets its own answer.
            lending.rest()
            logger.warning(
                "%d requests that went together failed, and go one by one: %s",
                len(group),
                error,
            )
        finally:
            if not answers:
                self.put_back(subject, group)
        if answers:
            backend = lending.backend()
            for one, answer in zip(group, answers, strict=True):
                one.answer, one.backend = answer, backend
            for one in others:
                one.called.set()

    def put_back(self, subject: Hashable, group: list[Waiting]) -> None:
        with self.lock:
            for one in group:
                one.is_alone = True
            self.lines[subject].extendleft(reversed(group[1:]))

    def pass_on(self, subject: Hashable, leader: Waiting) -> None:
        """Have the first of the line lead, in the place of the leader before it."""
        with self.lock:
            line = self.lines[subject]
            if not line:
                del self.lines[subject]
                return
            heir = line.popleft()
            heir.leads = True
        if leader.place and heir.place:
            leader.place.pass_to(heir.place)
        heir.called.set()
