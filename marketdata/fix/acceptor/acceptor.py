"""The FIX acceptor: feed, conflation, engine, listener and supervisor in one.

It imports quickfix, which a web worker must never do.
"""

import asyncio
import ssl

from django.conf import settings

from marketdata.books.feed import ROUND_SECONDS, Feed
from marketdata.fix.acceptor.conflation import Conflation
from marketdata.fix.acceptor.leases import Leases
from marketdata.fix.acceptor.listener import Listener
from marketdata.fix.acceptor.logon import Admissions
from marketdata.fix.acceptor.quickfix.engine import Engine
from marketdata.fix.acceptor.sessions import Sessions
from marketdata.fix.acceptor.supervision import Supervisor
from marketdata.fix.protocol.rules import GOING_DOWN
from marketdata.models.sessions import pool

ROUNDS = 4
"""Of the feed, in an interval of the conflation: more would cost CPU, and change no
message."""


class Acceptor:
    """Serves the CompIDs of the pool. `context`: TLS; None: none."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        interval = settings.FIX_CONFLATION_MS / 1000
        loop = asyncio.new_event_loop()
        self.feed = Feed(round_seconds=max(ROUND_SECONDS, interval / ROUNDS))
        self.conflation = Conflation(self.feed, interval, loop)
        self.sessions = Sessions(self.feed, self.conflation, pool(), loop)
        self.feed.subscribe(self.sessions.on_change)
        self.engine = Engine(self.sessions)
        self.leases = Leases(self.sessions.end)
        self.listener = Listener(
            Admissions(), self.sessions, self.engine, context, self.leases
        )
        self.supervisor = Supervisor(self.sessions)

    def start(self) -> None:
        """Take the port, build the books, then serve the waiting connections.

        Raises:
            OSError: the port cannot be taken.
            django.db.Error: PostgreSQL does not answer, or is not migrated.
        """
        self.listener.listen()
        self.feed.start()
        self.conflation.start()
        self.supervisor.start()
        self.leases.start()
        self.listener.start()

    def renew(self, context: ssl.SSLContext) -> None:
        """Use another certificate for new connections."""
        self.listener.context = context

    @property
    def is_sound(self) -> bool:
        """Whether all of its threads and watches still run."""
        return (
            self.feed.is_alive
            and self.supervisor.thread.is_alive()
            and self.listener.is_sound
            and self.leases.is_sound
            and self.sessions.copies.is_sound
        )

    def stop(self) -> None:
        """Log all sessions out, wait until the Logouts are read, and end."""
        # No client may log on again before the end.
        self.listener.close()
        self.listener.end_sessions(GOING_DOWN)
        self.leases.stop()
        # These three call the loop, which ends last.
        self.supervisor.stop()
        self.feed.stop()
        self.listener.stop()
        self.engine.close()
