"""What a document selects, merged and typed: the tree that is counted and resolved.

A Selection is the set of fields below one field, for each concrete type. Its fragments
are spread, its duplicates merged, @skip and @include decided (GraphQL specification,
sections 6.3.2 and 6.4.3).
"""

from collections.abc import Iterable
from typing import Any, cast

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    Node,
    SchemaMetaFieldDef,
    TypeMetaFieldDef,
    TypeNameMetaFieldDef,
    VariableNode,
    Visitor,
    get_named_type,
    is_abstract_type,
    is_composite_type,
    visit,
)
from graphql.execution.collect_fields import collect_sub_fields
from graphql.language.ast import QUERY_DOCUMENT_KEYS

from partnerapi.core.errors import MaxCostExceeded

MAX_SELECTIONS = 2000
"""A document of 2,000 tokens stays far below, unless its fragments multiply."""

META_FIELDS = {
    "__schema": SchemaMetaFieldDef,
    "__type": TypeMetaFieldDef,
    "__typename": TypeNameMetaFieldDef,
}


class Source:
    """What all selections of one operation are made from."""

    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: dict[str, FragmentDefinitionNode],
        variables: dict[str, Any],
    ) -> None:
        self.schema = schema
        self.fragments = fragments
        self.variables = variables
        self.made: dict[Any, Selection] = {}

    def select(self, type_: Any, nodes: list[FieldNode]) -> "Selection":
        """The selection below these nodes; the same nodes have the same selection.

        Raises:
            MaxCostExceeded: the operation has more than MAX_SELECTIONS.
        """
        key = (type_.name, *map(id, nodes))
        selection = self.made.get(key)
        if selection is None:
            if len(self.made) >= MAX_SELECTIONS:
                raise MaxCostExceeded(
                    "The document combines its fragments in too many ways; write "
                    "out the fields, or send several requests."
                )
            selection = self.made[key] = Selection(self, type_, nodes)
        return selection

    def count_fields(self) -> int:
        """How many fields the selections hold so far, on all types."""
        return sum(
            1 + sum(map(len, selection.fields_by_type.values()))
            for selection in self.made.values()
        )


class SelectedField:
    """One response key of a selection: its field, and the selection below."""

    __slots__ = ("definition", "key", "name", "nodes", "parent", "selection")

    def __init__(
        self,
        source: Source,
        parent: GraphQLObjectType,
        key: str,
        nodes: list[FieldNode],
    ) -> None:
        self.parent = parent
        self.key = key
        self.nodes = nodes
        self.name = nodes[0].name.value
        self.definition: GraphQLField = (
            META_FIELDS.get(self.name) or parent.fields[self.name]
        )
        named = get_named_type(self.definition.type)
        self.selection = (
            source.select(named, nodes) if is_composite_type(named) else None
        )


class Selection:
    """The fields selected on a type; those of an interface, on each type behind it."""

    __slots__ = (
        "columns_by_path",
        "fields_by_type",
        "is_free",
        "nodes",
        "source",
        "steps",
        "type",
    )

    def __init__(self, source: Source, type_: Any, nodes: list[FieldNode]) -> None:
        self.source = source
        self.type = type_
        # Its objects cost nothing: they are connections, edges, the root.
        self.is_free: bool = type_.extensions.get("free", False)
        self.nodes = nodes
        self.fields_by_type: dict[str, list[SelectedField]] = {}
        self.columns_by_path: dict[tuple[str, ...], frozenset[str]] = {}
        # The executor keeps its steps here, by type, and what makes objects of them.
        self.steps: dict[str, Any] = {}

    @property
    def types(self) -> list[GraphQLObjectType]:
        if is_abstract_type(self.type):
            return self.source.schema.get_possible_types(self.type)
        return [self.type]

    def fields(self, type_name: str) -> list[SelectedField]:
        """The fields selected on one concrete type, in response order."""
        fields = self.fields_by_type.get(type_name)
        if fields is None:
            source = self.source
            type_ = cast(GraphQLObjectType, source.schema.type_map[type_name])
            collected = collect_sub_fields(
                source.schema, source.fragments, source.variables, type_, self.nodes
            )
            fields = [
                SelectedField(source, type_, key, nodes)
                for key, nodes in collected.items()
            ]
            self.fields_by_type[type_name] = fields
        return fields

    def columns(self, type_name: str, *path: str) -> frozenset[str]:
        """The columns that the fields of a type need, below a path of field names."""
        known = self.columns_by_path.get((type_name, *path))
        if known is None:
            known = self.find_columns(type_name, *path)
            self.columns_by_path[type_name, *path] = known
        return known

    def find_columns(self, type_name: str, *path: str) -> frozenset[str]:
        if not path:
            return frozenset(
                column
                for field in self.fields(type_name)
                for column in field.definition.extensions.get("columns", ())
            )
        return frozenset(
            column
            for type_ in self.types
            for field in self.fields(type_.name)
            if field.name == path[0] and field.selection
            for column in field.selection.columns(type_name, *path[1:])
        )

    def selects(self, name: str) -> bool:
        """Whether a field of this name is selected on any type."""
        return any(
            field.name == name
            for type_ in self.types
            for field in self.fields(type_.name)
        )


NODES = {
    kind: tuple(key for key in keys if key not in ("name", "alias", "type_condition"))
    for kind, keys in QUERY_DOCUMENT_KEYS.items()
}
"""Where nodes stand in nodes: all but names."""


class Reach(Visitor):
    """The fragments and variables that some nodes use, themselves or by fragments."""

    def __init__(
        self, fragments: dict[str, FragmentDefinitionNode], nodes: Iterable[Node]
    ) -> None:
        super().__init__()
        self.known = fragments
        self.fragments: dict[str, FragmentDefinitionNode] = {}
        self.variables: set[str] = set()
        self.directive_variables: set[str] = set()
        for node in nodes:
            visit(node, self, NODES)

    def enter_fragment_spread(self, node: Any, *_: Any) -> None:
        name = node.name.value
        if name not in self.fragments:
            self.fragments[name] = self.known[name]
            visit(self.known[name], self, NODES)

    def enter_variable(self, node: Any, *_: Any) -> None:
        self.variables.add(node.name.value)

    def enter_directive(self, node: Any, *_: Any) -> None:
        for argument in node.arguments:
            if isinstance(argument.value, VariableNode):
                self.directive_variables.add(argument.value.name.value)
