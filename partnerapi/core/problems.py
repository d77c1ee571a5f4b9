"""What is wrong in files that somebody imports."""

from collections.abc import Iterable
from dataclasses import dataclass


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


class WrongFileError(Exception):
    """The file can not be imported; `problems` are all that were found, by line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line)
        super().__init__("\n".join(map(str, self.problems)))
