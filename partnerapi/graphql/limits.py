"""What a document may hold at most. It is counted before validation, which may be slow.

Most numbers are settings, PARTNER_API_MAX_….
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLID,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
)
from graphql.execution.values import get_argument_values

from partnerapi.core.errors import (
    BadUserInput,
    MaxAliasesExceeded,
    MaxCostExceeded,
    MaxDepthExceeded,
    MaxFragmentsExceeded,
    MaxMutationsExceeded,
    ValidationFailed,
)
from partnerapi.graphql.selections import SelectedField, Selection

MAX_INTROSPECTIONS = 10
MAX_MUTATIONS = 1
MAX_ALIAS_LENGTH = 100
"""Characters."""
MAX_VALUES = 2_000
"""Items and members in all variables: as many as a document has tokens."""
MAX_TEXT_LENGTH = 100
"""Characters of a text that is an argument, where MAX_TEXT_LENGTHS has no other."""
MAX_TEXT_LENGTHS = {"before": 1_000, "after": 1_000}
MAX_ID_LENGTH = 200
MAX_WAIT = 20
"""Seconds."""
WITHOUT_WAIT = ("before", "last")
"""Arguments of a list that waits for what follows `after`."""


def check_counts(document: DocumentNode) -> None:
    """Refuse a document that would take long to validate.

    Raises:
        MaxAliasesExceeded, MaxFragmentsExceeded, MaxDepthExceeded,
        MaxCostExceeded (introspections), ValidationFailed (directives, aliases):
            `maximum` holds the limit.
    """
    counts = Counts()
    for definition in document.definitions:
        if selection_set := getattr(definition, "selection_set", None):
            counts.visit(selection_set)
        counts.count_directives(definition)
    counts.check()
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    maximum = settings.PARTNER_API_MAX_DEPTH
    depths: dict[str, int] = {}
    for definition in document.definitions:
        # Fragments count where operations spread them: below __schema they are free.
        if (
            isinstance(definition, OperationDefinitionNode)
            and depth(definition.selection_set, fragments, depths) > maximum
        ):
            raise MaxDepthExceeded(
                f"The document nests fields deeper than {maximum} levels; query the "
                "inner objects by id in a second request.",
                maximum=maximum,
            )


def check_values(inputs: dict[str, Any]) -> None:
    """Refuse variables whose items and members take long to coerce.

    Raises:
        BadUserInput: they hold more than MAX_VALUES items and members.
    """
    found, waiting = 0, deque[Any]([inputs])
    while waiting:
        value = waiting.popleft()
        if not isinstance(value, dict | list):
            continue
        found += len(value)
        if found > MAX_VALUES:
            raise BadUserInput(
                f"The variables have more than {MAX_VALUES} items and members; send "
                "several requests.",
                maximum=MAX_VALUES,
            )
        waiting.extend(value.values() if isinstance(value, dict) else value)


def check_lengths(definition: GraphQLField, arguments: dict[str, Any]) -> None:
    """Refuse texts that are longer than what they look for can be.

    Raises:
        BadUserInput: `argument` names the text, `maximum` is in characters.
    """
    for name, argument in definition.args.items():
        value = arguments.get(argument.out_name or name)
        maximum = MAX_TEXT_LENGTHS.get(name, MAX_TEXT_LENGTH)
        if get_named_type(argument.type) is GraphQLID:
            maximum = MAX_ID_LENGTH
        texts = {name: value}
        if isinstance(value, list):
            texts = {f"{name}.{place}": item for place, item in enumerate(value)}
        for path, text in texts.items():
            if isinstance(text, str) and len(text) > maximum:
                raise BadUserInput(
                    f"`{path}` has {len(text)} characters; pass at most {maximum}.",
                    argument=path,
                    maximum=maximum,
                )


def check_mutations(selection: Selection) -> None:
    """Refuse a mutation of several root fields: an Idempotency-Key stands for one.

    Raises:
        MaxMutationsExceeded
    """
    fields = [f for f in selection.fields(selection.type.name) if f.selection]
    if len(fields) > MAX_MUTATIONS:
        raise MaxMutationsExceeded(
            f"The operation has {len(fields)} mutations; send each in a separate "
            "request, with its own Idempotency-Key.",
            maximum=MAX_MUTATIONS,
        )


def waiting_fields(selection: Selection) -> list[SelectedField]:
    """The root fields of a query that may wait for their answer."""
    fields = selection.fields(selection.type.name)
    return [
        field
        for field in fields
        if any(argument.name.value == "wait" for argument in field.nodes[0].arguments)
    ]


def seconds_to_wait(
    selection: Selection, waiting: list[SelectedField], variables: dict[str, Any]
) -> int:
    """How long a query may wait for its answer, seconds; 0: not at all.

    Raises:
        BadUserInput: it waits for more than the rows behind `after`, or for too long.
    """
    for field in waiting:
        arguments = get_argument_values(field.definition, field.nodes[0], variables)
        seconds = arguments.get("wait") or 0
        if not 0 <= seconds <= MAX_WAIT:
            raise BadUserInput(
                f"`wait` is {seconds}; pass 0 to {MAX_WAIT} seconds.",
                argument="wait",
                maximum=MAX_WAIT,
            )
        if seconds:
            check_wait(selection, field, arguments)
            return seconds
    return 0


def check_wait(
    selection: Selection, field: SelectedField, arguments: dict[str, Any]
) -> None:
    assert field.selection is not None
    excluded = [name for name in WITHOUT_WAIT if arguments.get(name) is not None]
    excluded += ["totalCount"] if field.selection.selects("totalCount") else []
    others = selection.fields(selection.type.name)
    if arguments.get("after") is None:
        message = "`wait` needs `after`: pass the last `endCursor`, or a sequence."
    elif excluded:
        message = f"`wait` cannot be combined with `{excluded[0]}`."
    elif len(others) > 1:
        message = (
            f"With `wait`, `{field.name}` is the only root field; send the others in "
            "another request."
        )
    else:
        return
    raise BadUserInput(message, argument="wait")


class Counts:
    """What a document holds, in numbers."""

    def __init__(self) -> None:
        self.aliases = 0
        self.spreads = 0
        self.directives = 0
        self.introspections = 0
        self.response_names: Counter[str] = Counter()
        self.longest_alias = 0

    def visit(self, selection_set: SelectionSetNode) -> None:
        for selection in selection_set.selections:
            self.count_directives(selection)
            if isinstance(selection, FieldNode):
                if selection.alias:
                    self.aliases += 1
                    length = len(selection.alias.value)
                    self.longest_alias = max(self.longest_alias, length)
                if selection.name.value in ("__schema", "__type"):
                    self.introspections += 1
                self.response_names[self.name_of(selection)] += 1
            elif isinstance(selection, FragmentSpreadNode):
                self.spreads += 1
                continue
            if inner := selection.selection_set:  # type: ignore[attr-defined]
                self.visit(inner)

    @staticmethod
    def name_of(field: FieldNode) -> str:
        return (field.alias or field.name).value

    def count_directives(self, node: Any) -> None:
        self.directives = max(self.directives, len(node.directives))
        # A fragment has no variables: graphql-core holds None there.
        for variable in getattr(node, "variable_definitions", None) or ():
            self.directives = max(self.directives, len(variable.directives))

    def check(self) -> None:
        maximum = settings.PARTNER_API_MAX_ALIASES
        name, repeated = max(
            self.response_names.items(), key=lambda item: item[1], default=("", 0)
        )
        if self.aliases > maximum:
            raise MaxAliasesExceeded(
                f"The document has {self.aliases} aliases; at most {maximum} are "
                "allowed. Use `nodes(ids:)` or several requests.",
                maximum=maximum,
            )
        if repeated > maximum:
            raise MaxAliasesExceeded(
                f"The document selects `{name}` {repeated} times; at most {maximum} "
                "repetitions of a name are allowed.",
                maximum=maximum,
            )
        if self.longest_alias > MAX_ALIAS_LENGTH:
            raise ValidationFailed(
                f"An alias in the document has {self.longest_alias} characters; at "
                f"most {MAX_ALIAS_LENGTH} are allowed.",
                maximum=MAX_ALIAS_LENGTH,
            )
        maximum = settings.PARTNER_API_MAX_FRAGMENTS
        if self.spreads > maximum:
            raise MaxFragmentsExceeded(
                f"The document spreads fragments {self.spreads} times; at most "
                f"{maximum} spreads are allowed.",
                maximum=maximum,
            )
        if self.introspections > MAX_INTROSPECTIONS:
            raise MaxCostExceeded(
                "The document selects `__schema` or `__type` more than "
                f"{MAX_INTROSPECTIONS} times; select the types of one `__schema`.",
                maximum=MAX_INTROSPECTIONS,
            )
        maximum = settings.PARTNER_API_MAX_DIRECTIVES
        if self.directives > maximum:
            raise ValidationFailed(
                f"A node of the document has {self.directives} directives; at most "
                f"{maximum} are allowed.",
                maximum=maximum,
            )


def depth(
    selection_set: SelectionSetNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    depths: dict[str, int],
) -> int:
    """Levels of fields, through fragments; introspection fields do not count.

    `depths` keeps the depth of each fragment. A cycle does not count: validation
    refuses it.
    """
    deepest = 0
    for selection in selection_set.selections:
        if isinstance(selection, FragmentSpreadNode):
            name = selection.name.value
            if name not in depths and name in fragments:
                depths[name] = 0
                depths[name] = depth(fragments[name].selection_set, fragments, depths)
            deepest = max(deepest, depths.get(name, 0))
            continue
        inner = selection.selection_set  # type: ignore[attr-defined]
        below = depth(inner, fragments, depths) if inner else 0
        if isinstance(selection, FieldNode):
            below = 0 if selection.name.value.startswith("__") else below + 1
        deepest = max(deepest, below)
    return deepest
