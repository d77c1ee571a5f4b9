"""Serialises whole columns of scalars and enums.

A column whose values already are what JSON carries passes after a check of its types
and range; any other goes value by value through the type's own `serialize`.
"""

from collections.abc import Callable
from typing import Any

from graphql import GraphQLEnumType, GraphQLLeafType

from partnerapi.core.numbers import MAX_EXACT_INTEGER, MAX_UINT64

Serialize = Callable[[list[Any]], list[Any] | None]
"""A column's JSON values, or None when it must go value by value."""

NONE = type(None)


def column_serializer(type_: GraphQLLeafType, nullable: bool) -> Serialize:
    """The serialiser of a column of this type; without `nullable` it refuses None."""
    kind: type
    finish: Serialize
    if isinstance(type_, GraphQLEnumType):
        # Stored values are wire values.
        names = {*type_.values, *([None] if nullable else [])}
        return lambda values: values if names.issuperset(values) else None
    match type_.name:
        case "Int":
            kind, finish = int, within(-MAX_EXACT_INTEGER, MAX_EXACT_INTEGER)
        case "Uint64":
            kind, finish = int, within(0, MAX_UINT64)
        case "Time":
            kind, finish = str, times
        case "Boolean":
            kind, finish = bool, unchanged
        case "Float":
            kind, finish = float, unchanged
        case _:
            kind, finish = str, unchanged
    kinds = {kind, NONE} if nullable else {kind}
    return lambda values: (
        finish(values) if kinds.issuperset(map(type, values)) else None
    )


def unchanged(values: list[Any]) -> list[Any]:
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
