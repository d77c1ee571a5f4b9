"""The state of instruments and of the market, as one session may know it.

A book fed by another venue is ready as long as its feed is fresh and its writer
reports. A book of an internal market follows the market's phase.
"""

from marketdata.books.livebook import LiveBook
from marketdata.fix.protocol.instruments import price
from marketdata.fix.protocol.statuses import CALL as CALLED
from marketdata.fix.protocol.statuses import (
    HALTED,
    INDICATED,
    NOT_AVAILABLE,
    OPEN,
    READY,
    SESSION_UNKNOWN,
    UNKNOWN,
    Indication,
    TradingStatus,
)

STALE_SECONDS = 3.0
"""The feed looks at all books every second."""
SILENT = "The book may be out of date: its source sends nothing."
STALE = "The book may be out of date: its feed is interrupted."
HIDDEN = "The token has left the market, or you may no longer see it."
PRIMARY = "The issuer sells the token on the primary market; it has no book yet."
CALL = "Orders are collected for an auction; the book is not shown."
AT_LAST = "Orders trade at the price of the last auction only."
CLOSED = "The market is closed: its session has ended or has not begun."
NOT_FOUND = "Unknown symbol, or a token that your integration account may not see."


def is_fresh(lag: float) -> bool:
    """Whether books that were compared with their logs `lag` s ago are current."""
    return lag <= STALE_SECONDS


def status_of(book: LiveBook, may_see: bool, lag: float) -> TradingStatus:
    if not may_see or not book.live:
        return TradingStatus(NOT_AVAILABLE, HIDDEN)
    if not is_fresh(lag):
        return TradingStatus(UNKNOWN, STALE)
    if book.is_primary:
        return TradingStatus(NOT_AVAILABLE, PRIMARY)
    if book.is_silent:
        return TradingStatus(UNKNOWN, SILENT)
    if book.phase == "HALTED":
        return TradingStatus(HALTED, f"The market is halted: {book.halt_reason}")
    if book.phase == "CALL":
        if book.indication is None:
            return TradingStatus(CALLED, CALL)
        return TradingStatus(INDICATED, CALL, Indication(*book.indication))
    if book.phase == "AT_LAST":
        return TradingStatus(READY, AT_LAST)
    if book.phase == "CLOSED":
        return TradingStatus(NOT_AVAILABLE, CLOSED)
    return TradingStatus(READY)


def session_status_of(lag: float) -> tuple[str, str]:
    """TradSesStatus(340) and the reason."""
    return (OPEN, "") if is_fresh(lag) else (SESSION_UNKNOWN, STALE)


def figures_of(book: LiveBook, indication: Indication | None = None) -> str:
    """Of f: HighPx(332) and LowPx(333) of the trading day, LastPx(31).

    Of a call, HighPx and LowPx are the price at which it would end, BuyVolume(330) and
    SellVolume(331) the units of both sides at this price.
    """
    day = book.tape.day
    last = f"31={price(day.close)}\x01" if day else ""
    if indication is not None:
        at = price(indication.price)
        volumes = f"330={indication.bid}\x01331={indication.offered}\x01"
        return f"{volumes}332={at}\x01333={at}\x01{last}"
    return f"332={price(day.high)}\x01333={price(day.low)}\x01{last}" if day else ""
