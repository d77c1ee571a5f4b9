"""Runs QuickFIX behind the listener, on loopback."""

from threading import Event, Thread

import quickfix as fix

from marketdata.fix.acceptor.quickfix.application import FeedApplication
from marketdata.fix.acceptor.quickfix.descriptors import keep_apart
from marketdata.fix.acceptor.quickfix.journal import JournalFactory
from marketdata.fix.acceptor.quickfix.settings import new_acceptor
from marketdata.fix.acceptor.sessions import Sessions


class Engine:
    """QuickFIX on `port` of this machine, for the CompIDs of `sessions`.

    Only one engine in a process may serve a pair of our CompID and a partner's.
    """

    def __init__(self, sessions: Sessions, port: int) -> None:
        self.sessions = sessions
        self.port = port
        self.started, self.stopping = Event(), Event()
        self.failure: Exception | None = None
        self.thread = Thread(target=self.run, name="FIX engine", daemon=True)
        self.application = FeedApplication(sessions)
        self.stores = fix.MemoryStoreFactory()
        self.logs = JournalFactory(sessions.request_id, sessions.on_early)
        self.acceptor: fix.ThreadedSocketAcceptor | None = new_acceptor(
            self.application, self.stores, self.logs, sessions.comp_ids, port
        )

    def start(self) -> None:
        """Listen, and return.

        Raises:
            fix.RuntimeError: the port is taken.
        """
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
        # With the object, its sessions leave QuickFIX's registry.
        self.acceptor = None

    def stop(self, text: str) -> None:
        """Log all sessions out with a reason, then end permanently."""
        self.sessions.announce("The acceptor stops", text)
        self.sessions.end_all(text)
        self.stopping.set()
        self.thread.join()
