"""Instants and dates as text: RFC 3339."""

import re
from datetime import UTC, date, datetime
from typing import Any

RFC_3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-5][0-9])?)?"
)

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def to_rfc3339(value: datetime | str) -> str:
    """RFC 3339 in UTC with Z, up to six fraction digits, trailing zeros cut.

    Text is PostgreSQL's own form in a UTC session: 2026-01-31 12:00:00.5+00.
    """
    if isinstance(value, str):
        return f"{value[:10]}T{value[11:-3]}Z"
    text = value.astimezone(UTC).replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"


def from_rfc3339(text: Any) -> datetime:
    """Read RFC 3339 with any offset, or a date, which is its 00:00:00Z.

    Raises:
        ValueError: anything else, a time without offset included.
    """
    match = RFC_3339.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(
            f"Time cannot represent {text!r}: expected RFC 3339, such as "
            "2026-01-31T12:00:00Z, or a date, such as 2026-01-31."
        )
    day, clock, fraction, offset = match.groups()
    if clock and not offset:
        raise ValueError(
            f"Time cannot represent {text!r}: it has no offset; append Z for UTC."
        )
    try:
        if not clock:
            midnight = date.fromisoformat(day)
            return datetime(midnight.year, midnight.month, midnight.day, tzinfo=UTC)
        # Further digits than microseconds are truncated, as fromisoformat does.
        read = datetime.fromisoformat(f"{day}T{clock}{fraction or ''}{offset.upper()}")
        return read.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"Time cannot represent {text!r}: {error}.") from error


def past_date(text: Any, today: date) -> date:
    """Read a date such as 2026-01-31, which is `today` at the latest.

    Raises:
        ValueError: the rule that is broken.
    """
    if not isinstance(text, str) or not DATE.fullmatch(text):
        raise ValueError(f"{text!r:.40} is not a date such as 2026-01-31")
    try:
        read = date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text} is not in the calendar") from None
    if read > today:
        raise ValueError(f"{text} is in the future")
    return read
