"""The logged-on sessions, and the state of each CompID of the pool."""

import logging
import time
from collections.abc import Collection, Sequence
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from marketdata.books.feed import Feed, LiveBook
from marketdata.fix.acceptor.conflation import Conflation
from marketdata.fix.acceptor.logon import Admission, Admissions
from marketdata.fix.acceptor.session import EngineSession, LiveSession
from partnerapi.core.json_lines import logged_as

logger = logging.getLogger(__name__)

ANNOUNCE_SECONDS = 0.5
BEGIN_SECONDS, LEAVE_SECONDS = 2.0, 5.0
"""From an admitted Logon to its session; all Logouts, when the acceptor stops."""


class Status(NamedTuple):
    """The state of a CompID; instants are None where it is not logged on.

    `messages_sent` counts from the acceptor's start.
    """

    connected_since: datetime | None
    last_heartbeat_at: datetime | None
    messages_sent: int
    last_logout_reason: str


class Sessions:
    """Admits, begins and ends the sessions of a pool of CompIDs.

    A CompID has one session at a time.
    """

    def __init__(
        self,
        feed: Feed,
        conflation: Conflation,
        admissions: Admissions,
        comp_ids: Sequence[str],
    ) -> None:
        self.feed = feed
        self.conflation = conflation
        self.admissions = admissions
        self.comp_ids = comp_ids
        self.live: dict[str, LiveSession] = {}
        self.admitted: dict[str, Admission] = {}
        # Disconnected sessions, whose threads may still run.
        self.left: dict[str, LiveSession] = {}
        self.sent_before: dict[str, int] = dict.fromkeys(comp_ids, 0)
        self.reasons: dict[str, str] = dict.fromkeys(comp_ids, "")
        self.lock = Lock()
        self.described = feed.described
        # Why all sessions end, including those that begin meanwhile.
        self.logout_reason = ""

    # QuickFIX's threads call these three methods, through the application.

    def admit(self, comp_id: str, ticket: str) -> bool:
        """Whether a Logon with this ticket may pass."""
        if self.logout_reason:
            return False
        before = self.left.get(comp_id)
        if before:
            # Its thread must not send to the next session.
            before.thread.join(LEAVE_SECONDS)
            if before.thread.is_alive():
                return False
            self.left.pop(comp_id, None)
        admission = self.admissions.redeem(ticket, comp_id)
        if admission is None:
            return False
        self.admitted[comp_id] = admission
        return True

    def begin(self, comp_id: str, engine_session: EngineSession) -> None:
        """Serve a session that has logged on."""
        admission = self.admitted[comp_id]
        session = LiveSession(admission, self.feed, self.conflation, engine_session)
        with self.lock:
            # Other threads may end a live session, and wait for its thread.
            session.start()
            self.live[comp_id] = session
        # A caller that waits for an admitted session now finds it live.
        del self.admitted[comp_id]
        with logged_as(admission.request_id):
            logger.info("%s is logged on", comp_id)
        if self.logout_reason:
            session.end(self.logout_reason)

    def on_disconnect(self, comp_id: str) -> None:
        """The connection has ended; the CompID is free again."""
        with self.lock:
            session = self.live.pop(comp_id, None)
            if session is None:
                return
            session.on_disconnect()
            self.left[comp_id] = session
            self.sent_before[comp_id] += session.messages_sent
            self.reasons[comp_id] = session.logout_reason
        with logged_as(session.admission.request_id):
            logger.info("%s disconnected: %s", comp_id, self.reasons[comp_id])

    def request_id(self, comp_id: str) -> str | None:
        """Of the Logon of a session, where there is one."""
        session = self.live.get(comp_id)
        return session.admission.request_id if session else None

    def on_early(self, comp_id: str) -> None:
        """A message of a session waits for one that is missing."""
        if session := self.live.get(comp_id):
            session.on_early()

    def end(self, comp_id: str, text: str) -> None:
        """Log a session out with a reason, if there is one."""
        session = self.live.get(comp_id)
        if session:
            session.end(text)

    def on_change(self, books: Collection[LiveBook]) -> None:
        """The feed's thread calls this, so that changed states are sent soon."""
        if self.feed.described != self.described:
            self.described = self.feed.described
            self.look()

    def look(self) -> None:
        """Have each session send changes of instruments and states."""
        for session in list(self.live.values()):
            session.look()

    def announce(self, headline: str, text: str) -> None:
        """Send a notice (B) to each session; wait briefly until it was sent."""
        sessions = list(self.live.values())
        for session in sessions:
            session.notify(headline, text)
        deadline = time.monotonic() + ANNOUNCE_SECONDS
        while any(s.answers for s in sessions) and time.monotonic() < deadline:
            time.sleep(0.005)

    def end_now(self, comp_id: str, text: str) -> None:
        """Send a live session the reason, before its connection is cut."""
        if session := self.await_session(comp_id):
            session.end_now(text)

    def test(self, comp_id: str) -> None:
        """Have a session send its client a TestRequest."""
        if session := self.await_session(comp_id):
            session.test()

    def await_session(self, comp_id: str) -> LiveSession | None:
        """The session of a CompID; the engine answers a Logon before it begins."""
        deadline = time.monotonic() + BEGIN_SECONDS
        while comp_id in self.admitted and time.monotonic() < deadline:
            time.sleep(0.005)
        return self.live.get(comp_id)

    def end_all(self, text: str) -> None:
        """Log all sessions out with a reason, and admit no more."""
        self.logout_reason = text
        # A Logon that was admitted before is about to begin a session. This session
        # also gets the reason.
        deadline = time.monotonic() + BEGIN_SECONDS
        while self.admitted and time.monotonic() < deadline:
            time.sleep(0.005)
        for comp_id in list(self.live):
            self.end(comp_id, text)
        deadline = time.monotonic() + LEAVE_SECONDS
        while self.live and time.monotonic() < deadline:
            time.sleep(0.02)
        # The engine forgets its sessions next. No thread may send to them any more.
        for session in list(self.left.values()):
            session.thread.join(max(0.0, deadline - time.monotonic()))

    def status(self) -> dict[str, Status]:
        """The state of each CompID of the pool."""
        with self.lock:
            return {comp_id: self.status_of(comp_id) for comp_id in self.comp_ids}

    def status_of(self, comp_id: str) -> Status:
        session = self.live.get(comp_id)
        return Status(
            session.since if session else None,
            session.heard_at if session else None,
            self.sent_before[comp_id] + (session.messages_sent if session else 0),
            self.reasons[comp_id],
        )
