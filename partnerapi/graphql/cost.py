"""What an operation costs, in points, by the costs that its fields declare.

A request is charged its cost, and refused above PARTNER_API_MAX_COST.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import graphene
from django.conf import settings
from graphene.types.definitions import GrapheneObjectType
from graphene.utils.str_converters import to_camel_case
from graphql import (
    GraphQLField,
    GraphQLSchema,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ValueNode,
    VariableNode,
    get_named_type,
    is_composite_type,
    is_list_type,
    is_wrapping_type,
)

from partnerapi.core.errors import MaxCostExceeded
from partnerapi.graphql.introspection import (
    FIELDS_PER_POINT,
    INTROSPECTION,
    Introspection,
)
from partnerapi.graphql.pages import NESTED_PAGE_SIZE, ROOT_PAGE_SIZE
from partnerapi.graphql.selections import SelectedField, Selection

INTROSPECTION_COST = 100
"""Least points of a `__schema` or `__type`."""
ROOT_COUNT_COST = 20
"""Points of a `totalCount` at the root: it counts a whole table."""
FREE_LEAVES = 25
"""Scalars that an object answers without a point of their own."""
LEAVES_PER_POINT = 15
ITEMS_PER_POINT = 4
"""Items beyond Cost.beyond that count as one more."""


@dataclass(frozen=True, slots=True)
class Known:
    """The sizes of lists, known before a read: no list is read only to be refused.

    sizes: returns how many items the list of each parent has.
    instead: the remedy where they cost too much, for partners.
    """

    sizes: Callable[[list[Any]], list[int]]
    instead: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one field: for each item, its points and the selection below it.

    The default cost of an object is 1 point in addition to its fields. Scalars and
    lists of scalars cost nothing. A list of objects declares how many items it counts
    as, and costs at least 1 point.

    points: of an item, without the selection below it.
    items: how many items a list counts as, where no argument gives the number.
    length: the argument, a list, that is as long as the answer.
    page: whether `first` and `last` give the number of items.
    follows: the argument that restricts a page to later changes. Requested rows that
        do not exist are refunded.
    times: the argument, a number, that multiplies the selection below an item;
        without it and without a default, `most`.
    most: the largest value of `times` that counts.
    statements: whether it takes its own statements, however little they read. An
        object from a resolver does, where no cost is declared.
    most_below: the most points that the selection below it may cost.
    most_statements: the most fields below it that may take their own statements.
    beyond: above this number, every four items count as one more, once the number of
        items is known.
    known: gives that number before the read. A cost above a request's limit is refused.
    """

    points: int = 1
    items: int | None = None
    length: str | None = None
    page: bool = False
    follows: str | None = None
    times: str | None = None
    most: int = 0
    beyond: int | None = None
    known: Known | None = None
    statements: bool = False
    most_below: int | None = None
    most_statements: int | None = None

    @property
    def counts_items(self) -> bool:
        return self.page or self.items is not None or self.length is not None


