"""The FIX engine's log in ours: what went wrong at INFO, the rest at DEBUG.

Secrets are nowhere in it.
"""

import logging
from collections.abc import Callable

import quickfix as fix

from marketdata.fix.protocol.wire import mask
from partnerapi.core.json_lines import logged_as

logger = logging.getLogger(__name__)

ROUTINE = (
    "Created session",
    "Accepted connection from",
    "Allows connections to the acceptor from",
    "Logon contains ResetSeqNumFlag=Y",
    "Received logon request",
    "Responding to logon request",
    "Initiated logout request",
    "Received logout re",
    "Sending logout response",
    "Disconnecting",
)
"""Beginnings of events that every session has; our own log tells of Logons and ends."""


EARLY = "MsgSeqNum too high"
"""Beginning of the event of a message that waits for others; no callback has it."""


class Journal(fix.Log):
    """The log of a session, or of the acceptor ("")."""

    def __init__(
        self,
        comp_id: str,
        id_of: Callable[[str], str | None] = lambda comp_id: None,
        on_early: Callable[[str], object] = lambda comp_id: None,
    ) -> None:
        super().__init__()
        self.comp_id = comp_id or "acceptor"
        self.id_of = id_of
        self.on_early = on_early

    def clear(self) -> None:
        """There is nothing to do: no log is kept."""

    def backup(self) -> None:
        """There is nothing to do: no log is kept."""

    def onIncoming(self, text: str) -> None:  # noqa: N802
        if logger.isEnabledFor(logging.DEBUG):
            self.log(logging.DEBUG, "%s < %s", text)

    def onOutgoing(self, text: str) -> None:  # noqa: N802
        """`outbound.py` logs what is sent."""

    def onEvent(self, text: str) -> None:  # noqa: N802
        if text.startswith(EARLY):
            self.on_early(self.comp_id)
        level = logging.DEBUG if text.startswith(ROUTINE) else logging.INFO
        # Some events end in the message that they are about.
        self.log(level, "%s: %s", text.partition("8=FIX")[0])

    def log(self, level: int, form: str, text: str) -> None:
        with logged_as(self.id_of(self.comp_id)):
            logger.log(level, form, self.comp_id, mask(text))


class JournalFactory(fix.LogFactory):
    """`id_of` tells the request id of a CompID's session, where it has one.

    `on_early` hears of each message of a CompID that waits for one that is missing.
    """

    def __init__(
        self,
        id_of: Callable[[str], str | None],
        on_early: Callable[[str], object],
    ) -> None:
        super().__init__()
        self.id_of = id_of
        self.on_early = on_early

    def create(self, session_id: fix.SessionID | None = None) -> fix.Log:
        comp_id = session_id.getTargetCompID().getValue() if session_id else ""
        # The engine owns it from here on: without this, it would be freed twice.
        return Journal(comp_id, self.id_of, self.on_early).__disown__()

    def destroy(self, log: fix.Log) -> None:
        """A journal holds nothing that must be closed."""
