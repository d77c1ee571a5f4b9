"""Flow control of a session: how much may be sent ahead of the client's reading.

Nothing is sent here. Instants are seconds of a monotonic clock, which callers pass in.
"""

import secrets
from dataclasses import dataclass

from marketdata.fix.protocol.rules import CREDIT_SECONDS, PROBE_BYTES, WINDOW_BYTES


@dataclass(slots=True)
class Probe:
    """An unanswered TestRequest, and the number of bytes sent before it.

    `at` is when it was sent, or the first of those that it replaces.
    """

    id: str
    sent: int
    at: float


class Window:
    """Counts the bytes sent, and those that the client has acknowledged.

    A Heartbeat that answers a TestRequest acknowledges all bytes sent before the
    TestRequest.
    """

    def __init__(self) -> None:
        self.sent = self.acknowledged = 0
        self.probe: Probe | None = None
        self.is_probe_lost = False

    @property
    def may_send(self) -> bool:
        return self.sent - self.acknowledged < WINDOW_BYTES

    @property
    def is_probe_due(self) -> bool:
        return self.probe is None and self.sent - self.acknowledged >= PROBE_BYTES

    def new_probe(self, now: float) -> str:
        """Note that a TestRequest is sent now; its TestReqID(112).

        One that replaces a lost one gets no more time: each ResendRequest loses one.
        """
        lost = self.probe if self.is_probe_lost else None
        self.is_probe_lost = False
        at = lost.at if lost else now
        self.probe = Probe(secrets.token_hex(4), self.sent, at)
        return self.probe.id

    def answer(self, test_request_id: str) -> bool:
        """Take a Heartbeat; returns whether it answers the open TestRequest."""
        probe = self.probe
        if probe is None or probe.id != test_request_id:
            return False
        self.acknowledged = probe.sent
        self.probe = None
        return True

    def lose_probe(self) -> None:
        """The client missed messages; a TestRequest among them is not sent again."""
        self.is_probe_lost = self.probe is not None

    def is_overdue(self, now: float) -> bool:
        """Whether a TestRequest has stayed unanswered for too long."""
        return self.probe is not None and now >= self.probe.at + CREDIT_SECONDS
