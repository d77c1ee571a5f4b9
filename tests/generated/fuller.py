"""More fields for plain documents: rare types are reached, and pages hold rows."""

from random import Random
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLSchema,
    InlineFragmentNode,
    NameNode,
    SelectionSetNode,
    get_named_type,
    is_composite_type,
)

DEEPEST = 9


class Fuller:
    """Adds fields of its own choice to the selections of object types."""

    def __init__(self, schema: GraphQLSchema, random: Random) -> None:
        self.schema = schema
        self.random = random
        self.added = 0

    def fill(self, document: DocumentNode) -> None:
        selections = document.definitions[0].selection_set
        for field in selections.selections:
            self.enter(field, self.schema.query_type, 1)

    def enter(self, field: FieldNode, parent: Any, depth: int) -> None:
        if field.selection_set:
            named = get_named_type(parent.fields[field.name.value].type)
            self.visit(field.selection_set, named, depth + 1)

    def visit(
        self, selection_set: SelectionSetNode, parent: Any, depth: int, prefix: str = ""
    ) -> None:
        selections = list(selection_set.selections)
        there = {s.name.value for s in selections if isinstance(s, FieldNode)}
        for name in self.wanted(parent, there, depth):
            field = FieldNode(
                name=NameNode(value=name), arguments=(), directives=(), alias=None
            )
            if prefix:
                # Beside other types' fields, a name of its own is never in conflict.
                field.alias = NameNode(value=f"{prefix}{self.added}")
                self.added += 1
            if is_composite_type(get_named_type(parent.fields[name].type)):
                field.selection_set = SelectionSetNode(selections=())
            selections.append(field)
        for selection in selections:
            if isinstance(selection, InlineFragmentNode):
                inner = self.schema.type_map[selection.type_condition.name.value]
                self.visit(selection.selection_set, inner, depth, "m")
            elif selection.name.value != "__typename":
                self.enter(selection, parent, depth)
        selection_set.selections = tuple(selections)

    def wanted(self, parent: Any, there: set[str], depth: int) -> list[str]:
        """Names of fields to add; one at least where nothing is selected yet."""
        random = self.random
        if parent.name == "Node":
            return [] if there else ["id"]
        names = [
            name
            for name, field in parent.fields.items()
            if name not in there
            and (depth < DEEPEST or not is_composite_type(get_named_type(field.type)))
        ]
        rows = {"nodes", "edges", "node"} & {*names}
        added = set()
        if rows and not there & {"nodes", "edges", "node"} and random.random() < 0.85:
            added.add(random.choice(sorted(rows)))
        rare = parent.name.startswith(("CapitalizationTable", "OrderBook"))
        if not (there or added) or rare or random.random() < 0.4:
            added.update(random.sample(names, min(len(names), random.randint(1, 4))))
        if rare:
            added |= {"holders", "tokenBalances", "bids", "asks"} & {*names}
        return sorted(added)
