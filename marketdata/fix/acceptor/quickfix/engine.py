"""QuickFIX's sessions, driven by the listener: it has no socket and no thread."""

import quickfix as fix

from marketdata.fix.acceptor.quickfix.application import FeedApplication
from marketdata.fix.acceptor.quickfix.engine_session import QuickFixSession
from marketdata.fix.acceptor.quickfix.settings import new_acceptor
from marketdata.fix.acceptor.sessions import Sessions


class Engine:
    """QuickFIX's sessions for the CompIDs of `sessions`.

    Only one engine in a process may serve a pair of our CompID and a partner's.
    """

    def __init__(self, sessions: Sessions) -> None:
        self.application = FeedApplication(sessions)
        self.stores = fix.MemoryStoreFactory()
        # Never started: it makes the sessions, and takes them with it at its end.
        self.acceptor: fix.SocketAcceptor | None = new_acceptor(
            self.application, self.stores, sessions.comp_ids
        )

    def session(self, comp_id: str) -> QuickFixSession:
        return QuickFixSession(comp_id)

    def close(self) -> None:
        """Take the sessions out of QuickFIX's registry."""
        self.acceptor = None
