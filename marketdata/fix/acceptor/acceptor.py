"""The FIX acceptor: feed, sessions, engine, front and supervision, as one thing.

It imports quickfix, which a web worker must never do.
"""

import socket
import ssl

from django.conf import settings

from marketdata.books.feed import Feed
from marketdata.fix.acceptor.conflation import Pace
from marketdata.fix.acceptor.listener import Front
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
        self.pace = Pace(self.feed, settings.FIX_CONFLATION_MS / 1000)
        sessions = Sessions(self.feed, self.pace, admissions, pool())
        self.engine = Engine(sessions, engine_port)
        self.front = Front(admissions, engine_port, context)
        self.supervisor = Supervisor(admissions, sessions)

    def start(self) -> None:
        """Take the port, make the books, then serve who has connected meanwhile.

        Raises:
            OSError: the port is not to be had.
            django.db.Error: PostgreSQL does not answer, or is not migrated.
        """
        self.front.listen()
        self.feed.start()
        self.pace.start()
        self.engine.start()
        self.supervisor.start()
        self.front.start()

    @property
    def is_sound(self) -> bool:
        """Whether all of its threads still run."""
        return (
            self.feed.is_alive
            and self.pace.thread.is_alive()
            and self.supervisor.thread.is_alive()
            and self.front.thread.is_alive()
        )

    def stop(self) -> None:
        """Log everybody out, let it be read, and end."""
        # Nobody comes back before the end.
        self.front.close()
        self.engine.stop(GOING_DOWN)
        self.pace.stop()
        self.front.stop()
        self.supervisor.stop()
        self.feed.stop()


def free_port() -> int:
    """A port of this machine's loopback for the engine, which is given one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
