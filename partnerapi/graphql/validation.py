"""graphql-core's validation, with its rules, in a third of its time.

graphql-core looks up the methods of each rule for each kind of node in every document,
and visits names, at which no rule looks. Here a rule's methods are looked up once, and
rules about what a text cannot hold are left out.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from graphql import (
    BREAK,
    SKIP,
    DocumentNode,
    FragmentDefinitionNode,
    FragmentsOnCompositeTypesRule,
    GraphQLError,
    GraphQLSchema,
    KnownArgumentNamesRule,
    KnownDirectivesRule,
    KnownFragmentNamesRule,
    MaxIntrospectionDepthRule,
    NoFragmentCyclesRule,
    NoUndefinedVariablesRule,
    NoUnusedFragmentsRule,
    NoUnusedVariablesRule,
    PossibleFragmentSpreadsRule,
    SingleFieldSubscriptionsRule,
    TypeInfo,
    UniqueArgumentNamesRule,
    UniqueDirectivesPerLocationRule,
    UniqueFragmentNamesRule,
    UniqueInputFieldNamesRule,
    UniqueVariableNamesRule,
    ValidationContext,
    ValuesOfCorrectTypeRule,
    VariablesAreInputTypesRule,
    VariablesInAllowedPositionRule,
    Visitor,
    visit,
)
from graphql.language.visitor import EnterLeaveVisitor
from graphql.validation.rules import ASTValidationRule
from graphql.validation.validate import (
    FragmentNestingVisitor,
    ValidationAbortedError,
    query_document_keys_to_validate,
)

KEYS = {
    kind: tuple(key for key in keys if key not in ("name", "alias"))
    for kind, keys in query_document_keys_to_validate.items()
}
"""Where nodes stand in nodes: all but names."""


MARKS: dict[tuple[str, ...], tuple[type[ASTValidationRule], ...]] = {
    ("$",): (
        NoUndefinedVariablesRule,
        NoUnusedVariablesRule,
        UniqueVariableNamesRule,
        VariablesAreInputTypesRule,
        VariablesInAllowedPositionRule,
    ),
    ("...", "fragment"): (
        FragmentsOnCompositeTypesRule,
        KnownFragmentNamesRule,
        NoFragmentCyclesRule,
        NoUnusedFragmentsRule,
        PossibleFragmentSpreadsRule,
        UniqueFragmentNamesRule,
    ),
    ("(",): (
        KnownArgumentNamesRule,
        UniqueArgumentNamesRule,
        UniqueInputFieldNamesRule,
        ValuesOfCorrectTypeRule,
    ),
    ("@",): (KnownDirectivesRule, UniqueDirectivesPerLocationRule),
    ("__",): (MaxIntrospectionDepthRule,),
    ("subscription",): (SingleFieldSubscriptionsRule,),
}
"""Rules that find nothing in a text that has none of these marks."""


@cache
def without(
    rules: tuple[type[ASTValidationRule], ...], absent: frozenset[tuple[str, ...]]
) -> list[type[ASTValidationRule]]:
    idle = tuple(rule for marks in absent for rule in MARKS[marks])
    return [rule for rule in rules if not issubclass(rule, idle)]


Methods = list[tuple[int, str]]
"""Names of methods, each with the number of the visitor that has it."""


@cache
def methods(classes: tuple[type, ...], kind: str) -> tuple[Methods, Methods]:
    """Which of these visitors look at a kind of node, when it is entered and left."""
    enter, leave = (
        [
            (number, next(name for name in names if hasattr(class_, name)))
            for number, class_ in enumerate(classes)
            if any(hasattr(class_, name) for name in names)
        ]
        for names in ((f"{when}_{kind}", when) for when in ("enter", "leave"))
    )
    return enter, leave


class Rules(Visitor):
    """Asks all rules about each node; `types` gives them their position.

    A rule may skip what is below a node, or end. None edits.
    """

    def __init__(self, rules: Sequence[Visitor], types: TypeInfo) -> None:
        super().__init__()
        self.rules = rules
        self.types = types
        self.classes = tuple(map(type, rules))
        self.skipping: list[Any] = [None] * len(rules)

    def get_enter_leave_for_kind(self, kind: str) -> EnterLeaveVisitor:
        known = self.enter_leave_map.get(kind)
        if known is None:
            known = self.enter_leave_map[kind] = self.make(kind)
        return known

    def make(self, kind: str) -> EnterLeaveVisitor:
        rules, types = self.rules, self.types
        entering, leaving = (
            [(number, getattr(rules[number], name)) for number, name in found]
            for found in methods(self.classes, kind)
        )
        enter_type = getattr(types, f"enter_{kind}", None)
        leave_type = getattr(types, f"leave_{kind}", None)
        skipping = self.skipping

        def enter(node: Any, *place: Any) -> None:
            if enter_type:
                enter_type(node)
            for number, ask in entering:
                if skipping[number] is None:
                    result = ask(node, *place)
                    if result is SKIP or result is False:
                        skipping[number] = node
                    elif result is BREAK or result is True:
                        skipping[number] = BREAK

        def leave(node: Any, *place: Any) -> None:
            for number, ask in leaving:
                if skipping[number] is None:
                    result = ask(node, *place)
                    if result is BREAK or result is True:
                        skipping[number] = BREAK
            for number, _ in entering:
                if skipping[number] is node:
                    skipping[number] = None
            if leave_type:
                leave_type()

        return EnterLeaveVisitor(enter, leave)


class Context(ValidationContext):
    """A document without variables, or spreads, is not searched for them.

    `absent` are the marks of which its text has none.
    """

    absent: frozenset[tuple[str, ...]] = frozenset()

    def get_variable_usages(self, node: Any) -> list[Any]:
        return [] if ("$",) in self.absent else super().get_variable_usages(node)

    def get_fragment_spreads(self, node: Any) -> list[Any]:
        if ("...", "fragment") in self.absent:
            return []
        return super().get_fragment_spreads(node)


def validate(
    schema: GraphQLSchema,
    document: DocumentNode,
    rules: Sequence[type[ASTValidationRule]],
    max_errors: int,
) -> list[GraphQLError]:
    """What graphql-core's `validate` answers; one error more says that it gave up.

    The schema must be valid.
    """
    errors: list[GraphQLError] = []

    def report(error: GraphQLError) -> None:
        if len(errors) >= max_errors:
            raise ValidationAbortedError("There are too many errors.")
        errors.append(error)

    types = TypeInfo(schema)
    context = Context(schema, document, types, report)
    if document.loc:
        text = document.loc.source.body
        context.absent = frozenset(
            marks for marks in MARKS if not any(mark in text for mark in marks)
        )
    asked = without(tuple(rules), context.absent)
    visitors: list[Visitor] = [rule(context) for rule in asked]
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    if fragments:
        visitors.insert(0, FragmentNestingVisitor(fragments))
    try:
        visit(document, Rules(visitors, types), KEYS)
    except ValidationAbortedError as error:
        # Or the errors that are kept would keep what was visited.
        error.__context__ = None
        errors.append(error.with_traceback(None))
    except RecursionError:
        errors.append(ValidationAbortedError("The document nests too deeply."))
    return errors
