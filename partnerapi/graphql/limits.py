"""What a document may ask for: counted before validation, priced after it.

Every number is a setting, PARTNER_API_MAX_….
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

from django.conf import settings
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    get_nullable_type,
    is_list_type,
)

from partnerapi.core.errors import (
    MaxAliasesExceeded,
    MaxCostExceeded,
    MaxDepthExceeded,
    MaxFragmentsExceeded,
    MaxMutationsExceeded,
    ValidationFailed,
)
from partnerapi.graphql.introspection import Introspection
from partnerapi.graphql.pages import NESTED_PAGE_SIZE, ROOT_PAGE_SIZE
from partnerapi.graphql.selections import SelectedField, Selection

INTROSPECTION_PRICE = 100
MAX_INTROSPECTIONS = 10
MUTATION_PRICE = 10
HOLDERS = 100
"""What a list of holders is priced as: it has no size of its own to go by."""
MAX_LEVELS = 50
"""The most that `depth` asks for: levels of each side of an order book."""


def check_counts(document: DocumentNode) -> None:
    """Refuse a document that would be dear to validate.

    Raises:
        MaxAliasesExceeded, MaxFragmentsExceeded, MaxDepthExceeded,
        MaxCostExceeded (introspections), ValidationFailed (directives):
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
                f"The document nests fields deeper than {maximum} levels; ask for the "
                "inner objects by their ids in a second request.",
                maximum=maximum,
            )


def check_mutations(selection: Selection) -> None:
    """Refuse a mutation of several root fields: an idempotency key answers for one.

    Raises:
        MaxMutationsExceeded
    """
    fields = [f for f in selection.fields(selection.type.name) if f.selection]
    maximum = settings.PARTNER_API_MAX_MUTATIONS
    if len(fields) > maximum:
        raise MaxMutationsExceeded(
            f"The operation has {len(fields)} mutations; send each in a request of its "
            "own, with its own Idempotency-Key.",
            maximum=maximum,
        )


