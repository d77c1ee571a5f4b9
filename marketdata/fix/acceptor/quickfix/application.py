"""What QuickFIX calls: with messages that came in, and for decisions."""

import functools
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import quickfix as fix

from marketdata.fix.acceptor.copies import ReportRequest
from marketdata.fix.acceptor.inquiries import Inquiries
from marketdata.fix.acceptor.requests import (
    ENTRY_TYPES,
    InstrumentKey,
    MarketDataRequest,
    is_request_id,
)
from marketdata.fix.acceptor.sessions import Sessions
from marketdata.fix.acceptor.standing_requests import Reply
from marketdata.fix.protocol.rules import (
    INTERNAL_ERROR,
    LOGON_WITHIN,
    LONGEST_REFERENCE,
    MOST_INSTRUMENTS,
)
from marketdata.fix.protocol.wire import mask
from partnerapi.core.sparing_log import SparingLog

logger = logging.getLogger(__name__)

MAY_PASS = (
    fix.RejectLogon,
    fix.UnsupportedMessageType,
    fix.FieldNotFound,
    fix.IncorrectTagValue,
    fix.IncorrectDataFormat,
    fix.DoNotSend,
)
"""Exceptions that QuickFIX answers to the partner."""
REQUESTS = {"V": 262, "x": 320, "c": 320, "e": 324, "g": 335}
"""The requests that are answered, and the tags of their ids."""
REQUESTS_OF_COPIES = {"AD": 568}
"""Those of a drop copy."""
REFERENCES = {
    **dict.fromkeys(["D", "F", "G", "H", "q", "AB", "AC"], (11,)),
    **dict.fromkeys(["s", "t", "u"], (548,)),
    **dict.fromkeys(["J", "P"], (70,)),
    **dict.fromkeys(["S", "Z", "i"], (117,)),
    **dict.fromkeys(["a", "AI"], (649, 117)),
    **dict.fromkeys(["v", "z", "AA"], (320,)),
    **dict.fromkeys(["AL", "AN"], (710,)),
    "AD": (568,),
    "AE": (571,),
    "AF": (584,),
    "AH": (644,),
    "AJ": (693,),
    "AX": (894,),
    "BB": (909,),
    "E": (66,),
    "R": (131,),
    "k": (390,),
    "r": (37,),
}
"""Orders, quotes and requests that partners send to other sessions, and the tags of
their ids: refused with j. Any other type is refused with a Reject(3)."""
TYPES = REFERENCES.keys() | REQUESTS.keys()


def guard_callback(callback: Callable[..., None]) -> Callable[..., None]:
    """Lets MAY_PASS pass; logs any other exception, and ends the session.

    An exception that QuickFIX does not know ends the interpreter: for this reason, only
    here, everything is caught.
    """

    @functools.wraps(callback)
    def guard(application: "FeedApplication", *arguments: Any) -> None:
        comp_id = comp_id_of(arguments[-1])
        try:
            callback(application, *arguments)
        except MAY_PASS:
            raise
        except BaseException:
            logger.exception("%s failed for %s", callback.__name__, comp_id)
            application.sessions.end(comp_id, INTERNAL_ERROR)

    return guard


def comp_id_of(session_id: fix.SessionID) -> str:
    """The partner's CompID; the SessionID itself is freed when the callback ends."""
    return session_id.getTargetCompID().getValue()


def text(message: fix.FieldMap, tag: int) -> str:
    """A field's value, "" where it is not there."""
    if not message.isSetField(tag):
        return ""
    # A character is a byte of the client's.
    found: bytes = message.getField(tag).encode("latin-1", "replace")
    return found.decode(errors="replace")


