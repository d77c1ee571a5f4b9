"""How fast the machine is: ten million additions, before and after what is measured.

Seconds and rates hold for two idle cores on which the additions take IDLE_SECONDS. On a
machine that takes twice as long, seconds are divided by 2 and rates multiplied by it.
"""

import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from time import perf_counter, process_time

IDLE_SECONDS = 0.4
LOOPS, NUMBERS = 5, 1_000_000


def loop() -> float:
    began, total = perf_counter(), 0
    for number in range(NUMBERS):
        total += number
    return perf_counter() - began


def additions() -> float:
    """The seconds of ten million additions, by the median of five short loops."""
    return statistics.median(loop() for _ in range(LOOPS)) * 10_000_000 / NUMBERS


def cpu_of_additions() -> float:
    """The CPU seconds of ten million additions, which no other process makes longer."""
    began = process_time()
    for _ in range(LOOPS):
        loop()
    return (process_time() - began) / LOOPS * 10_000_000 / NUMBERS


class Pace:
    """The seconds of the additions, `before` what is measured and after it.

    Those after are taken when first something is asked for that needs them: ask for it
    when all is measured.
    """

    def __init__(self, before: float) -> None:
        self.before = before

    @cached_property
    def after(self) -> float:
        return additions()

    @property
    def factor(self) -> float:
        """How many times as long as on idle cores everything takes here."""
        return (self.before + self.after) / 2 / IDLE_SECONDS

    def idle(self, seconds: float) -> float:
        """What took so long here, as on idle cores; milliseconds and cores, too."""
        return seconds / self.factor

    def idle_rate(self, rate: float) -> float:
        """What is so many a second here, as on idle cores."""
        return rate * self.factor

    def __str__(self) -> str:
        return (
            f"10⁷ additions: {self.before:.2f} s before, {self.after:.2f} s after "
            f"({IDLE_SECONDS:.2f} s on idle cores): divide seconds by "
            f"{self.factor:.2f}, multiply rates by it."
        )


@contextmanager
def yardstick(beside_json: bool = False) -> Iterator[Pace]:
    """Run a `main` in it: it prints the pace in the end, to stderr beside JSON."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        yield Pace(IDLE_SECONDS)
        return
    pace = Pace(additions())
    try:
        yield pace
    finally:
        beside_json |= "--json" in sys.argv[1:]
        (sys.stderr if beside_json else sys.stdout).write(f"{pace}\n")
