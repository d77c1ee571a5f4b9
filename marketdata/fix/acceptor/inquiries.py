"""Answers about instruments and the market, within one session's rights."""

import secrets
from collections.abc import Callable

from django.conf import settings
from django.utils import timezone

from marketdata.books.feed import Feed, LiveBook
from marketdata.fix.acceptor.requests import Directory, InstrumentKey
from marketdata.fix.acceptor.standing_requests import Reply
from marketdata.fix.acceptor.statuses import (
    HIDDEN,
    NOT_FOUND,
    figures_of,
    session_status_of,
    status_of,
)
from marketdata.fix.protocol.instruments import (
    ACCEPTED,
    FOUND,
    NO_MATCH,
    NONE_FOUND,
    REJECTED,
    UNSUPPORTED,
    identity,
    security_definition,
    security_list,
)
from marketdata.fix.protocol.statuses import (
    DAY_SESSION,
    NOT_AVAILABLE,
    REQUEST_REJECTED,
    UNKNOWN,
    TradingStatus,
    security_status,
    session_status,
)
from marketdata.fix.protocol.wire import plain

ALL_INSTRUMENTS, ONE_INSTRUMENT = "4", "0"
"""SecurityListRequestType(559)."""
IDENTITY = "0"
"""SecurityRequestType(321)."""
UNSUPPORTED_DEFINITION = "SecurityRequestType(321) must be 0"
UNKNOWN_SESSION = f"TradingSessionID(336) must be {DAY_SESSION} or omitted"


class Inquiries:
    """Answers one session; `may_see` says whether the session may see a book."""

    def __init__(self, feed: Feed, may_see: Callable[[LiveBook], bool]) -> None:
        self.feed = feed
        self.may_see = may_see

    def directory(self) -> Directory:
        return Directory(filter(self.may_see, self.feed.books.values()))

    def security_list(self, request_id: str, kind: str, named: InstrumentKey) -> Reply:
        """y; `kind` is SecurityListRequestType(559)."""
        directory = self.directory()
        listed: list[LiveBook] = []
        if kind == ALL_INSTRUMENTS:
            listed = directory.books()
        elif kind == ONE_INSTRUMENT:
            found = directory.find(named)
            listed = [found] if found else []
        result = FOUND if listed else NONE_FOUND
        if kind not in (ALL_INSTRUMENTS, ONE_INSTRUMENT):
            result = UNSUPPORTED
        bodies = security_list(
            request_id, response_id(), result, listed, settings.FIX_MIC
        )
        return Reply(tuple(book.facts for book in listed), "y", bodies)

    def security_definition(
        self, request_id: str, kind: str, named: InstrumentKey
    ) -> Reply:
        """d; `kind` is SecurityRequestType(321)."""
        found = self.directory().find(named)
        response, text = ACCEPTED, ""
        if kind != IDENTITY:
            found, response, text = None, REJECTED, UNSUPPORTED_DEFINITION
        elif found is None:
            response, text = NO_MATCH, NOT_FOUND
        body = security_definition(
            request_id, response_id(), response, found, settings.FIX_MIC, text
        )
        return Reply(found and found.facts, "d", [body])

    def security_status(self, request_id: str, named: InstrumentKey) -> Reply:
        """f; a repeated request for a book that is now hidden gets its removal."""
        found = self.directory().find(named)
        if found is None:
            status, figures = TradingStatus(UNKNOWN, NOT_FOUND), ""
            known = f"55={plain(named.symbol)}\x01"
            if named.security_id and named.source:
                code = plain(named.security_id)
                known += f"48={code}\x0122={named.source}\x01"
        else:
            status = status_of(found, True, self.feed.lag)
            known, figures = identity(found), figures_of(found, status.indication)
        body = security_status(known, status, timezone.now(), request_id, figures)
        return Reply(status.code, "f", [body])

    def session_status(self, request_id: str, session: str) -> Reply:
        """h; `session` is TradingSessionID(336), or ""."""
        status, text = session_status_of(self.feed.lag)
        if session not in ("", DAY_SESSION):
            status, text = REQUEST_REJECTED, UNKNOWN_SESSION
        body = session_status(request_id, DAY_SESSION, status, text)
        return Reply(status, "h", [body])


def unsolicited_status(book: LiveBook, status: TradingStatus) -> str:
    """f of a book that is subscribed."""
    hides = status.code == NOT_AVAILABLE
    figures = "" if hides else figures_of(book, status.indication)
    return security_status(identity(book), status, timezone.now(), figures=figures)


def hidden_status(book_identity: str) -> str:
    """f of a book that is now hidden, under the name sent last."""
    status = TradingStatus(NOT_AVAILABLE, HIDDEN)
    return security_status(book_identity, status, timezone.now())


def response_id() -> str:
    """SecurityResponseID(322)."""
    return secrets.token_hex(6)
