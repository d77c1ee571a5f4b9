"""The scalars whose wire form the specification or api reference fixes."""

import re
from datetime import UTC, date, datetime
from typing import Any

import graphene
from graphql import GraphQLInt, IntValueNode, StringValueNode, ValueNode
from graphql.language import print_ast

MAX_EXACT_INTEGER = 2**53 - 1
MAX_UINT64 = 2**64 - 1

RFC_3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-5][0-9])?)?"
)


def time_to_wire(value: datetime | str) -> str:
    """RFC 3339 in UTC with Z, up to six fraction digits, trailing zeros cut.

    Text is PostgreSQL's own form in a UTC session: 2026-01-31 12:00:00.5+00.
    """
    if isinstance(value, str):
        return f"{value[:10]}T{value[11:-3]}Z"
    text = value.astimezone(UTC).replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"


def time_from_wire(text: Any) -> datetime:
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


class Time(graphene.Scalar):
    """An instant as RFC 3339 text in UTC, such as 2026-01-31T12:00:00.25Z.

    Answers carry up to six fraction digits. Arguments may have any offset, or be
    a date such as 2026-01-31, which means 00:00:00Z of that day; a time without
    offset is an error. A time that was answered and is sent back means the same
    instant.
    """

    url = "https://www.rfc-editor.org/rfc/rfc3339"

    serialize = staticmethod(time_to_wire)
    parse_value = staticmethod(time_from_wire)

    @staticmethod
    def parse_literal(node: ValueNode, variables: Any = None) -> datetime:
        if not isinstance(node, StringValueNode):
            raise ValueError(f"Time cannot represent {print_ast(node)}.")
        return time_from_wire(node.value)


def uint64(value: Any) -> int:
    """Check that a value is an integer from 0 to 2⁶⁴−1; never rounds, never wraps.

    Raises:
        ValueError: not such an integer.
    """
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,20}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"Uint64 cannot represent {value!r}: expected an integer.")
    if not 0 <= value <= MAX_UINT64:
        raise ValueError(
            f"Uint64 cannot represent {value}: expected 0 to {MAX_UINT64}."
        )
    return value


class Uint64(graphene.Scalar):
    """An integer from 0 to 18446744073709551615 (2⁶⁴−1), exact.

    Answers carry a JSON integer: read it with a parser that keeps 64-bit
    integers. Arguments may be an integer literal or a string of decimal digits.
    """

    serialize = staticmethod(uint64)
    parse_value = staticmethod(uint64)

    @staticmethod
    def parse_literal(node: ValueNode, variables: Any = None) -> int:
        if not isinstance(node, IntValueNode | StringValueNode):
            raise ValueError(f"Uint64 cannot represent {print_ast(node)}.")
        return uint64(node.value)


def serialize_int(value: Any) -> int:
    """Serialise Int exactly up to ±(2⁵³−1): amounts in cents outgrow 32 bits.

    Raises:
        ValueError: not an integer, or one that JSON readers would round.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"Int cannot represent non-integer value: {value!r}")
    if not -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
        raise ValueError(f"Int cannot represent {value}: beyond ±(2⁵³−1).")
    return value


# graphql-core has one Int for the whole process, and schemas can not bring another.
# Arguments and variables keep its 32-bit rule.
GraphQLInt.serialize = serialize_int  # type: ignore[method-assign]