class Field(graphene.Field):
    """A field that declares its cost."""

    def __init__(self, *arguments: Any, cost: Cost, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cost = cost


OBJECT = Cost()
FOUND = Cost(statements=True)
"""An object that a resolver finds."""
FIGURE = Cost(points=0, statements=True)
"""A scalar that is no column of its object."""
MUTATION = Cost(points=75)
"""A mutation: its record and its locks, which a refused or tried one has, too."""


def set_costs(schema: GraphQLSchema) -> None:
    """Keep each field's cost as `cost` in its extensions; a free field has none.

    Raises:
        TypeError: a list of objects, a connection or a mutation declares no cost,
            or a cost is below nothing or names arguments that cannot tell it.
    """
    for type_ in schema.type_map.values():
        if not isinstance(type_, GrapheneObjectType):
            continue
        declared = {
            field.name or to_camel_case(name): field.cost
            for name, field in type_.graphene_type._meta.fields.items()
            if hasattr(field, "cost")
        }
        is_mutation = type_ is schema.mutation_type
        for name, field in type_.fields.items():
            cost = declared.get(name)
            if wrong := error_of(cost, field, is_mutation):
                raise TypeError(f"{type_.name}.{name} {wrong}.")
            if cost is None and is_composite_type(get_named_type(field.type)):
                cost = FOUND if "batch" in field.extensions else OBJECT
            if cost is not None:
                field.extensions["cost"] = cost


def error_of(cost: Cost | None, field: GraphQLField, is_mutation: bool) -> str | None:
    """What is wrong with the cost that a field declares, or does not declare."""
    named = get_named_type(field.type)
    if is_connection(named):
        if cost is None or not cost.page:
            return "answers a connection: it needs connection_field(…)"
    elif (
        is_composite_type(named)
        and holds_list(field.type)
        and (cost is None or not cost.counts_items)
    ):
        return (
            "lists objects: say how many they count as, Field(…, "
            "cost=Cost(items=100)), or which argument is as long, cost=Cost(length=…)"
        )
    if cost is None:
        mutation = "is a mutation: it needs Field(…, cost=MUTATION)"
        return mutation if is_mutation else None
    if cost.times and cost.most < 1:
        return f"costs `{cost.times}` times as much: say up to how many, most=…"
    wanted = {name for name in (cost.length, cost.times, cost.follows) if name}
    wanted |= {"first", "last"} if cost.page else set()
    if missing := wanted - field.args.keys():
        return f"costs by an argument that it does not have: {', '.join(missing)}"
    types = {name: str(a.type).rstrip("!") for name, a in field.args.items()}
    if cost.length and not types[cost.length].startswith("["):
        return f"has the length of `{cost.length}`, which is not a list"
    if cost.times and types[cost.times] != "Int":
        return f"costs `{cost.times}` times as much, which is not an Int"
    if cost.points < 0 or (cost.items is not None and cost.items < 1):
        return "costs too little: points=… is 0 or more, items=… is 1 or more"
    return None


def is_connection(type_: Any) -> bool:
    graphene_type = getattr(type_, "graphene_type", object)
    return issubclass(graphene_type, graphene.relay.Connection)


def holds_list(type_: Any) -> bool:
    while is_wrapping_type(type_):
        if is_list_type(type_):
            return True
        type_ = type_.of_type
    return False


Variables = Mapping[str, Any]
Points = int | Callable[[Variables], int]
"""A number of points, or what gives it for an operation's variables."""


class OperationCost:
    """Counts what an operation costs, as a function of its variables.

    Of an interface's types the costliest counts. `refuses`: what is selected below a
    field that bounds it, such as a mutation, and costs more.
    """

    def __init__(self, refuses: bool = True) -> None:
        self.refuses = refuses
        self.counted: dict[int, tuple[Points, int]] = {}
        self.introspection = Introspection()

    def points(self, selection: Selection) -> Points:
        """The points of a root selection.

        Raises:
            MaxCostExceeded: too costly with any variables.
        """
        points, least = self.of_selection(selection)
        if least > settings.PARTNER_API_MAX_COST:
            raise too_costly(least)
        return points

    def of_selection(self, selection: Selection) -> tuple[Points, int]:
        """The points of the fields on the costliest type, and the least they can be."""
        known = self.counted.get(id(selection))
        if known is None:
            by_type = [
                self.of_fields(selection.fields(type_.name))
                for type_ in selection.types
            ]
            known = self.counted[id(selection)] = costliest(by_type)
        return known

    def of_fields(self, fields: list[SelectedField]) -> tuple[Points, int]:
        leaves = leaves_cost(fields)
        return add([(leaves, leaves), *map(self.of_field, fields)])

    def of_field(self, field: SelectedField) -> tuple[Points, int]:
        if field.name in INTROSPECTION:
            before = self.introspection.fields
            self.introspection.add(field)
            answered = self.introspection.fields - before
            points = max(INTROSPECTION_COST, answered // FIELDS_PER_POINT)
            return points, points
        cost: Cost | None = field.definition.extensions.get("cost")
        if cost is None:
            return 0, 0
        below: tuple[Points, int] = (0, 0)
        if field.selection is not None:
            below = self.of_selection(field.selection)
        if cost.times:
            below = times(multiplier(field, cost.times, cost.most), below)
        if cost.most_below is not None and self.refuses:
            below = limit_points(below, cost.most_below, field.name)
        item = add([(cost.points, cost.points), below])
        if not cost.counts_items:
            return item
        count = count_cost(field) if cost.page else 0
        if not item[1]:
            return max(1, count), max(1, count)
        return add([times(number_of_items(field, cost), item), (count, count)])


def limit_points(below: tuple[Points, int], most: int, name: str) -> tuple[Points, int]:
    """The same points; MaxCostExceeded where they are more, with these variables."""
    points, least = below

    def check(points: int) -> int:
        if points > most:
            raise MaxCostExceeded(
                f"What is selected of `{name}` costs {points} points; at most {most} "
                "are allowed, because others wait meanwhile. Select the rest in a "
                "query.",
                cost=points,
                maximum=most,
            )
        return points

    if isinstance(points, int):
        return check(points), least
    check(least)
    return lambda variables: check(points(variables)), least


def leaves_cost(fields: list[SelectedField]) -> int:
    """What the scalars of one object cost."""
    leaves = sum(1 for field in fields if field.selection is None)
    return max(0, -((FREE_LEAVES - leaves) // LEAVES_PER_POINT))


def count_cost(field: SelectedField) -> int:
    """The cost of a connection's `totalCount`, in addition to its page."""
    assert field.selection is not None
    at_root = field.parent is field.selection.source.schema.query_type
    return ROOT_COUNT_COST * (at_root and field.selection.selects("totalCount"))


def rest_of(
    field: SelectedField,
) -> "Callable[[list[int], Variables], int] | None":
    """A function from the lengths of a column of lists to what they cost more."""
    cost: Cost | None = field.definition.extensions.get("cost")
    if cost is None or cost.beyond is None or field.selection is None:
        return None
    free = cost.beyond
    below = OperationCost().of_selection(field.selection)
    item = add([(cost.points, cost.points), below])[0]

    def rest(lengths: list[int], variables: Variables) -> int:
        more = sum(max(0, -((free - n) // ITEMS_PER_POINT)) for n in lengths)
        return more * (item if isinstance(item, int) else item(variables))

    return rest


def rows_asked(field: SelectedField, variables: Variables) -> tuple[int, int]:
    """How many rows a page is priced for, and what one of them costs."""
    assert field.selection is not None
    numbers = page_size(field), OperationCost().of_selection(field.selection)[0]
    size, row = (n if isinstance(n, int) else n(variables) for n in numbers)
    return size, row


def add(costs: list[tuple[Points, int]]) -> tuple[Points, int]:
    constant = sum(points for points, _ in costs if isinstance(points, int))
    functions = [points for points, _ in costs if not isinstance(points, int)]
    least = sum(minimum for _, minimum in costs)
    if not functions:
        return constant, least
    return lambda variables: constant + sum(f(variables) for f in functions), least


def costliest(costs: list[tuple[Points, int]]) -> tuple[Points, int]:
    if len(costs) == 1:
        return costs[0]
    constant = max(points if isinstance(points, int) else 0 for points, _ in costs)
    functions = [points for points, _ in costs if not isinstance(points, int)]
    least = max(minimum for _, minimum in costs)
    if not functions:
        return constant, least
    return lambda variables: max(constant, *(f(variables) for f in functions)), least


def times(count: Points, cost: tuple[Points, int]) -> tuple[Points, int]:
    each, least = cost
    if isinstance(count, int):
        if isinstance(each, int):
            return count * each, count * least
        return lambda variables: count * each(variables), count * least
    if isinstance(each, int):
        return lambda variables: count(variables) * each, least
    return lambda variables: count(variables) * each(variables), least


def number_of_items(field: SelectedField, cost: Cost) -> Points:
    if cost.page:
        return page_size(field)
    if cost.length is not None:
        return length(field, cost.length)
    assert cost.items is not None
    return cost.items


def page_size(field: SelectedField) -> Points:
    """Rows that a connection reads; sizes that will be refused count as the nearest."""
    assert field.selection is not None
    is_root = field.parent is field.selection.source.schema.query_type
    default = ROOT_PAGE_SIZE if is_root else NESTED_PAGE_SIZE
    maximum = settings.PARTNER_API_MAX_PAGE_SIZE
    given = [argument_of(field, name) for name in ("first", "last")]
    sizes = [size for size in given if size is not None]
    if not any(isinstance(size, VariableNode) for size in sizes):
        numbers = [value_of(size, {}) for size in sizes]
        return clamp(numbers, default, maximum)
    return lambda variables: clamp(
        [value_of(size, variables) for size in sizes], default, maximum
    )


def clamp(sizes: list[int | None], default: int, maximum: int) -> int:
    size = next((size for size in sizes if size is not None), default)
    return min(max(size, 1), maximum)


def length(field: SelectedField, argument: str) -> Points:
    """Items of the list that an argument holds, at least 1."""
    default = field.definition.args[argument].default_value
    usual = len(default) if isinstance(default, list) else 1

    def count(items: list[Any] | None) -> int:
        return usual if items is None else max(1, len(items))

    given = argument_of(field, argument)
    if isinstance(given, VariableNode):
        return lambda variables: count(value_of(given, variables))
    if isinstance(given, ListValueNode):
        return max(1, len(given.values))
    # A literal that is no list is a list of itself.
    return usual if given is None or isinstance(given, NullValueNode) else 1


def multiplier(field: SelectedField, argument: str, most: int) -> Points:
    """A number from 1 to `most`; what will be refused counts as the nearest."""
    default = field.definition.args[argument].default_value
    # Without a default, the resolver decides: it may take the most.
    usual: int = default if isinstance(default, int) else most
    given = argument_of(field, argument)
    if isinstance(given, VariableNode):
        return lambda variables: clamp([value_of(given, variables)], usual, most)
    return clamp([None if given is None else value_of(given, {})], usual, most)


def argument_of(field: SelectedField, name: str) -> ValueNode | None:
    return next(
        (a.value for a in field.nodes[0].arguments if a.name.value == name), None
    )


def value_of(value: ValueNode, variables: Variables) -> Any:
    if isinstance(value, VariableNode):
        return variables.get(value.name.value)
    if isinstance(value, NullValueNode):
        return None
    assert isinstance(value, IntValueNode)
    return int(value.value)


def too_costly(points: int) -> MaxCostExceeded:
    maximum = settings.PARTNER_API_MAX_COST
    return MaxCostExceeded(
        f"The request costs {points} points; at most {maximum} are allowed. Request "
        "smaller pages, or fewer connections inside connections.",
        cost=points,
        maximum=maximum,
    )
