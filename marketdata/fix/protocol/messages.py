"""The bodies of our messages, as text from the header to the trailer.

Layouts and their tags are those of `layouts`. A body without its first field, which
names the request, is the same for every session. Prices are euro cents, quantities
units. Standard library only.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from marketdata.fix.protocol.instruments import CURRENCY, price
from marketdata.fix.protocol.rules import (
    BOOK_SEQUENCE,
    READ_ONLY,
)
from marketdata.fix.protocol.wire import plain

BIDS, ASKS, TRADES = "0", "1", "2"
OPENING, CLOSING, HIGH, LOW, VWAP, VOLUME = "4", "5", "7", "8", "9", "B"
"""MDEntryType(269)."""
FIGURES = (OPENING, CLOSING, HIGH, LOW, VWAP, VOLUME)
"""Those that a trading day has, in the order of their sending."""

OTHER, UNSUPPORTED_TYPE = "0", "3"
"""BusinessRejectReason(380)."""


Level = tuple[int, int]
"""Price, quantity."""
Update = tuple[int, int, int, int]
"""MDUpdateAction(279), MDEntryType(269), price, quantity; 0 where it is a deletion."""
Trade = tuple[int, int, int, datetime]
"""Number, price, quantity, instant."""


def stamp(at: datetime | None) -> str:
    """MDEntryDate(272) and MDEntryTime(273) of an instant in UTC."""
    if at is None:
        return ""
    return f"272={at:%Y%m%d}\x01273={at:%H:%M:%S}.{at.microsecond // 1000:03d}\x01"


def full_refresh(
    identity: str,
    ladder: Iterable[Iterable[Level]],
    at: datetime | None,
    entry_types: Collection[str],
    more: Iterable[str] = (),
) -> str:
    """Of W, what follows MDReqID(262); a ladder is bids, then asks, best first.

    `at` is the time of the book's state; `more` are entries that follow the levels.
    """
    time = stamp(at)
    entries = [
        f"269={side}\x01270={price(cents)}\x01{CURRENCY}271={quantity}\x01{time}290={rank}\x01"
        for side, levels in zip((BIDS, ASKS), ladder, strict=True)
        if side in entry_types
        for rank, (cents, quantity) in enumerate(levels, 1)
    ]
    entries += more
    return f"{identity}268={len(entries)}\x01{''.join(entries)}"


def level_entries(
    symbol: str, updates: Iterable[Update], at: datetime | None
) -> list[str]:
    """Entries of an X: level updates; `at` is the time of the book's new state."""
    time = stamp(at)
    return [
        f"279={action}\x01269={side}\x0155={symbol}\x01"
        f"270={cents // 100}.{cents % 100:02d}\x0115=EUR\x01271={quantity}\x01{time}"
        if quantity
        else f"279={action}\x01269={side}\x0155={symbol}\x01"
        f"270={cents // 100}.{cents % 100:02d}\x01{time}"
        for action, side, cents, quantity in updates
    ]


def last_trade_entry(trade: Trade) -> str:
    """Entry of a W: the last trade."""
    _, cents, quantity, at = trade
    return f"269=2\x01270={price(cents)}\x01{CURRENCY}271={quantity}\x01{stamp(at)}"


def figure_entry(entry_type: str, figure: int, at: datetime, of_x: str = "") -> str:
    """A figure of a trading day: cents, or the units of VOLUME.

    `of_x` is Symbol(55), which an entry of X has.
    """
    said = f"271={figure}\x01"
    if entry_type != VOLUME:
        said = f"270={price(figure)}\x01{CURRENCY}"
    return f"269={entry_type}\x01{of_x}{said}{stamp(at)}"


def figure_update(
    symbol: str, action: int, entry_type: str, figure: int, at: datetime
) -> str:
    """Entry of an X: a figure of a trading day."""
    entry = figure_entry(entry_type, figure, at, f"55={symbol}\x01")
    return f"279={action}\x01{entry}"


def trade_entries(symbol: str, trades: Iterable[Trade]) -> list[str]:
    """Entries of an X: trades, with instants in UTC."""
    return [
        f"279=0\x01269=2\x01278={number}\x0155={symbol}\x01"
        f"270={price(cents)}\x01{CURRENCY}271={quantity}\x01{stamp(at)}"
        for number, cents, quantity, at in trades
    ]


def bust_entries(symbol: str, busts: Iterable[Sequence[int]]) -> list[str]:
    """Entries of an X: busted trades, with their numbers and prices."""
    return [
        f"279=2\x01269=2\x01278={number}\x0155={symbol}\x01270={price(cents)}\x01"
        for number, cents in busts
    ]


def incremental_refresh(entries: Sequence[str]) -> str:
    """The part of an X after MDReqID(262)."""
    return f"268={len(entries)}\x01{''.join(entries)}"


def named(request_id: str) -> str:
    """What a W or X begins with."""
    return f"262={request_id}\x01"


def numbering(sequence: int) -> str:
    """BookSequence(5083), behind the last entry of a W or X.

    No dictionary knows our tag inside a group.
    """
    return f"{BOOK_SEQUENCE}={sequence}\x01"


def request_reject(request_id: str, reason: str, text: str) -> str:
    """Y: MDReqRejReason(281) and the reason."""
    return f"262={request_id}\x01281={reason}\x0158={plain(text)}\x01"


def business_reject(
    number: str,
    message_type: str,
    reference: str,
    reason: str = UNSUPPORTED_TYPE,
    text: str = READ_ONLY,
) -> str:
    """j: BusinessRejectReason(380) and the reason; `reference` may be ""."""
    named = f"379={plain(reference)}\x01" if reference else ""
    return f"45={number}\x01372={message_type}\x01{named}380={reason}\x0158={text}\x01"
