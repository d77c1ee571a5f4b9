"""What QuickFIX calls: its messages in, the engine's decisions out."""

import functools
import logging
from collections.abc import Callable
from typing import Any

import quickfix as fix

from marketdata.fix.acceptor.quickfix.engine_session import QuickFixSession
from marketdata.fix.acceptor.requests import MarketDataRequest, Named, is_request_id
from marketdata.fix.acceptor.session import LiveSession
from marketdata.fix.acceptor.sessions import Sessions
from marketdata.fix.protocol.rules import (
    INTERNAL_ERROR,
    LOGON_REFUSED,
    LONGEST_REFERENCE,
)
from marketdata.fix.protocol.wire import masked

logger = logging.getLogger(__name__)

MAY_PASS = (
    fix.RejectLogon,
    fix.UnsupportedMessageType,
    fix.FieldNotFound,
    fix.IncorrectTagValue,
    fix.IncorrectDataFormat,
    fix.DoNotSend,
)
"""What QuickFIX makes an answer of."""
OF_PARTNERS = frozenset(
    ["D", "E", "F", "G", "H", "J", "P", "R", "S", "Z", "a", "c", "e", "g", "i", "k"]
    + ["q", "r", "s", "t", "u", "v", "z", "AA", "AB", "AC", "AD", "AE", "AF", "AH"]
    + ["AI", "AJ", "AL", "AN", "AX", "BB"]
)
"""Orders, quotes and requests, which partners send elsewhere; the rest nobody may."""
REFERENCES = (11, 262, 131, 117, 390, 66, 37, 335, 320, 568, 710)
"""Where messages carry an id of their sender's: ClOrdID, MDReqID, QuoteReqID …"""


def guarded(callback: Callable[..., None]) -> Callable[..., None]:
    """Lets pass what QuickFIX understands; logs anything else, and ends the session.

    An exception that QuickFIX does not know leaves the process alive and its threads
    stuck: that is why this, alone, catches all.
    """

    @functools.wraps(callback)
    def guard(application: "FeedApplication", *arguments: Any) -> None:
        try:
            callback(application, *arguments)
        except MAY_PASS:
            raise
        except BaseException:
            comp_id = comp_id_of(arguments[-1])
            logger.exception("%s failed for %s", callback.__name__, comp_id)
            if application.sessions.live.get(comp_id):
                application.sessions.end(comp_id, INTERNAL_ERROR)
            elif callback.__name__ == "fromAdmin":
                raise fix.RejectLogon(INTERNAL_ERROR) from None

    return guard


def comp_id_of(session_id: fix.SessionID) -> str:
    """The partner's; a SessionID itself is gone when its callback ends."""
    return session_id.getTargetCompID().getValue()


def text(message: fix.FieldMap, tag: int) -> str:
    """A field's value, "" where it is not there."""
    return message.getField(tag) if message.isSetField(tag) else ""


class FeedApplication(fix.Application):
    """Of one acceptor. Nothing here waits for the database: no thread is ours."""

    def __init__(self, sessions: Sessions) -> None:
        super().__init__()
        self.sessions = sessions

    @guarded
    def onCreate(self, session_id: fix.SessionID) -> None:  # noqa: N802
        """A session of the pool is there; nobody is logged on."""

    @guarded
    def onLogon(self, session_id: fix.SessionID) -> None:  # noqa: N802
        self.sessions.begin(comp_id_of(session_id), QuickFixSession(session_id))

    @guarded
    def onLogout(self, session_id: fix.SessionID) -> None:  # noqa: N802
        self.sessions.on_disconnect(comp_id_of(session_id))

    @guarded
    def toAdmin(self, message: fix.Message, session_id: fix.SessionID) -> None:  # noqa: N802
        message_type = message.getHeader().getField(35)
        if message_type not in ("3", "4"):
            return
        session = self.sessions.live.get(comp_id_of(session_id))
        if session is None:
            return
        if message_type == "4":
            session.misses_messages()
        else:
            # A message that breaks FIX 4.4 reaches no callback but this.
            session.counts()

    # Not guarded: called with each message that is sent, and nothing in it can fail.
    def toApp(self, message: fix.Message, session_id: fix.SessionID) -> None:  # noqa: N802
        """Sent as it is."""

    @guarded
    def fromAdmin(self, message: fix.Message, session_id: fix.SessionID) -> None:  # noqa: N802
        comp_id = comp_id_of(session_id)
        message_type = message.getHeader().getField(35)
        session = self.sessions.live.get(comp_id)
        if message_type == "A":
            if session and session.may_reset(text(message, 141), text(message, 108)):
                session.counts()
                return
            if session or not self.sessions.admit(comp_id, text(message, 554)):
                raise fix.RejectLogon(self.sessions.logout_reason or LOGON_REFUSED)
            return
        if session is None or session.ending:
            return
        session.hears()
        if message_type == "0" and session.answers_test_request(text(message, 112)):
            return
        if message_type == "5":
            session.leaves(text(message, 58))
        elif message_type == "3":
            logger.warning(
                "%s rejects our message %s: tag %s, reason %s",
                comp_id,
                *(masked(text(message, tag)) for tag in (45, 371, 373)),
            )
        session.counts()

    @guarded
    def fromApp(self, message: fix.Message, session_id: fix.SessionID) -> None:  # noqa: N802
        session = self.sessions.live.get(comp_id_of(session_id))
        if session is None or session.ending:
            return
        session.hears()
        session.counts()
        header = message.getHeader()
        message_type = header.getField(35)
        reference = reference_of(message)
        if session.has_seen(message_type, reference, text(message, 263)) and (
            text(header, 97) == "Y"
        ):
            # PossResend: it may come for the first time, but it does not.
            return
        if message_type == "V":
            session.asks_for_market_data(market_data_request(message))
        elif message_type == "x":
            ask_for_instruments(session, message)
        elif message_type not in OF_PARTNERS:
            raise fix.UnsupportedMessageType
        else:
            number = header.getField(34)
            session.asks_for_something_else(number, message_type, reference)


def reference_of(message: fix.Message) -> str:
    """The id that its sender gave a message, or ""."""
    found = next(filter(None, (text(message, tag) for tag in REFERENCES)), "")
    return found[:LONGEST_REFERENCE]


def market_data_request(message: fix.Message) -> MarketDataRequest:
    return MarketDataRequest(
        request_id=request_id(message, 262),
        action=message.getField(263),
        depth=int(message.getField(264)),
        update_type=text(message, 265),
        aggregated=text(message, 266),
        entry_types=tuple(
            entry.getField(269) for entry in entries(message, fix.Group(267, 269))
        ),
        instruments=tuple(
            named(entry) for entry in entries(message, fix.Group(146, 55))
        ),
    )


def ask_for_instruments(session: LiveSession, message: fix.Message) -> None:
    session.asks_for_instruments(
        request_id(message, 320), message.getField(559), named(message)
    )


def request_id(message: fix.Message, tag: int) -> str:
    """Repeated in every answer: it must be one that any engine reads."""
    value = message.getField(tag)
    if not is_request_id(value):
        raise fix.IncorrectTagValue(tag)
    return value


def named(entry: fix.FieldMap) -> Named:
    return Named(text(entry, 55), text(entry, 48), text(entry, 22))


def entries(message: fix.Message, group: fix.Group) -> list[fix.Group]:
    """Copies of a repeating group's entries; `group` is an empty one."""
    found = []
    for number in range(1, message.groupCount(group.field()) + 1):
        entry = fix.Group(group.field(), group.delim())
        message.getGroup(number, entry)
        found.append(entry)
    return found
