"""Checks MarketDataRequests by the rules of engagement: in full, or not at all."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, NoReturn

from marketdata.books.livebook import LiveBook
from marketdata.fix.protocol.messages import ASKS, BIDS, FIGURES, TRADES
from marketdata.fix.protocol.rules import (
    DEEPEST,
    LONGEST_REQUEST_ID,
    MD_REJECT_REASONS,
    MOST_INSTRUMENTS,
    MOST_SUBSCRIPTIONS,
)

ONCE, STREAM, END = "0", "1", "2"
"""SubscriptionRequestType(263)."""
REFRESH, INCREMENTS = "0", "1"
"""MDUpdateType(265)."""
ENTRY_TYPES = (BIDS, ASKS, TRADES, *FIGURES)
"""MDEntryType(269)."""
BY_CODE = "[N/A]"
"""Symbol(55) of an instrument that SecurityID(48) names."""
ISIN, OURS = "4", "8"
"""SecurityIDSource(22)."""


class RequestRefused(Exception):
    """A MarketDataRequest is rejected: MDReqRejReason(281), and the reason."""

    def __init__(self, reason: str, detail: str = "") -> None:
        text = MD_REJECT_REASONS[reason]
        super().__init__(f"{text}: {detail}" if detail else text)
        self.reason = reason


class InstrumentKey(NamedTuple):
    """An instrument as a request names it; "": the field is absent."""

    symbol: str
    security_id: str = ""
    source: str = ""

    def __str__(self) -> str:
        return self.security_id if self.symbol == BY_CODE else self.symbol


class MarketDataRequest(NamedTuple):
    """The fields of V; "": the field is absent."""

    request_id: str
    action: str
    depth: int
    update_type: str
    aggregated: str
    entry_types: tuple[str, ...]
    instruments: tuple[InstrumentKey, ...]


class Directory:
    """The books that a partner may see, by the names in requests."""

    def __init__(self, books: Iterable[LiveBook]) -> None:
        self.by_symbol: dict[str, LiveBook] = {}
        self.by_code: dict[tuple[str, str], LiveBook] = {}
        for book in books:
            self.by_symbol[book.symbol] = book
            self.by_code[OURS, str(book.token_id)] = book
            if book.isin:
                self.by_code[ISIN, book.isin] = book

    def find(self, key: InstrumentKey) -> LiveBook | None:
        if key.symbol == BY_CODE:
            return self.by_code.get((key.source, key.security_id))
        return self.by_symbol.get(key.symbol)

    def books(self) -> list[LiveBook]:
        return [book for _, book in sorted(self.by_symbol.items())]


def is_request_id(text: str) -> bool:
    return 0 < len(text) <= LONGEST_REQUEST_ID and text.isascii() and text.isprintable()


def requested_books(
    request: MarketDataRequest, active: Mapping[str, int], directory: Directory
) -> list[LiveBook]:
    """The books of a subscribing request (263=0 or 1), each once.

    `active` has the number of instruments of each MDReqID of the session.

    Raises:
        RequestRefused: for the first rule that it breaks.
    """

    def refuse(reason: str, detail: str = "") -> NoReturn:
        raise RequestRefused(reason, detail)

    if request.request_id in active:
        refuse("1", request.request_id)
    if not 0 <= request.depth <= DEEPEST:
        refuse("5", f"it is {request.depth}")
    if request.action == STREAM and request.update_type not in (REFRESH, INCREMENTS):
        refuse("6", "it is missing")
    if request.aggregated not in ("", "Y"):
        refuse("7", f"it is {request.aggregated}")
    if not request.entry_types:
        refuse("8", "NoMDEntryTypes(267) is 0")
    if len(request.entry_types) > len(ENTRY_TYPES):
        refuse("8", "NoMDEntryTypes(267) is too high")
    for entry_type in request.entry_types:
        if entry_type not in ENTRY_TYPES:
            refuse("8", f"it is {entry_type}")
    if len(request.instruments) > MOST_INSTRUMENTS:
        refuse("2", "NoRelatedSym(146) is too high")
    if not request.instruments:
        refuse("0", "NoRelatedSym(146) is 0")
    found: dict[str, LiveBook] = {}
    for key in request.instruments:
        book = directory.find(key)
        if book is None:
            refuse("0", str(key)[:50])
        found[str(book.token_id)] = book
    subscriptions = sum(active.values()) + len(found)
    if subscriptions > MOST_SUBSCRIPTIONS:
        refuse("2", f"this would be subscription number {subscriptions}")
    return list(found.values())
