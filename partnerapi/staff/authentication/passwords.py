"""Passwords are digested one after the other, by a thread that gives way to all others.

A digest takes a processor for most of a second, and anyone can request one.
"""

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from django.contrib.auth import hashers

from partnerapi.core.postgresql.lending import rest

WAIT_SECONDS = 1.0
MOST_WAITING = 2
"""Threads that wait for their turn; the others of a process stay free for the API."""
NICENESS = 10
"""The thread gets a tenth of a processor that others want, too."""


class PasswordsBusy(Exception):
    """Others had the turn, or waited for it, for longer than a second."""


class Turn:
    """One thread has it at a time, and may take it again. Thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.places = threading.BoundedSemaphore(1 + MOST_WAITING)
        self.holder: int | None = None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """
        Raises:
            PasswordsBusy
        """
        if self.holder == threading.get_ident():
            yield
            return
        if not self.places.acquire(blocking=False):
            raise PasswordsBusy
        try:
            if not self.lock.acquire(timeout=WAIT_SECONDS):
                raise PasswordsBusy
            self.holder = threading.get_ident()
            try:
                yield
            finally:
                self.holder = None
                self.lock.release()
        finally:
            self.places.release()


turn = Turn()


def give_way() -> None:
    if sys.platform == "linux":
        # There a thread has a priority of its own.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


digesting = ThreadPoolExecutor(1, "passwords", initializer=give_way)


class PBKDF2PasswordHasher(hashers.PBKDF2PasswordHasher):
    """Django's, in turn; meanwhile others use the connection of the waiting thread."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """
        Raises:
            PasswordsBusy
        """
        digest = super().encode
        with turn.taken():
            rest()
            return digesting.submit(digest, password, salt, iterations).result()
