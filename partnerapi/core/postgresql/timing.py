"""The server time that a thread takes: its CPU, and its statements.

What waits for a lock of another transaction takes none, though its statement runs.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, thread_time
from typing import Any

from django.db import OperationalError
from psycopg.errors import DeadlockDetected, LockNotAvailable

own = threading.local()


class Meter:
    """Counts the server time, seconds, of the thread that makes it, from then on."""

    __slots__ = ("beside_cpu", "cpu_began", "thread")

    def __init__(self) -> None:
        self.cpu_began, self.beside_cpu = thread_time(), 0.0
        self.thread = threading.get_ident()
        own.meter = self

    @property
    def seconds(self) -> float:
        """Without the CPU, where another thread asks."""
        is_own = self.thread == threading.get_ident()
        cpu = thread_time() - self.cpu_began if is_own else 0.0
        return max(0.0, cpu + self.beside_cpu)

    def add(self, seconds: float) -> None:
        """Count time of another thread, too; below 0, leave this time to others."""
        self.beside_cpu += seconds

    def end(self) -> float:
        """Count nothing more; returns the seconds."""
        own.meter = None
        return self.seconds


def meter() -> Meter | None:
    """What counts this thread's time now."""
    found: Meter | None = getattr(own, "meter", None)
    return found


def time_statement(
    execute: Callable[..., Any], sql: Any, parameters: Any, many: bool, context: Any
) -> Any:
    """Run a statement for Django, which calls it as a wrapper of `execute`.

    One that a lock ended counts nothing: until then it waited.
    """
    counting = meter()
    if counting is None:
        return execute(sql, parameters, many, context)
    began, is_counted = monotonic() - thread_time(), True
    try:
        return execute(sql, parameters, many, context)
    except OperationalError as error:
        is_counted = not isinstance(
            error.__cause__, LockNotAvailable | DeadlockDetected
        )
        raise
    finally:
        if is_counted:
            counting.add(monotonic() - thread_time() - began)


def leave(seconds: float) -> None:
    """Leave this much of the thread's statements to those that they waited for."""
    if (counting := meter()) is not None:
        counting.add(-seconds)


@contextmanager
def untimed() -> Iterator[None]:
    """Statements of this thread count by their CPU only: they wait for locks."""
    counting, own.meter = meter(), None
    try:
        yield
    finally:
        own.meter = counting
