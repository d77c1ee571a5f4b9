"""Introspection: we count what it would answer, then graphql-core answers it."""

from collections.abc import Hashable
from hashlib import sha256
from threading import Lock
from types import SimpleNamespace
from typing import Any

from cachetools import LRUCache
from graphql import (
    DocumentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    StringValueNode,
    execute_sync,
    get_nullable_type,
    is_list_type,
    print_ast,
)

from partnerapi.core.errors import MaxCostExceeded
from partnerapi.graphql.selections import Reach, SelectedField, Selection

INTROSPECTION = ("__schema", "__type")
MAX_FIELDS = 20_000
"""The introspection query of GraphiQL and code generators answers half of it."""
MAX_RESULTS = 8
"""Answers in the cache; the largest take 1 MB."""


class Introspection:
    """Counts the fields that the introspections of one operation answer."""

    def __init__(self) -> None:
        self.fields = 0
        self.counted: dict[tuple[int, int], int] = {}

    def add(self, field: SelectedField) -> None:
        """Count a `__schema` or `__type`.

        Where a variable names the type, the one with most fields counts.

        Raises:
            MaxCostExceeded: the operation would answer more than MAX_FIELDS fields.
        """
        selection = field.selection
        assert selection is not None
        schema = selection.source.schema
        if field.name == "__schema":
            self.count(selection, schema)
            return
        [name] = [a.value for a in field.nodes[0].arguments if a.name.value == "name"]
        types = schema.type_map
        if isinstance(name, StringValueNode):
            types = {n: types[n] for n in (name.value,) if n in types}
        before = most = self.fields
        for type_ in types.values():
            self.fields = before
            self.count(selection, type_)
            most = max(most, self.fields)
        self.fields = most

    def count(self, selection: Selection, parent: Any) -> None:
        # graphql-core makes a new pair of name and value each time: take the value.
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
                f"The introspection would return more than {MAX_FIELDS} fields; "
                "select less of the schema, or read it at /schema.graphql.",
                maximum=MAX_FIELDS,
            )


class Question:
    """What an introspection field asks; the rest of its document does not matter."""

    def __init__(self, field: SelectedField) -> None:
        assert field.selection is not None
        source = field.selection.source
        reach = Reach(source.fragments, field.nodes)
        printed = map(print_ast, (*field.nodes, *reach.fragments.values()))
        self.field = field
        self.schema = source.schema
        self.fragments = source.fragments
        self.digest = sha256("\n".join(printed).encode()).digest()
        self.names = sorted(reach.variables)

    def key(self, variables: dict[str, Any]) -> Hashable:
        """A short key, the same for all questions that have the same answer."""
        if not self.names:
            return self.schema, self.digest
        used = repr([(n, variables[n]) for n in self.names if n in variables])
        return self.schema, sha256(self.digest + used.encode()).digest()


results: LRUCache[Hashable, dict[str, Any]] = LRUCache(MAX_RESULTS)
lock = Lock()


def introspect(
    question: Question,
    operation: OperationDefinitionNode,
    inputs: dict[str, Any],
    variables: dict[str, Any],
) -> Any:
    """What graphql-core answers to an introspection field, from the cache if it can be.

    `inputs` are the operation's variables as they were sent, `variables` as
    graphql-core coerced them.

    Raises:
        GraphQLError: an argument is null that must not be.
    """
    key = question.key(variables)
    with lock:
        data = results.get(key)
    if data is None:
        alone = OperationDefinitionNode(
            operation=operation.operation,
            variable_definitions=operation.variable_definitions,
            directives=[],
            selection_set=SelectionSetNode(selections=question.field.nodes),
        )
        document = DocumentNode(definitions=[alone, *question.fragments.values()])
        answered = execute_sync(question.schema, document, variable_values=inputs)
        if answered.errors:
            raise answered.errors[0]
        data = answered.data or {}
        with lock:
            results[key] = data
    return data[question.field.key]
