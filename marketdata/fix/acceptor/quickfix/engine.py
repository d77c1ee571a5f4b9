"""The FIX engine behind the front: QuickFIX on loopback, and the sessions it serves."""

import logging
import time
from collections.abc import Sequence
from datetime import datetime
from threading import Event, Lock, Thread
from typing import NamedTuple

import quickfix as fix
from django.conf import settings

from marketdata.books.feed import Feed
from marketdata.fix.acceptor.conflation import Pace
from marketdata.fix.acceptor.logon import Admission, Admissions
from marketdata.fix.acceptor.quickfix.application import FeedApplication
from marketdata.fix.acceptor.quickfix.descriptors import keep_apart
from marketdata.fix.acceptor.quickfix.journal import JournalFactory
from marketdata.fix.acceptor.quickfix.settings import new_acceptor, session_id
from marketdata.fix.acceptor.session import LiveSession

logger = logging.getLogger(__name__)

BEGIN_SECONDS, LEAVE_SECONDS = 0.2, 5.0
"""How long admitted Logons, then all Logouts, may take when the engine stops."""


class Status(NamedTuple):
    """How a CompID fares; instants are None where nobody is logged on.

    `messages_sent` counts from the engine's start.
    """

    connected_since: datetime | None
    last_heartbeat_at: datetime | None
    messages_sent: int
    last_logout_reason: str


class Engine:
    """Serves a pool of CompIDs; those who come must have been admitted.

    Only one in a process may hold a CompID of ours and theirs at a time.
    """

    def __init__(
        self, feed: Feed, admissions: Admissions, comp_ids: Sequence[str], port: int
    ) -> None:
        self.feed = feed
        self.admissions = admissions
        self.comp_ids = comp_ids
        self.port = port
        self.pace = Pace(feed, settings.FIX_CONFLATION_MS / 1000)
        self.live: dict[str, LiveSession] = {}
        self.admitted: dict[str, Admission] = {}
        # Those whose thread may not have ended yet.
        self.left: dict[str, LiveSession] = {}
        self.sent_before: dict[str, int] = dict.fromkeys(comp_ids, 0)
        self.reasons: dict[str, str] = dict.fromkeys(comp_ids, "")
        self.lock = Lock()
        self.started, self.stopping = Event(), Event()
        self.failure: Exception | None = None
        self.thread = Thread(target=self.run, name="FIX engine", daemon=True)
        # Why all sessions end, those, too, that begin meanwhile.
        self.farewell = ""
        self.application = FeedApplication(self)
        self.stores = fix.MemoryStoreFactory()
        self.logs = JournalFactory()
        self.acceptor: fix.ThreadedSocketAcceptor | None = new_acceptor(
            self.application, self.stores, self.logs, comp_ids, port
        )

    def start(self) -> None:
        """Listen, and return.

        Raises:
            fix.RuntimeError: the port is taken.
        """
        self.pace.start()
        self.thread.start()
        self.started.wait()
        if self.failure:
            raise self.failure

    def run(self) -> None:
        """Start and stop QuickFIX: its threads are children of this one."""
        keep_apart()
        assert self.acceptor is not None
        try:
            self.acceptor.start()
        except fix.RuntimeError as failure:
            self.failure = failure
            return
        finally:
            self.started.set()
        self.stopping.wait()
        self.acceptor.stop(True)
        # Its end takes the sessions out of QuickFIX's registry.
        self.acceptor = None

    @property
    def is_alive(self) -> bool:
        """Whether books are published; an unforeseen error would have ended that."""
        return self.pace.thread.is_alive()

    def stop(self, text: str) -> None:
        """Log all sessions out with a reason, then end for good."""
        self.farewell = text
        # Whose Logon was admitted before is about to be logged on, and told why, too.
        deadline = time.monotonic() + BEGIN_SECONDS
        while self.admitted and time.monotonic() < deadline:
            time.sleep(0.005)
        for comp_id in list(self.live):
            self.end(comp_id, text)
        deadline = time.monotonic() + LEAVE_SECONDS
        while self.live and time.monotonic() < deadline:
            time.sleep(0.02)
        self.stopping.set()
        self.thread.join()
        self.pace.stop()

    def end(self, comp_id: str, text: str) -> None:
        """Log a session out with a reason; none where nobody is logged on."""
        session = self.live.get(comp_id)
        if session:
            session.end(text)

    def status(self) -> dict[str, Status]:
        """How each CompID of the pool fares."""
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

    # Called by the application, on the threads of QuickFIX.

    def admit(self, comp_id: str, ticket: str) -> bool:
        """Whether a Logon with this ticket may pass."""
        if self.farewell:
            return False
        before = self.left.get(comp_id)
        if before:
            # What it was about to send must not reach who comes after it.
            before.thread.join(LEAVE_SECONDS)
            if before.thread.is_alive():
                return False
            self.left.pop(comp_id, None)
        admission = self.admissions.redeem(ticket, comp_id)
        if admission is None:
            return False
        self.admitted[comp_id] = admission
        return True

    def begin(self, comp_id: str) -> None:
        live = self.live.get(comp_id)
        if live:
            # A Logon within the session, which starts its numbers anew.
            live.admission.numbering.go_on()
            # It will not ask for what it had missed until then.
            live.misses_messages()
            return
        wire = fix.Session.lookupSession(session_id(comp_id))
        session = LiveSession(self.admitted.pop(comp_id), self.feed, self.pace, wire)
        with self.lock:
            self.live[comp_id] = session
        logger.info("%s is logged on", comp_id)
        session.start()
        if self.farewell:
            session.end(self.farewell)

    def gone(self, comp_id: str) -> None:
        """The connection has ended; the CompID is free again."""
        with self.lock:
            session = self.live.pop(comp_id, None)
            if session is None:
                return
            session.gone()
            self.left[comp_id] = session
            self.sent_before[comp_id] += session.messages_sent
            self.reasons[comp_id] = session.ending
        logger.info("%s is gone: %s", comp_id, self.reasons[comp_id])
