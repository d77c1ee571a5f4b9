"""What is wrong in files that someone imports."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_TOLD = 100
"""So many problems of a file are listed one by one; of more, how many there are."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that a file breaks, and where.

    `line` counts from 1, the header included; 0 where a file has no lines. `field` is a
    column, or an object's id. `file` names one of several files that come together.
    """

    line: int
    field: str
    rule: str
    file: str = ""

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        where = filter(None, (self.file, line, self.field))
        return f"{', '.join(where)}: {self.rule}"


class Problems:
    """Any number of problems: the first 100 as they are found, the others counted."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self.told: list[Problem] = []
        self.count = 0
        self.extend(problems)

    def append(self, problem: Problem) -> None:
        self.count += 1
        if len(self.told) < MOST_TOLD:
            self.told.append(problem)

    def extend(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.append(problem)
        if isinstance(problems, Problems):
            self.count += problems.untold

    def add_untold(self, count: int) -> None:
        self.count += count

    def __iadd__(self, problems: Iterable[Problem]) -> "Problems":
        self.extend(problems)
        return self

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.told)

    def __len__(self) -> int:
        return self.count

    @property
    def untold(self) -> int:
        return self.count - len(self.told)


class WrongFileError(Exception):
    """The file cannot be imported.

    `problems` are the first 100 that were found, by line; `count` is how many there
    are.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        found = problems if isinstance(problems, Problems) else Problems(problems)
        self.problems = sorted(found, key=lambda problem: problem.line)
        self.count = len(found)
        more = [f"and {found.untold:,} more"] if found.untold else []
        super().__init__("\n".join([*map(str, self.problems), *more]))
