"""Serialises whole columns of scalars and enums.

A column of JSON's own values passes after a check of their types and range. The values
of any other column go one by one through the type's own `serialize`.
"""

from collections.abc import Callable
from typing import Any

from graphql import GraphQLEnumType, GraphQLLeafType

from partnerapi.core.numbers import (
    MAX_EXACT_INTEGER,
    MAX_INT64,
    MAX_UINT64,
    MIN_INT64,
)

Serialize = Callable[[list[Any]], list[Any] | None]
"""The JSON values of a column; None: its values must go one by one."""

NONE = type(None)


def column_serializer(type_: GraphQLLeafType, nullable: bool) -> Serialize:
    """The serialiser of a column of this type; it takes None only if `nullable`."""
    kind: type
    finish: Serialize
    if isinstance(type_, GraphQLEnumType):
        # The database holds the values that go over the wire.
        names = {*type_.values, *([None] if nullable else [])}
        return lambda values: values if names.issuperset(values) else None
    match type_.name:
        case "Int":
            kind, finish = int, within(-MAX_EXACT_INTEGER, MAX_EXACT_INTEGER)
        case "Uint64":
            kind, finish = int, within(0, MAX_UINT64)
        case "Int64":
            kind, finish = int, within(MIN_INT64, MAX_INT64)
        case "Time":
            kind, finish = str, times
        case "Boolean":
            kind, finish = bool, identity
        case "Float":
            kind, finish = float, identity
        case _:
            kind, finish = str, identity
    kinds = {kind, NONE} if nullable else {kind}
    return lambda values: (
        finish(values) if kinds.issuperset(map(type, values)) else None
    )


def identity(values: list[Any]) -> list[Any]:
    return values


def times(values: list[Any]) -> list[Any]:
    """PostgreSQL's text of times in UTC, as `to_rfc3339` writes it."""
    return [v if v is None else f"{v[:10]}T{v[11:-3]}Z" for v in values]


def within(least: int, most: int) -> Serialize:
    def check(values: list[Any]) -> list[Any] | None:
        numbers = [value for value in values if value is not None]
        fits = not numbers or (min(numbers) >= least and max(numbers) <= most)
        return values if fits else None

    return check
