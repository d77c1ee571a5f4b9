"""Introspection: counted on the schema first, then answered by graphql-core."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from graphql import (
    DocumentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    execute_sync,
    get_nullable_type,
    is_list_type,
)

from partnerapi.engine.errors import MaxCostExceeded
from partnerapi.engine.selections import SelectedField, Selection

if TYPE_CHECKING:
    from partnerapi.engine.documents import Prepared

INTROSPECTION = ("__schema", "__type")
MAX_KEPT = 64
MAX_FIELDS = 10_000
"""Some three times what the introspection query of GraphiQL and code generators
answers."""


class Introspection:
    """Counts the fields that the introspections of one operation answer."""

    def __init__(self) -> None:
        self.fields = 0
        self.counted: dict[tuple[int, int], int] = {}

    def add(self, field: SelectedField) -> None:
        """Count a `__schema` or `__type`; any type may turn out to be asked for.

        Raises:
            MaxCostExceeded: with those counted before, over MAX_FIELDS.
        """
        selection = field.selection
        assert selection is not None
        schema = selection.source.schema
        if field.name == "__schema":
            self.count(selection, schema)
            return
        before = most = self.fields
        for type_ in schema.type_map.values():
            self.fields = before
            self.count(selection, type_)
            most = max(most, self.fields)
        self.fields = most

    def count(self, selection: Selection, parent: Any) -> None:
        # Fields and arguments come as pairs with their names, made anew each time.
        key = id(selection), id(parent[1] if isinstance(parent, tuple) else parent)
        if key in self.counted:
            self.grow(self.counted[key])
            return
        before = self.fields
        info = SimpleNamespace(schema=selection.source.schema)
        for field in selection.fields(selection.type.name):
            self.grow(1)
            if field.selection is None:
                continue
            arguments = field.definition.args.keys() & {"includeDeprecated"}
            value = field.definition.resolve(  # type: ignore[misc]
                parent, info, **dict.fromkeys(arguments, True)
            )
            if value is None:
                continue
            type_: Any = field.definition.type
            many = is_list_type(get_nullable_type(type_))
            for item in value if many else [value]:
                self.count(field.selection, item)
        self.counted[key] = self.fields - before

    def grow(self, fields: int) -> None:
        self.fields += fields
        if self.fields > MAX_FIELDS:
            raise MaxCostExceeded(
                f"The introspection would answer more than {MAX_FIELDS} fields; select "
                "less of the schema, or read it at /schema.graphql.",
                maximum=MAX_FIELDS,
            )


def introspect(field: SelectedField, prepared: "Prepared") -> Any:
    """What graphql-core answers to an introspection field; kept with the plan.

    Raises:
        GraphQLError: an argument is null that must not be.
    """
    known = prepared.plan.introspected
    key = (field.key, repr(prepared.variables))
    if key not in known:
        operation = prepared.operation
        alone = OperationDefinitionNode(
            operation=operation.node.operation,
            variable_definitions=operation.node.variable_definitions,
            directives=[],
            selection_set=SelectionSetNode(selections=field.nodes),
        )
        document = DocumentNode(definitions=[alone, *operation.fragments.values()])
        answered = execute_sync(
            operation.schema, document, variable_values=prepared.inputs
        )
        if answered.errors:
            raise answered.errors[0]
        if len(known) >= MAX_KEPT:
            known.clear()
        known[key] = (answered.data or {})[field.key]
    return known[key]
