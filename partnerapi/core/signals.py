"""The operating system's signals, as events that a process's threads wait for."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from queue import SimpleQueue


@contextmanager
def told_by_signals(events: Mapping[int, threading.Event]) -> Iterator[None]:
    """Set a signal's event when it comes; the main thread only.

    A handler runs in the middle of what the main thread does, which may be a wait for
    that very event: it must take no lock. So another thread sets the events.
    """
    told: SimpleQueue[int | None] = SimpleQueue()

    def hand_over() -> None:
        while (number := told.get()) is not None:
            events[number].set()

    threading.Thread(target=hand_over, name="signals", daemon=True).start()
    before = {
        number: signal.signal(number, lambda number, frame: told.put(number))
        for number in events
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: a library's, which Python cannot set again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        told.put(None)


@contextmanager
def ended_by_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that what has begun is finished."""
    ended = threading.Event()
    with told_by_signals({signal.SIGINT: ended, signal.SIGTERM: ended}):
        yield ended
