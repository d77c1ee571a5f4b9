"""The FIX acceptor: feed, conflation, engine, listener and supervisor in one.

It imports quickfix, which a web worker must never do.
"""

import socket
import ssl

from django.conf import settings

from marketdata.books.feed import Feed
from marketdata.fix.acceptor.conflation import Conflation
from marketdata.fix.acceptor.leases import Leases
from marketdata.fix.acceptor.listener import Listener
from marketdata.fix.acceptor.logon import Admissions
from marketdata.fix.acceptor.quickfix.engine import Engine
from marketdata.fix.acceptor.sessions import Sessions
from marketdata.fix.acceptor.supervision import Supervisor
from marketdata.fix.protocol.rules import GOING_DOWN
from marketdata.models.sessions import pool


class Acceptor:
    """Serves the CompIDs of the pool. `context`: TLS; None: none."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        admissions = Admissions()
        engine_port = free_port()
        self.feed = Feed()
        self.conflation = Conflation(self.feed, settings.FIX_CONFLATION_MS / 1000)
        sessions = Sessions(self.feed, self.conflation, admissions, pool())
        self.feed.subscribe(sessions.on_change)
        self.engine = Engine(sessions, engine_port)
        self.leases = Leases(sessions.end)
        self.listener = Listener(
            admissions,
            engine_port,
            context,
            sessions.end_now,
            sessions.test,
            self.leases,
        )
        self.supervisor = Supervisor(admissions, sessions)

    def start(self) -> None:
        """Take the port, build the books, then serve the waiting connections.

        Raises:
            OSError: the port cannot be taken.
            django.db.Error: PostgreSQL does not answer, or is not migrated.
        """
        self.listener.listen()
        self.feed.start()
        self.conflation.start()
        self.engine.start()
        self.supervisor.start()
        self.leases.start()
        self.listener.start()

    def renew(self, context: ssl.SSLContext) -> None:
        """Use another certificate for new connections."""
        self.listener.context = context

    @property
    def is_sound(self) -> bool:
        """Whether all of its threads still run."""
        return (
            self.feed.is_alive
            and self.conflation.thread.is_alive()
            and self.supervisor.thread.is_alive()
            and self.listener.thread.is_alive()
        )

    def stop(self) -> None:
        """Log all sessions out, wait until the Logouts are read, and end."""
        # No client may log on again before the end.
        self.listener.close()
        self.engine.stop(GOING_DOWN)
        self.leases.stop()
        self.conflation.stop()
        self.listener.stop()
        self.supervisor.stop()
        self.feed.stop()


def free_port() -> int:
    """A free port of the loopback; the engine cannot choose one itself."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
