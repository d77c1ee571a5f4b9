"""Holds back a session's messages while its numbers start anew.

Between the engine's reset of the numbers and its answer to the Logon that asked for it
(141=Y), a message of another thread would take the answer's number.
"""

from collections.abc import Callable
from threading import Lock
from time import monotonic, sleep

HELD_SECONDS, STEP_SECONDS = 1.0, 0.002
"""How long such a Logon may take to be answered at most; it is at once."""
LOGON = b"\x0135=A\x01"


class Numbering:
    """Of one session: the front holds it, whoever sends waits, the engine lets go."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.held_until = 0.0

    def hold(self) -> None:
        """Let no further message be sent; one that is being sent may still be."""
        self.held_until = monotonic() + HELD_SECONDS

    def go_on(self) -> None:
        self.held_until = 0.0

    @property
    def is_at_rest(self) -> bool:
        return not self.lock.locked()

    def send(self, send: Callable[[], object], turn: Lock) -> None:
        """Send a message, when that may be.

        `turn` is locked by the caller, and let go while it waits.
        """
        while True:
            with self.lock:
                if not self.held_until or monotonic() >= self.held_until:
                    send()
                    return
            turn.release()
            sleep(STEP_SECONDS)
            turn.acquire()
