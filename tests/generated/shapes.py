"""The same request written otherwise: aliases, fragments, directives, variables."""

from copy import deepcopy
from random import Random
from typing import Any

from graphql import (
    ArgumentNode,
    BooleanValueNode,
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLNonNull,
    GraphQLSchema,
    InlineFragmentNode,
    ListValueNode,
    NamedTypeNode,
    NameNode,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    ValueNode,
    VariableDefinitionNode,
    VariableNode,
    get_named_type,
    parse_type,
    value_from_ast_untyped,
)

MOST_ALIASES = 40
MOST_SPREADS = 20
MOST_VARIABLES = 30


class Shapes:
    """One way to write a document of one operation without fragments."""

    def __init__(self, schema: GraphQLSchema, random: Random) -> None:
        self.schema = schema
        self.random = random
        self.aliases = 0
        self.spreads = 0
        self.fragments: dict[str, list[FragmentDefinitionNode]] = {}
        self.definitions: list[VariableDefinitionNode] = []
        self.variables: dict[str, Any] = {}

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def vary(
        self, document: DocumentNode
    ) -> tuple[DocumentNode, dict[str, Any], str | None]:
        """The document, its variables' values, and the name of the operation to run.

        The document given is changed.
        """
        [operation] = document.definitions
        assert isinstance(operation, OperationDefinitionNode)
        self.visit(operation.selection_set, self.schema.query_type)
        operation.variable_definitions = tuple(self.definitions)
        fragments = [f for group in self.fragments.values() for f in group]
        name = None
        operations = [operation]
        if self.chance(0.4):
            operation.name = NameNode(value="Asked")
            name = self.random.choice([None, "Asked"])
        if operation.name and self.chance(0.3):
            other = deepcopy(operation)
            other.name, name = NameNode(value="Other"), "Asked"
            operations.insert(self.random.randrange(2), other)
        definitions = [*operations, *fragments]
        if self.chance(0.3):
            self.random.shuffle(definitions)
        document.definitions = tuple(definitions)
        return document, self.variables, name

    def visit(self, selection_set: SelectionSetNode, parent: Any) -> None:
        selections: list[SelectionNode] = []
        for selection in selection_set.selections:
            if isinstance(selection, InlineFragmentNode):
                inner = self.schema.type_map[selection.type_condition.name.value]
                self.visit(selection.selection_set, inner)
            elif selection.name.value != "__typename":
                self.visit_field(selection, parent)
            self.direct(selection)
            selections.append(selection)
            if isinstance(selection, FieldNode) and self.chance(0.06):
                selections.append(self.repeated(selection))
        # A type without scalars has no fields left at the greatest depth.
        if not selections or self.chance(0.15):
            typename = FieldNode(name=NameNode(value="__typename"))
            selections.insert(self.random.randint(0, len(selections)), typename)
        selection_set.selections = tuple(self.regrouped(selections, parent))

    def visit_field(self, field: FieldNode, parent: Any) -> None:
        definition = parent.fields[field.name.value]
        for argument in field.arguments:
            type_ = definition.args[argument.name.value].type
            argument.value = self.bound(argument.value, type_)
        if field.selection_set:
            self.visit(field.selection_set, get_named_type(definition.type))
        if self.aliases < MOST_ALIASES and self.chance(0.12):
            field.alias = NameNode(value=f"a{self.aliases}")
            self.aliases += 1

    def repeated(self, field: FieldNode) -> FieldNode:
        """The same field again, with fewer fields below: the two merge."""
        again = deepcopy(field)
        again.directives = ()
        if again.selection_set:
            kept = [s for s in again.selection_set.selections if self.chance(0.6)]
            again.selection_set.selections = (
                tuple(kept) or again.selection_set.selections[:1]
            )
        return again

    def direct(self, node: Any) -> None:
        """Put @skip or @include on a node, mostly so that it stays."""
        for name in ("skip", "include"):
            if not self.chance(0.04):
                continue
            stays = self.chance(0.8)
            value: ValueNode = BooleanValueNode(value=stays == (name == "include"))
            type_ = self.schema.get_directive(name).args["if"].type
            argument = ArgumentNode(
                name=NameNode(value="if"), value=self.bound(value, type_, 0.6)
            )
            directive = DirectiveNode(name=NameNode(value=name), arguments=(argument,))
            node.directives = (*node.directives, directive)

    def bound(self, value: ValueNode, type_: Any, share: float = 0.3) -> ValueNode:
        """The value, or a variable that stands for it."""
        if len(self.definitions) >= MOST_VARIABLES or not self.chance(share):
            if isinstance(value, ListValueNode):
                items = type_.of_type if isinstance(type_, GraphQLNonNull) else type_
                value.values = tuple(
                    self.bound(item, items.of_type, 0.2) for item in value.values
                )
            if isinstance(value, ObjectValueNode):
                inputs = get_named_type(type_).fields
                for field in value.fields:
                    type_ = inputs[field.name.value].type
                    field.value = self.bound(field.value, type_, 0.2)
            return value
        name = f"v{len(self.definitions)}"
        plain = str(type_).removesuffix("!")
        required = str(type_).endswith("!") or self.chance(0.4)
        default = None
        if self.chance(0.25):
            default, required = value, False
        if default is None or self.chance(0.5):
            self.variables[name] = value_from_ast_untyped(value)
        elif self.chance(0.1):
            # Only the request, not the document, shows a null that is not allowed.
            self.variables[name] = None
        variable = VariableNode(name=NameNode(value=name))
        self.definitions.append(
            VariableDefinitionNode(
                variable=variable,
                type=parse_type(plain + "!" * required),
                default_value=default,
                directives=(),
            )
        )
        return variable

    def regrouped(
        self, selections: list[SelectionNode], parent: Any
    ) -> list[SelectionNode]:
        """Move some selections into fragments; spread earlier fragments again."""
        known = self.fragments.get(parent.name, [])
        if known and self.spreads < MOST_SPREADS and self.chance(0.3):
            again = self.random.choice(known).name
            selections.append(self.spread(again.value))
        if self.chance(0.15):
            start, end = self.part(selections)
            wrapped = InlineFragmentNode(
                type_condition=self.random.choice(
                    [None, NamedTypeNode(name=NameNode(value=parent.name))]
                ),
                directives=(),
                selection_set=SelectionSetNode(selections=tuple(selections[start:end])),
            )
            self.direct(wrapped)
            selections[start:end] = [wrapped]
        if self.spreads < MOST_SPREADS and self.chance(0.2):
            start, end = self.part(selections)
            name = f"F{sum(map(len, self.fragments.values()))}"
            fragment = FragmentDefinitionNode(
                name=NameNode(value=name),
                type_condition=NamedTypeNode(name=NameNode(value=parent.name)),
                variable_definitions=(),
                directives=(),
                selection_set=SelectionSetNode(selections=tuple(selections[start:end])),
            )
            self.fragments.setdefault(parent.name, []).append(fragment)
            selections[start:end] = [self.spread(name)]
        return selections

    def part(self, selections: list[SelectionNode]) -> tuple[int, int]:
        start = self.random.randrange(len(selections))
        return start, self.random.randint(start + 1, len(selections))

    def spread(self, name: str) -> FragmentSpreadNode:
        self.spreads += 1
        spread = FragmentSpreadNode(name=NameNode(value=name), directives=())
        self.direct(spread)
        return spread
