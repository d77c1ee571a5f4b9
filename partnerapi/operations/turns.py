"""In which order whole requests are worked on: callers take turns.

Each caller has a line, first come, first served, and lines take turns: a caller that
has taken more server time in its minute comes later. A caller without a place has any
that is free; one that has some gets another only while as many stay free as it then
has. So one caller has half of the places at most, two have a third each, and a request
of yet another finds a place at once, however many wait in the other lines and however
long they take. Where each place is another caller's, the first that becomes free goes
to one that had none.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

Request = TypeVar("Request")
MOST_COMPARED = 100
"""Lines whose callers' time is compared: each takes a microsecond."""


@dataclass(eq=False, slots=True)
class Work(Generic[Request]):
    """The work of a request of a caller.

    `come` and `due` are times of one clock: since when it waits, and when it is late.
    """

    request: Request
    caller: str
    do: Callable[[Request], None]
    come: float
    due: float
    has_place: bool = False


class Turns(Generic[Request]):
    """Work that waits, and how much of whose is under way; not thread-safe.

    `taken` knows the seconds that a caller has taken of the server.
    """

    def __init__(
        self,
        places: int,
        most_aside: int = 0,
        taken: Callable[[str], float] = lambda caller: 0.0,
    ) -> None:
        self.taken = taken
        self.places = places
        self.most_aside = most_aside
        # What is under way without a place, because it waits for something else.
        self.aside: set[Work[Request]] = set()
        # The caller whose turn is next comes first; no line is empty.
        self.lines: OrderedDict[str, deque[Work[Request]]] = OrderedDict()
        self.under_way: Counter[str] = Counter()

    def join(self, work: Work[Request]) -> None:
        self.lines.setdefault(work.caller, deque()).append(work)

    def take(self) -> Work[Request] | None:
        """The next work, which has a place from now on; None: none may begin."""
        left = self.places - self.under_way.total() - 1
        if left < 0:
            return None
        may_begin = (
            caller
            for caller in self.lines
            if not (has := self.under_way[caller]) or has < left
        )
        # Of those that have taken as much, the one whose turn it is.
        caller = min(islice(may_begin, MOST_COMPARED), key=self.taken, default=None)
        if caller is None:
            return None
        line = self.lines.pop(caller)
        work = line.popleft()
        if line:
            self.lines[caller] = line
        self.under_way[caller] += 1
        work.has_place = True
        return work

    def give_place(self, work: Work[Request]) -> None:
        """Others may have the place of this work, unless they have it already."""
        if work.has_place:
            work.has_place = False
            self.under_way[work.caller] -= 1
            if not self.under_way[work.caller]:
                del self.under_way[work.caller]
            # It has had its turn: those that wait for their first go before it.
            if work.caller in self.lines:
                self.lines.move_to_end(work.caller)

    def stand_aside(self, work: Work[Request]) -> None:
        """Others may have its place, unless too many are under way without one."""
        if work.has_place and len(self.aside) < self.most_aside:
            self.give_place(work)
            self.aside.add(work)

    def pass_place(self, work: Work[Request], heir: Work[Request]) -> None:
        """Give the place of this work to another that is under way without one."""
        if work.has_place and heir in self.aside:
            self.give_place(work)
            self.aside.remove(heir)
            self.aside.add(work)
            self.under_way[heir.caller] += 1
            heir.has_place = True

    def end(self, work: Work[Request]) -> None:
        self.give_place(work)
        self.aside.discard(work)

    def late(self, now: float) -> Iterator[Work[Request]]:
        """Take out of the lines what is late; it has no place."""
        for caller, line in list(self.lines.items()):
            while line and line[0].due <= now:
                yield line.popleft()
            if not line:
                del self.lines[caller]

    def shed(self, weight: Callable[[Request], int]) -> Work[Request] | None:
        """Take the newest work of the line that weighs the most; None: none weighs."""
        weights = {
            caller: sum(weight(work.request) for work in line)
            for caller, line in self.lines.items()
        }
        caller = max(weights, key=weights.__getitem__, default="")
        if not weights.get(caller):
            return None
        line = self.lines[caller]
        work = line.pop()
        if not line:
            del self.lines[caller]
        return work
