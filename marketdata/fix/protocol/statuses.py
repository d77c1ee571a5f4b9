"""The market's state as partners see it: f, h, and notices (B).

Standard library only.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from marketdata.fix.protocol.wire import plain, utc_timestamp

HALTED, INDICATED, READY, NOT_AVAILABLE, UNKNOWN, CALL = (
    "2", "5", "17", "18", "20", "21",
)  # fmt: skip
"""SecurityTradingStatus(326)."""
SESSION_UNKNOWN, OPEN, REQUEST_REJECTED = "0", "2", "6"
"""TradSesStatus(340)."""
DAY_SESSION = "DAY"
"""TradingSessionID(336): there is one session, all day."""


class Indication(NamedTuple):
    """How a call would end now: its price in cents, and the units of both sides."""

    price: int
    bid: int
    offered: int


class TradingStatus(NamedTuple):
    """SecurityTradingStatus(326), and the reason; "": none is needed."""

    code: str
    text: str = ""
    indication: Indication | None = None


def security_status(
    identity: str,
    status: TradingStatus,
    at: datetime,
    request_id: str = "",
    figures: str = "",
) -> str:
    """f: without a `request_id` it is unsolicited; `figures` are 332, 333 and 31, after
    330 and 331 of a call.
    """
    asked = f"324={request_id}\x01" if request_id else ""
    unsolicited = "N" if request_id else "Y"
    text = f"58={plain(status.text)}\x01" if status.text else ""
    return (
        f"{asked}{identity}15=EUR\x01325={unsolicited}\x01326={status.code}\x01"
        f"{figures}60={utc_timestamp(at)}\x01{text}"
    )


def session_status(request_id: str, session: str, status: str, text: str) -> str:
    """h in answer to a g."""
    reason = "567=1\x01" if status == REQUEST_REJECTED else ""
    said = f"58={plain(text)}\x01" if text else ""
    return (
        f"335={request_id}\x01336={session}\x01325=N\x01340={status}\x01{reason}{said}"
    )


def news(headline: str, lines: Sequence[str]) -> str:
    """B: a notice."""
    text = "".join(f"58={plain(line)}\x01" for line in lines)
    return f"148={plain(headline)}\x0133={len(lines)}\x01{text}"
