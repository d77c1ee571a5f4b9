"""The logged-on sessions, and the state of each CompID of the pool."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from time import monotonic
from typing import NamedTuple

from marketdata.books.feed import Feed, LiveBook
from marketdata.fix.acceptor.conflation import Conflation
from marketdata.fix.acceptor.copies import Copies
from marketdata.fix.acceptor.logon import Admission, LogonRefused
from marketdata.fix.acceptor.outbound import Outbound
from marketdata.fix.acceptor.session import EngineSession, LiveSession
from partnerapi.core.json_lines import logged_as

logger = logging.getLogger(__name__)

LEAVE_SECONDS = 5.0
"""How long the clients have to answer their Logouts, when the acceptor stops."""


class Status(NamedTuple):
    """The state of a CompID; instants are None where it is not logged on.

    `messages_sent` counts from the acceptor's start.
    """

    connected_since: datetime | None
    last_heartbeat_at: datetime | None
    messages_sent: int
    last_logout_reason: str


class Sessions:
    """Begins and ends the sessions of a pool of CompIDs, one at a time for each.

    All but `on_change`, `from_thread` and `status` runs in the thread of `loop`.
    """

    def __init__(
        self,
        feed: Feed,
        conflation: Conflation,
        comp_ids: Sequence[str],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.feed = feed
        self.conflation = conflation
        self.comp_ids = comp_ids
        self.loop = loop
        self.copies = Copies(loop)
        self.live: dict[str, LiveSession] = {}
        self.sent_before: dict[str, int] = dict.fromkeys(comp_ids, 0)
        self.reasons: dict[str, str] = dict.fromkeys(comp_ids, "")
        self.described = feed.described
        # Why all sessions end, and none begins.
        self.logout_reason = ""

    def from_thread(self, call: Callable[..., object], *arguments: object) -> None:
        """Have the loop make a call; any thread."""
        self.loop.call_soon_threadsafe(call, *arguments)

    def begin(
        self, admission: Admission, engine_session: EngineSession, outbound: Outbound
    ) -> LiveSession:
        """A session whose Logon the engine gets next.

        Raises:
            LogonRefused: the acceptor stops.
        """
        if self.logout_reason:
            raise LogonRefused(self.logout_reason)
        session = LiveSession(
            admission, self.feed, self.conflation, engine_session, outbound
        )
        if admission.last_event is not None:
            session.copy = self.copies.add(
                admission.caller.partner_id, admission.last_event, session
            )
        self.live[admission.comp_id] = session
        return session

    def on_logon(self, comp_id: str) -> None:
        """The engine has answered the Logon."""
        session = self.live[comp_id]
        session.is_logged_on = True
        with logged_as(session.admission.request_id):
            logger.info("%s is logged on", comp_id)

    def on_disconnect(self, comp_id: str) -> None:
        """The engine's session has ended; the CompID is free."""
        session = self.live.pop(comp_id)
        session.on_disconnect()
        self.sent_before[comp_id] += session.messages_sent
        self.reasons[comp_id] = session.logout_reason
        with logged_as(session.admission.request_id):
            logger.info("%s disconnected: %s", comp_id, self.reasons[comp_id])

    def end(self, comp_id: str, text: str) -> None:
        """Log a session out with a reason, if there is one."""
        session = self.live.get(comp_id)
        if session:
            session.end(text)

    def on_change(self, books: Collection[LiveBook]) -> None:
        """The feed's thread calls this, so that changed states are sent soon."""
        if self.feed.described != self.described:
            self.described = self.feed.described
            self.from_thread(self.look)

    def look(self) -> None:
        """Have each session send changes of instruments and states."""
        for session in list(self.live.values()):
            session.look()

    async def end_all(self, text: str) -> None:
        """Log all sessions out with a notice (B) and a reason, and admit no more."""
        self.logout_reason = text
        for session in list(self.live.values()):
            session.notify("The acceptor stops", text)
        # The notices precede the Logouts.
        await asyncio.sleep(0)
        for session in list(self.live.values()):
            session.end(text)
        deadline = monotonic() + LEAVE_SECONDS
        while self.live and monotonic() < deadline:
            await asyncio.sleep(0.02)

    def status(self) -> dict[str, Status]:
        """The state of each CompID of the pool."""
        return {comp_id: self.status_of(comp_id) for comp_id in self.comp_ids}

    def status_of(self, comp_id: str) -> Status:
        session = self.live.get(comp_id)
        return Status(
            session.since if session else None,
            session.heard_at if session else None,
            self.sent_before[comp_id] + (session.messages_sent if session else 0),
            self.reasons[comp_id],
        )
