"""The FIX engine's log in ours: what went wrong at INFO, the rest at DEBUG.

Secrets are nowhere in it.
"""

import logging

import quickfix as fix

from marketdata.fix.protocol.wire import masked

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


class Journal(fix.Log):
    """The log of a session, or of the acceptor ("")."""

    def __init__(self, comp_id: str) -> None:
        super().__init__()
        self.comp_id = comp_id or "acceptor"

    def clear(self) -> None:
        """There is nothing to do: no log is kept."""

    def backup(self) -> None:
        """There is nothing to do: no log is kept."""

    def onIncoming(self, text: str) -> None:  # noqa: N802
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s < %s", self.comp_id, masked(text))

    def onOutgoing(self, text: str) -> None:  # noqa: N802
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s > %s", self.comp_id, masked(text))

    def onEvent(self, text: str) -> None:  # noqa: N802
        level = logging.DEBUG if text.startswith(ROUTINE) else logging.INFO
        # Some events end in the message that they are about.
        logger.log(level, "%s: %s", self.comp_id, masked(text.partition("8=FIX")[0]))


class JournalFactory(fix.LogFactory):
    def create(self, session_id: fix.SessionID | None = None) -> fix.Log:
        comp_id = session_id.getTargetCompID().getValue() if session_id else ""
        # The engine owns it from here on: without this, it would be freed twice.
        return Journal(comp_id).__disown__()

    def destroy(self, log: fix.Log) -> None:
        """A journal holds nothing that must be closed."""
