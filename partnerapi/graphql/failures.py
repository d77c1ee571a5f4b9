"""Failures stand where values are missing; `settle` makes nulls and errors of them."""

from typing import Any

from graphql import (
    ExecutionResult,
    GraphQLError,
    GraphQLList,
    GraphQLNonNull,
    located_error,
)
from graphql.pyutils import Path

from partnerapi.graphql.introspection import INTROSPECTION
from partnerapi.graphql.selections import SelectedField, Selection


class Failure:
    """Stands in a column in the place of a value; `error` says why there is none."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


def settle(selection: Selection, data: Any, types: dict[int, str]) -> ExecutionResult:
    """Make nulls and errors of the failures in a response (section 6.4.4).

    The walk is depth first, like an executor without batches: a failure that reaches a
    non-null field ends its object at once, and the fields after it add no errors.
    `types` holds the type's name of each object behind an interface, by identity.
    """
    errors: list[GraphQLError] = []

    def settle_object(below: Selection, obj: dict[str, Any], path: Path | None) -> Any:
        name = types.get(id(obj), below.type.name)
        for field in below.fields(name):
            here = Path(path, field.key, name)
            type_ = field.definition.type
            obj[field.key] = settle_value(obj[field.key], type_, field, here)
        return obj

    def settle_value(value: Any, type_: Any, field: SelectedField, path: Path) -> Any:
        if isinstance(type_, GraphQLNonNull):
            return settle_present(value, type_.of_type, field, path)
        try:
            return settle_present(value, type_, field, path)
        except GraphQLError as error:
            errors.append(error)
            return None

    def settle_present(value: Any, type_: Any, field: SelectedField, path: Path) -> Any:
        if isinstance(value, Failure):
            raise located_error(value.error, field.nodes, path.as_list())
        if isinstance(value, list) and isinstance(type_, GraphQLList):
            return [
                settle_value(item, type_.of_type, field, path.add_key(n, None))
                for n, item in enumerate(value)
            ]
        # The answer of an introspection holds no failures.
        if value is None or field.selection is None or field.name in INTROSPECTION:
            return value
        return settle_object(field.selection, value, path)

    try:
        return ExecutionResult(settle_object(selection, data, None), errors)
    except GraphQLError as error:
        return ExecutionResult(None, [*errors, error])