class Counts:
    def __init__(self) -> None:
        self.aliases = 0
        self.spreads = 0
        self.directives = 0
        self.introspections = 0
        self.response_names: Counter[str] = Counter()

    def visit(self, selection_set: SelectionSetNode) -> None:
        for selection in selection_set.selections:
            self.count_directives(selection)
            if isinstance(selection, FieldNode):
                self.aliases += selection.alias is not None
                self.introspections += selection.name.value in ("__schema", "__type")
                self.response_names[(selection.alias or selection.name).value] += 1
            elif isinstance(selection, FragmentSpreadNode):
                self.spreads += 1
                continue
            if inner := selection.selection_set:  # type: ignore[attr-defined]
                self.visit(inner)

    def count_directives(self, node: Any) -> None:
        self.directives = max(self.directives, len(node.directives))
        # graphql-core leaves None in a fragment, which can not have any.
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
    """Levels of fields, through fragments; introspection fields count nothing.

    `depths` holds each fragment's depth once it is known. A cycle counts nothing
    here: validation refuses it.
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


Variables = Mapping[str, Any]
Price = int | Callable[[Variables], int]


class Pricing:
    """Points for what an operation selects, as a function of its variables.

    A scalar costs 0, an object 1, a mutation 10 besides what it answers, a connection
    its page size times its node, a list its length times its item, an order book its
    depth times what is selected of it; of an interface's types the dearest counts.
    """

    def __init__(self) -> None:
        self.prices: dict[int, tuple[Price, int]] = {}
        self.introspection = Introspection()

    def price(self, selection: Selection) -> Price:
        """The price of a root selection.

        Raises:
            MaxCostExceeded: too dear whatever the variables are.
        """
        price, least = self.of_selection(selection)
        if least > settings.PARTNER_API_MAX_COST:
            raise too_dear(least)
        return price

    def of_selection(self, selection: Selection) -> tuple[Price, int]:
        known = self.prices.get(id(selection))
        if known is None:
            by_type = [
                add([self.of_field(field) for field in selection.fields(type_.name)])
                for type_ in selection.types
            ]
            known = self.prices[id(selection)] = dearest(by_type)
        return known

    def of_field(self, field: SelectedField) -> tuple[Price, int]:
        if field.selection is None:
            return 0, 0
        if field.name in ("__schema", "__type"):
            self.introspection.add(field)
            return INTROSPECTION_PRICE, INTROSPECTION_PRICE
        if field.parent.name == "Mutation":
            below = self.of_selection(field.selection)
            return add([(MUTATION_PRICE, MUTATION_PRICE), below])
        if field.selection.type.name.endswith("Connection"):
            node = add(
                [
                    self.of_rows(part)
                    for part in field.selection.fields(field.selection.type.name)
                ]
            )
            return times(page_size(field), node) if node[1] else (1, 1)
        below = self.of_selection(field.selection)
        if "depth" in field.definition.args:
            below = times(levels(field), below)
        item = add([(1, 1), below])
        if is_list_type(get_nullable_type(cast(Any, field.definition.type))):
            return times(list_length(field), item)
        return item

    def of_rows(self, part: SelectedField) -> tuple[Price, int]:
        """What `edges`, `nodes` or `pageInfo` cost for one row of the page."""
        if part.selection is None:
            return 0, 0
        if part.name == "pageInfo":
            return self.of_selection(part.selection)
        if part.name == "nodes":
            return add([(1, 1), self.of_selection(part.selection)])
        return add(
            [
                add([(1, 1), self.of_selection(field.selection)])
                for field in part.selection.fields(part.selection.type.name)
                if field.selection
            ]
            or [(1, 1)]
        )


def add(prices: list[tuple[Price, int]]) -> tuple[Price, int]:
    constant = sum(price for price, _ in prices if isinstance(price, int))
    functions = [price for price, _ in prices if not isinstance(price, int)]
    least = sum(minimum for _, minimum in prices)
    if not functions:
        return constant, least
    return lambda variables: constant + sum(f(variables) for f in functions), least


def dearest(prices: list[tuple[Price, int]]) -> tuple[Price, int]:
    if len(prices) == 1:
        return prices[0]
    constant = max(price if isinstance(price, int) else 0 for price, _ in prices)
    functions = [price for price, _ in prices if not isinstance(price, int)]
    least = max(minimum for _, minimum in prices)
    if not functions:
        return constant, least
    return lambda variables: max(constant, *(f(variables) for f in functions)), least


def times(size: Price, price: tuple[Price, int]) -> tuple[Price, int]:
    each, least = price
    if isinstance(size, int):
        if isinstance(each, int):
            return size * each, size * least
        return lambda variables: size * each(variables), size * least
    if isinstance(each, int):
        return lambda variables: size(variables) * each, least
    return lambda variables: size(variables) * each(variables), least


def page_size(field: SelectedField) -> Price:
    """Rows that a connection reads; sizes that will be refused count as the nearest."""
    parent_is_root = field.parent.name == "Query"
    default = ROOT_PAGE_SIZE if parent_is_root else NESTED_PAGE_SIZE
    maximum = settings.PARTNER_API_MAX_PAGE_SIZE
    given = {a.name.value: a.value for a in field.nodes[0].arguments}
    sizes = [given[name] for name in ("first", "last") if name in given]
    if not any(isinstance(size, VariableNode) for size in sizes):
        numbers = [read(size, {}) for size in sizes]
        return clamp(numbers, default, maximum)
    return lambda variables: clamp(
        [read(size, variables) for size in sizes], default, maximum
    )


def clamp(sizes: list[int | None], default: int, maximum: int) -> int:
    size = next((size for size in sizes if size is not None), default)
    return min(max(size, 1), maximum)


def read(value: ValueNode, variables: Variables) -> Any:
    if isinstance(value, VariableNode):
        return variables.get(value.name.value)
    if isinstance(value, NullValueNode):
        return None
    assert isinstance(value, IntValueNode)
    return int(value.value)


def list_length(field: SelectedField) -> Price:
    """Items of a list: as many as there are `ids`, 100 `holders`; else 1."""
    if field.name == "holders":
        return HOLDERS
    ids = next(
        (a.value for a in field.nodes[0].arguments if a.name.value == "ids"), None
    )
    if isinstance(ids, VariableNode):
        name = ids.name.value
        return lambda variables: max(1, len(variables.get(name) or ()))
    return max(1, len(ids.values)) if isinstance(ids, ListValueNode) else 1


def levels(field: SelectedField) -> Price:
    """The argument `depth`; what will be refused counts as the nearest."""
    default: int = field.definition.args["depth"].default_value
    node = next(
        (a.value for a in field.nodes[0].arguments if a.name.value == "depth"), None
    )

    def count(variables: Variables) -> int:
        given: int | None = None if node is None else read(node, variables)
        return min(max(default if given is None else given, 1), MAX_LEVELS)

    return count if isinstance(node, VariableNode) else count({})


def too_dear(price: int) -> MaxCostExceeded:
    maximum = settings.PARTNER_API_MAX_COST
    return MaxCostExceeded(
        f"The request costs {price} points; at most {maximum} are allowed. Ask for "
        "smaller pages, or fewer connections inside connections.",
        cost=price,
        maximum=maximum,
    )
