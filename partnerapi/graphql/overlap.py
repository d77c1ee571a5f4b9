"""The rule "overlapping fields can be merged", in time that grows with the document.

graphql-core's own rule compares every two fields of one response name: a small document
can make that take 100 ms. This rule compares fields with the first of their group
(Simon Adameit's algorithm, as in Sangria). Both refuse the same documents.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    SelectionSetNode,
    ValidationContext,
    ValidationRule,
    get_named_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    print_ast,
    type_from_ast,
)
from graphql.utilities.sort_value_node import sort_value_node

from partnerapi.core.errors import MaxFragmentsExceeded

MAX_COLLECTED_FIELDS = 10_000
"""A document of 2,000 tokens stays far below, unless its fragments multiply."""


class Field:
    """A field of a document, and the type that has it, if that is known."""

    __slots__ = ("definition", "node", "parent")

    def __init__(self, parent: Any, node: FieldNode) -> None:
        self.parent = parent
        self.node = node
        fields = getattr(parent, "fields", {})
        self.definition: GraphQLField | None = fields.get(node.name.value)


class OverlappingFieldsRule(ValidationRule):
    """Fields of one response name must be the same field and have one shape."""

    context: ValidationContext

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self.collected = 0
        self.checked: set[tuple[bool, frozenset[int]]] = set()
        self.arguments: dict[int, dict[str, str]] = {}

    def enter_operation_definition(self, node: Any, *_: Any) -> None:
        root = self.context.schema.get_root_type(node.operation)
        self.check([(root, node.selection_set)], shapes_only=False)

    def check(
        self, sets: list[tuple[Any, SelectionSetNode]], *, shapes_only: bool
    ) -> None:
        """Check selection sets that make one.

        `shapes_only`: no object has the types of two of them. Then different fields may
        share a name, if their values look alike.
        """
        key = shapes_only, frozenset(id(selection_set) for _, selection_set in sets)
        if key in self.checked:
            return
        self.checked.add(key)
        for name, fields in self.collect(sets).items():
            groups = [] if shapes_only else by_parent(fields)
            differing = [self.fields_differ(name, group) for group in groups]
            if any(differing) or self.shapes_differ(name, fields):
                continue
            for group in groups:
                self.check(below(group), shapes_only=False)
            if len(groups) != 1:
                self.check(below(fields), shapes_only=True)

    def collect(
        self, sets: list[tuple[Any, SelectionSetNode]]
    ) -> dict[str, list[Field]]:
        """The fields by response name; each fragment is spread once.

        Raises:
            MaxFragmentsExceeded: the fragments combine in too many ways.
        """
        found: dict[str, list[Field]] = {}
        spread: set[str] = set()
        waiting = deque(sets)
        while waiting:
            parent, selection_set = waiting.popleft()
            self.collected += len(selection_set.selections)
            if self.collected > MAX_COLLECTED_FIELDS:
                raise MaxFragmentsExceeded(
                    "The document combines its fragments in too many ways; write "
                    "out the fields, or send several requests."
                )
            for selection in selection_set.selections:
                if isinstance(selection, FieldNode):
                    key = (selection.alias or selection.name).value
                    found.setdefault(key, []).append(Field(parent, selection))
                    continue
                part: Any = selection
                if isinstance(selection, FragmentSpreadNode):
                    name = selection.name.value
                    part = self.context.get_fragment(name)
                    if part is None or name in spread:
                        continue
                    spread.add(name)
                inner = parent
                if part.type_condition:
                    inner = type_from_ast(self.context.schema, part.type_condition)
                waiting.append((inner, part.selection_set))
        return found

    def shapes_differ(self, name: str, fields: list[Field]) -> bool:
        typed = [field for field in fields if field.definition]
        for other in typed[1:]:
            one, two = typed[0].definition, other.definition
            assert one is not None
            assert two is not None
            if types_conflict(one.type, two.type):
                self.refuse(
                    name,
                    f"they return conflicting types '{one.type}' and '{two.type}'",
                    typed[0],
                    other,
                )
                return True
        return False

    def fields_differ(self, name: str, fields: list[Field]) -> bool:
        first = fields[0]
        for other in fields[1:]:
            one, two = first.node.name.value, other.node.name.value
            if one != two:
                reason = f"'{one}' and '{two}' are different fields"
            elif self.arguments_of(first.node) != self.arguments_of(other.node):
                reason = "they have differing arguments"
            else:
                continue
            self.refuse(name, reason, first, other)
            return True
        return False

    def arguments_of(self, node: FieldNode) -> dict[str, str]:
        if not node.arguments:
            return {}
        known = self.arguments.get(id(node))
        if known is None:
            known = self.arguments[id(node)] = {
                argument.name.value: print_ast(sort_value_node(argument.value))
                for argument in node.arguments
            }
        return known

    def refuse(self, name: str, reason: str, one: Field, two: Field) -> None:
        self.report_error(
            GraphQLError(
                f"Fields '{name}' conflict because {reason}. Use different aliases on "
                "the fields to fetch both if this was intentional.",
                [one.node, two.node],
            )
        )


def by_parent(fields: list[Field]) -> list[list[Field]]:
    """Groups of fields that one object may have.

    Each object type has a group, to which all abstract and unknown types belong, too.
    """
    objects = dict.fromkeys(id(f.parent) for f in fields if is_object_type(f.parent))
    if len(objects) < 2:
        return [fields]
    return [
        [f for f in fields if not is_object_type(f.parent) or id(f.parent) == chosen]
        for chosen in objects
    ]


def below(fields: Iterable[Field]) -> list[tuple[Any, SelectionSetNode]]:
    return [
        (
            get_named_type(field.definition.type) if field.definition else None,
            field.node.selection_set,
        )
        for field in fields
        if field.node.selection_set
    ]


def types_conflict(one: Any, two: Any) -> bool:
    """Whether values of the two types look different: lists, null, leaves."""
    for is_wrapper in (is_list_type, is_non_null_type):
        if is_wrapper(one) or is_wrapper(two):
            return (
                not is_wrapper(one)
                or not is_wrapper(two)
                or types_conflict(one.of_type, two.of_type)
            )
    return (is_leaf_type(one) or is_leaf_type(two)) and one is not two
