"""The scalars Time, Uint64 and Int64, and an Int that carries amounts in cents."""

import re
from datetime import datetime
from typing import Any

import graphene
from graphql import GraphQLInt, IntValueNode, StringValueNode, ValueNode
from graphql.language import print_ast

from partnerapi.core.numbers import (
    MAX_EXACT_INTEGER,
    MAX_INT64,
    MAX_UINT64,
    MIN_INT64,
)
from partnerapi.core.times import from_rfc3339, to_rfc3339


class Time(graphene.Scalar):
    """An instant as RFC 3339 text in UTC, such as 2026-01-31T12:00:00.25Z.

    Responses have up to six fraction digits. Arguments may have any offset, or be a
    date such as 2026-01-31, which means 00:00:00Z of that day. A time without an offset
    is an error, and so is a leap second (23:59:60): send the following second. A time
    from a response can be sent back unchanged.
    """

    url = "https://www.rfc-editor.org/rfc/rfc3339"

    serialize = staticmethod(to_rfc3339)
    parse_value = staticmethod(from_rfc3339)

    @staticmethod
    def parse_literal(node: ValueNode, variables: Any = None) -> datetime:
        if not isinstance(node, StringValueNode):
            raise ValueError(f"Time cannot represent {print_ast(node)}.")
        return from_rfc3339(node.value)


def uint64(value: Any) -> int:
    """Check that a value is an integer from 0 to 2⁶⁴−1; never rounds, never wraps.

    Raises:
        ValueError: not such an integer.
    """
    return exact_integer("Uint64", value, 0, MAX_UINT64)


def int64(value: Any) -> int:
    """Check that a value is an integer from −2⁶³ to 2⁶³−1, in the same way.

    Raises:
        ValueError: not such an integer.
    """
    return exact_integer("Int64", value, MIN_INT64, MAX_INT64)


def exact_integer(scalar: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{scalar} cannot represent {value!r}: expected an integer.")
    if not least <= value <= most:
        raise ValueError(
            f"{scalar} cannot represent {value}: expected {least} to {most}."
        )
    return value


class Uint64(graphene.Scalar):
    """An integer from 0 to 18446744073709551615 (2⁶⁴−1), exact.

    Responses carry a JSON integer: use a parser that preserves 64-bit integers.
    Arguments can be an integer literal or a string of decimal digits.
    """

    serialize = staticmethod(uint64)
    parse_value = staticmethod(uint64)

    @staticmethod
    def parse_literal(node: ValueNode, variables: Any = None) -> int:
        return uint64(digits_of("Uint64", node))


class Int64(graphene.Scalar):
    """An integer from -9223372036854775808 (−2⁶³) to 9223372036854775807, exact.

    Responses carry a JSON integer: use a parser that preserves 64-bit integers.
    """

    serialize = staticmethod(int64)
    parse_value = staticmethod(int64)

    @staticmethod
    def parse_literal(node: ValueNode, variables: Any = None) -> int:
        return int64(digits_of("Int64", node))


def digits_of(scalar: str, node: ValueNode) -> str:
    if not isinstance(node, IntValueNode | StringValueNode):
        raise ValueError(f"{scalar} cannot represent {print_ast(node)}.")
    return node.value


def serialize_int(value: Any) -> int:
    """Serialise an Int of up to ±(2⁵³−1): amounts in cents need more than 32 bits.

    Raises:
        ValueError: the value is no integer, or JSON readers would round it.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"Int cannot represent non-integer value: {value!r}")
    if not -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
        raise ValueError(f"Int cannot represent {value}: beyond ±(2⁵³−1).")
    return value


def widen_int() -> None:
    """Widen every Int of this process to ±(2⁵³−1) in answers.

    graphql-core has one Int for all schemas, and a schema cannot bring another.
    Arguments and variables keep its 32-bit rule.
    """
    GraphQLInt.serialize = serialize_int  # type: ignore[method-assign]
