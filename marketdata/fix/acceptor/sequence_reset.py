"""Holds back a session's messages while its numbers start anew.

Between the engine's reset of the numbers and its answer to the Logon that asked for it
(141=Y), a message of another thread would take the answer's number.
"""

from collections.abc import Callable
from threading import Lock
from time import monotonic, sleep

HELD_SECONDS, STEP_SECONDS = 1.0, 0.002
"""How long messages wait for the answer to such a Logon, which comes at once."""
LOGON = b"\x0135=A\x01"


class Numbering:
    """Of one session: the listener holds it, senders wait, the engine lets it go on."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.held_until = 0.0

    def hold(self) -> None:
        """Begin no further message; one that is being sent may still end."""
        self.held_until = monotonic() + HELD_SECONDS

    def go_on(self) -> None:
        self.held_until = 0.0

    @property
    def is_at_rest(self) -> bool:
        return not self.lock.locked()

    def send(self, send: Callable[[], object], send_lock: Lock) -> None:
        """Send a message, as soon as it may be sent.

        The caller holds `send_lock`; it is released while this waits.
        """
        while True:
            with self.lock:
                if not self.held_until or monotonic() >= self.held_until:
                    send()
                    return
            send_lock.release()
            sleep(STEP_SECONDS)
            send_lock.acquire()