class FeedApplication(fix.Application):
    """Of one acceptor. The listener's thread runs it: nothing here may wait."""

    def __init__(self, sessions: Sessions) -> None:
        super().__init__()
        self.sessions = sessions
        self.log = SparingLog(logger)

    @guard_callback
    def onCreate(self, session_id: fix.SessionID) -> None:  # noqa: N802
        """QuickFIX has made a session of the pool; it is not logged on."""

    @guard_callback
    def onLogon(self, session_id: fix.SessionID) -> None:  # noqa: N802
        self.sessions.on_logon(comp_id_of(session_id))

    @guard_callback
    def onLogout(self, session_id: fix.SessionID) -> None:  # noqa: N802
        self.sessions.on_disconnect(comp_id_of(session_id))

    @guard_callback
    def toAdmin(self, message: fix.Message, session_id: fix.SessionID) -> None:  # noqa: N802
        """QuickFIX sends a message: the session's connection does."""
        session = self.sessions.live[comp_id_of(session_id)]
        session.pass_on(message.toString())
        message_type = message.getHeader().getField(35)
        if message_type == "4":
            first = int(message.getHeader().getField(34))
            session.on_gap(first, int(message.getField(36)))
        elif message_type == "5":
            session.on_engine_logout(text(message, 58))
        elif message_type == "3":
            session.on_reject(text(message, 45), mask(text(message, 58)))

    @guard_callback
    def toApp(self, message: fix.Message, session_id: fix.SessionID) -> None:  # noqa: N802
        """QuickFIX sends a BusinessMessageReject (j)."""
        self.sessions.live[comp_id_of(session_id)].pass_on(message.toString())

    @guard_callback
    def fromAdmin(self, message: fix.Message, session_id: fix.SessionID) -> None:  # noqa: N802
        comp_id = comp_id_of(session_id)
        message_type = message.getHeader().getField(35)
        session = self.sessions.live.get(comp_id)
        if message_type == "A":
            if session and session.is_logged_on:
                raise fix.RejectLogon(LOGON_WITHIN)
            return
        if session is None or session.logout_reason:
            return
        session.on_message()
        if message_type == "0" and session.on_heartbeat(text(message, 112)):
            return
        if message_type == "2":
            check_range(message, session.outbound.number)
        elif message_type == "5":
            session.on_logout(text(message, 58))
        elif message_type == "3":
            self.log.warn(
                "%s rejects our message %s: tag %s, reason %s",
                comp_id,
                *(mask(text(message, tag)) for tag in (45, 371, 373)),
            )
        session.charge_rate()

    @guard_callback
    def fromApp(self, message: fix.Message, session_id: fix.SessionID) -> None:  # noqa: N802
        session = self.sessions.live.get(comp_id_of(session_id))
        if session is None or session.logout_reason:
            return
        session.on_message()
        session.charge_rate()
        header = message.getHeader()
        message_type, number = header.getField(35), header.getField(34)
        requests = REQUESTS_OF_COPIES if session.copy else REQUESTS
        request_tag = requests.get(message_type)
        if request_tag is None and message_type not in TYPES:
            raise fix.UnsupportedMessageType
        reference = reference_of(message, message_type)
        action = text(message, 263)
        if text(header, 97) == "Y" and session.is_known(
            message_type, reference, action
        ):
            return
        if request_tag is None:
            session.on_unsupported_message(number, message_type, reference)
        elif not is_request_id(message.getField(request_tag)):
            session.on_bad_request_id(number, message_type, request_tag, reference)
        elif message_type == "V":
            session.on_market_data_request(market_data_request(message))
        elif message_type == "AD":
            session.on_report_request(report_request(message))
        else:
            key = message_type, reference
            ask = inquiry(session.inquiries, message, message_type)
            session.on_inquiry(number, key, action, ask)


def check_range(resend_request: fix.Message, following: int) -> None:
    """Check that a ResendRequest asks for messages before the number `following`.

    QuickFIX would answer any other with a gap fill that leads backwards.

    Raises:
        fix.IncorrectTagValue: QuickFIX rejects it.
    """
    first = int(resend_request.getField(7))
    last = int(resend_request.getField(16))
    if not 0 < first < following:
        raise fix.IncorrectTagValue(7)
    if last and last < first:
        raise fix.IncorrectTagValue(16)


def reference_of(message: fix.Message, message_type: str) -> str:
    """The id that the sender gave a message, or ""."""
    tags = REFERENCES.get(message_type) or (REQUESTS[message_type],)
    found = next(filter(None, (text(message, tag) for tag in tags)), "")
    return found[:LONGEST_REFERENCE]


def market_data_request(message: fix.Message) -> MarketDataRequest:
    return MarketDataRequest(
        request_id=message.getField(262),
        action=message.getField(263),
        depth=int(message.getField(264)),
        update_type=text(message, 265),
        aggregated=text(message, 266),
        entry_types=tuple(
            entry.getField(269)
            for entry in entries(message, fix.Group(267, 269), len(ENTRY_TYPES))
        ),
        instruments=tuple(
            instrument_key(entry)
            for entry in entries(message, fix.Group(146, 55), MOST_INSTRUMENTS)
        ),
    )


def report_request(message: fix.Message) -> ReportRequest:
    return ReportRequest(*(text(message, tag) for tag in (568, 569, 263, 17)))


def inquiry(
    inquiries: Inquiries, message: fix.Message, message_type: str
) -> Callable[[], Reply]:
    """What a request of another type than V asks; nothing in it is QuickFIX's."""
    request_id = message.getField(REQUESTS[message_type])
    named = instrument_key(message)
    match message_type:
        case "x":
            kind = message.getField(559)
            return partial(inquiries.security_list, request_id, kind, named)
        case "c":
            kind = message.getField(321)
            return partial(inquiries.security_definition, request_id, kind, named)
        case "e":
            return partial(inquiries.security_status, request_id, named)
        case _:
            session = text(message, 336)
            return partial(inquiries.session_status, request_id, session)


def instrument_key(entry: fix.FieldMap) -> InstrumentKey:
    return InstrumentKey(text(entry, 55), text(entry, 48), text(entry, 22))


def entries(message: fix.Message, group: fix.Group, most: int) -> list[fix.Group]:
    """Copies of a repeating group's entries; `group` is an empty one.

    A request with more than `most` is refused: one more shows that, and thousands would
    take the time of all sessions.
    """
    found = []
    for number in range(1, min(message.groupCount(group.field()), most + 1) + 1):
        entry = fix.Group(group.field(), group.delim())
        message.getGroup(number, entry)
        found.append(entry)
    return found
