"""One session as QuickFIX runs it: what it receives, its timers, and its end."""

import contextlib

import quickfix as fix

from marketdata.fix.acceptor.quickfix.settings import session_id


class QuickFixSession:
    """Called in the listener's thread, never from within a callback of QuickFIX's.

    QuickFIX learns of the messages that it did not send by their number only:
    `number` is the MsgSeqNum(34) of the next message.
    """

    def __init__(self, comp_id: str) -> None:
        self.session = fix.Session.lookupSession(session_id(comp_id))

    @property
    def is_logged_on(self) -> bool:
        return bool(self.session.isLoggedOn())

    @property
    def expected(self) -> int:
        """The MsgSeqNum(34) of the client's next message."""
        return int(self.session.getExpectedTargetNum())

    def receive(self, message: bytes, number: int) -> None:
        """Handle a whole message of the client; a garbled one is ignored."""
        self.session.setNextSenderMsgSeqNum(number)
        with contextlib.suppress(fix.InvalidMessage):
            # A character is a byte, so that any bytes reach it.
            self.session.next(message.decode("latin-1"), fix.UtcTimeStamp.now())

    def tick(self, number: int) -> None:
        """Send what is due: a Heartbeat, a TestRequest, a Logout."""
        self.session.setNextSenderMsgSeqNum(number)
        self.session.next(fix.UtcTimeStamp.now())

    def log_out(self, text: str) -> None:
        """Have the next `tick` send a Logout."""
        # A character is a byte here, too.
        self.session.logout(text.encode().decode("latin-1"))

    def disconnect(self) -> None:
        """The connection has ended."""
        self.session.disconnect()

    def allow_logons(self) -> None:
        self.session.logon()
