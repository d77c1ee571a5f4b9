"""One session as QuickFIX runs it: what is sent to it, and its end."""

import quickfix as fix

from marketdata.fix.protocol.rules import SOH


class QuickFixSession:
    """Sends on behalf of one thread at a time; any thread may log the session out."""

    def __init__(self, session_id: fix.SessionID) -> None:
        self.session = fix.Session.lookupSession(session_id)
        # One message by type and first tag: any other field it held would also be sent.
        self.messages: dict[tuple[str, str], fix.Message] = {}

    def send(self, message_type: str, body: str) -> fix.Message:
        """Send a message; `body` begins after the header and ends before the trailer.

        The body is one field to QuickFIX, which neither parses nor sorts it then.
        """
        tag, _, rest = body.partition("=")
        message = self.messages.get((message_type, tag))
        if message is None:
            message = self.messages[message_type, tag] = fix.Message()
            message.getHeader().setField(35, message_type)
        message.setField(int(tag), rest.removesuffix(SOH))
        self.session.send(message)
        return message

    def number_of(self, message: fix.Message) -> int:
        """MsgSeqNum(34) of the last message of its type that was sent."""
        return int(message.getHeader().getField(34))

    def log_out(self, text: str) -> None:
        """Send a Logout within a second; QuickFIX then takes no Logon of the CompID."""
        self.session.logout(text)

    def allow_logons(self) -> None:
        self.session.logon()
