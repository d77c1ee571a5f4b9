"""Ends commands that run until they are told to end."""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def ended_by_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that what has begun is finished."""
    ended = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(n, lambda number, frame: ended.set()) for n in numbers]
    try:
        yield ended
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
