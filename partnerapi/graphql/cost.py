"""What an operation costs, in points: six rules.

1. An object costs 1, a scalar nothing.
2. A list costs its items: those asked for are held back, those not answered given back.
3. A field that reads something of its own costs READ in each place, for all its rows.
4. A mutation costs MUTATION; a check, or a mutation that is only tried, CHECK.
5. A total costs TOTAL.
6. Each started kilobyte of a body beyond the first two costs 1 (`gateway.bills`).

Nothing costs less than LEAST, but a page of changes that is empty: EMPTY.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import graphene
from django.conf import settings
from graphene.types.definitions import GrapheneObjectType
from graphene.utils.str_converters import to_camel_case
from graphql import (
    GraphQLField,
    GraphQLSchema,
    ListValueNode,
    VariableNode,
    get_named_type,
    is_composite_type,
    is_list_type,
    is_wrapping_type,
    value_from_ast_untyped,
)

from partnerapi.core.errors import MaxCostExceeded
from partnerapi.graphql.introspection import INTROSPECTION, Introspection
from partnerapi.graphql.pages import NESTED_PAGE_SIZE, ROOT_PAGE_SIZE
from partnerapi.graphql.selections import SelectedField, Selection

READ, TOTAL, CHECK_POINTS, MUTATION_POINTS = 10, 10, 100, 150
LEAST, EMPTY = 10, 1


@dataclass(frozen=True, slots=True)
class Counter:
    """The sizes of lists, known before a read: no list is read only to be refused.

    sizes: returns how many items the list of each parent has.
    instead: the remedy where they cost too much, for partners.
    """

    sizes: Callable[[list[Any]], list[int]]
    instead: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one field, without the selection below it.

    points: of the field, however many items it has.
    reads: whether it reads something of its own. An object from a resolver does, where
        no cost is declared.
    page: whether `first` and `last` give the number of items.
    length: the argument, a list, that is as long as the answer.
    most: the most items of a list whose number no argument gives; None: any number.
    counter: gives the number of such a list before it is read.
    follows: the argument that restricts a page to later changes.
    most_below: the most points that the selection below it may cost.
    """

    points: int = 0
    reads: bool = False
    page: bool = False
    length: str | None = None
    most: int | None = None
    counter: Counter | None = None
    follows: str | None = None
    most_below: int | None = None


class Field(graphene.Field):
    """A field that declares its cost."""

    def __init__(self, *arguments: Any, cost: Cost, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cost = cost


OBJECT = Cost()
LIST = Cost()
"""A list of objects that its object brings with it."""
FOUND = Cost(reads=True)
"""An object, a list or a scalar that a resolver finds."""
CHECK = Cost(points=CHECK_POINTS)
MUTATION = Cost(points=MUTATION_POINTS)
COUNTED = Cost(points=TOTAL)


def set_costs(schema: GraphQLSchema) -> None:
    """Keep each field's cost as `cost` in its extensions; a free field has none.

    Types whose objects cost nothing, as they are no objects of the trade, are `free`
    in theirs: connections, edges, PageInfo and the roots.

    Raises:
        TypeError: a list of objects, a connection or a mutation declares no cost, or a
            cost names an argument that cannot tell it.
    """
    free = [schema.query_type, schema.mutation_type]
    for type_ in schema.type_map.values():
        if not isinstance(type_, GrapheneObjectType):
            continue
        if is_connection(type_):
            edges, info = (type_.fields[name].type for name in ("edges", "pageInfo"))
            free += [type_, get_named_type(edges), get_named_type(info)]
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
    for type_ in filter(None, free):
        type_.extensions["free"] = True


def error_of(cost: Cost | None, field: GraphQLField, is_mutation: bool) -> str | None:
    """What is wrong with the cost that a field declares, or does not declare."""
    named = get_named_type(field.type)
    if is_connection(named) and (cost is None or not cost.page):
        return "answers a connection: it needs connection_field(…)"
    if cost is None:
        if is_mutation:
            return "is a mutation: it needs Field(…, cost=MUTATION)"
        if is_composite_type(named) and holds_list(field.type):
            return "lists objects: say what it costs, such as Field(…, cost=LIST)"
        return None
    if cost.points < 0:
        return "costs less than nothing"
    wanted = {name for name in (cost.length, cost.follows) if name}
    wanted |= {"first", "last"} if cost.page else set()
    if missing := wanted - field.args.keys():
        return f"costs by an argument that it does not have: {', '.join(missing)}"
    if cost.length and not holds_list(field.args[cost.length].type):
        return f"has the length of `{cost.length}`, which is not a list"
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
Price = tuple[int, Points]
"""What the fields cost once, and what the objects cost."""
NOTHING: Price = (0, 0)


def value_of(points: Points, variables: Variables) -> int:
    return points if isinstance(points, int) else points(variables)


def combine(join: Callable[[list[int]], int], parts: Sequence[Points]) -> Points:
    known = [part for part in parts if isinstance(part, int)]
    if len(known) == len(parts):
        return join(known)
    return lambda variables: join([value_of(part, variables) for part in parts])


class OperationCost:
    """Counts what an operation costs at most, as a function of its variables.

    A list whose number no argument gives counts as one item: more are counted when
    their number is known. With `bounded` it counts as its most, or as a request's.
    """

    def __init__(self, bounded: bool = False) -> None:
        self.bounded = bounded
        self.counted: dict[int, Price] = {}
        self.introspection = Introspection()

    def of_selection(self, selection: Selection) -> Price:
        """Of an interface's types the one with the most objects counts.

        Raises:
            MaxCostExceeded: an introspection answers too much.
        """
        known = self.counted.get(id(selection))
        if known is None:
            by_type = [
                [self.of_field(field) for field in selection.fields(type_.name)]
                for type_ in selection.types
            ]
            known = self.counted[id(selection)] = (
                sum(once for prices in by_type for once, _ in prices),
                combine(
                    max,
                    [combine(sum, [objects for _, objects in p]) for p in by_type],
                ),
            )
        return known

    def of_field(self, field: SelectedField) -> Price:
        if field.name in INTROSPECTION:
            self.introspection.add(field)
            return READ, 0
        cost: Cost | None = field.definition.extensions.get("cost")
        if cost is None:
            return NOTHING
        below: Price = NOTHING
        if field.selection is not None:
            below = self.of_selection(field.selection)
        objects = combine(sum, [own_objects(field), below[1]])
        items = number_of_items(field, cost, self.bounded)
        return own_points(cost) + below[0], combine(prod, [items, objects])


def own_points(cost: Cost) -> int:
    return cost.points + READ * cost.reads


def own_objects(field: SelectedField) -> int:
    """1 for an object, and for each item of a list of objects."""
    if field.selection is None:
        return 0
    return 0 if field.selection.is_free else 1


class Bounded(NamedTuple):
    """A root field whose selection may cost `most` points, and what it costs."""

    name: str
    most: int
    price: Price

    def check(self, variables: Variables) -> None:
        """Refuse a selection that costs more.

        Raises:
            MaxCostExceeded
        """
        once, objects = self.price
        points = once + value_of(objects, variables)
        if points > self.most:
            raise MaxCostExceeded(
                f"What is selected of `{self.name}` costs {points} points; at most "
                f"{self.most} are allowed, because others wait meanwhile. Select the "
                "rest in a query.",
                cost=points,
                maximum=self.most,
            )


def bounded_fields(selection: Selection) -> list[Bounded]:
    return [
        Bounded(
            field.name, cost.most_below, OperationCost().of_selection(field.selection)
        )
        for field in selection.fields(selection.type.name)
        if (cost := field.definition.extensions.get("cost")) is not None
        and cost.most_below is not None
        and field.selection is not None
    ]


def number_of_items(field: SelectedField, cost: Cost, bounded: bool) -> Points:
    """Items that a field answers at most; 1 for an object."""
    if cost.page:
        is_root = field.selection is not None and (
            field.parent is field.selection.source.schema.query_type
        )
        return page_size(field, ROOT_PAGE_SIZE if is_root else NESTED_PAGE_SIZE)
    if cost.length is not None:
        return length(field, cost.length)
    if bounded and is_open_list(field):
        return settings.PARTNER_API_MAX_COST if cost.most is None else cost.most
    return 1


def is_open_list(field: SelectedField) -> bool:
    """Whether it is a list of objects whose number no argument gives."""
    cost: Cost | None = field.definition.extensions.get("cost")
    return (
        cost is not None
        and field.selection is not None
        and not cost.length
        and holds_list(field.definition.type)
        and not is_connection(field.parent)
    )


def page_size(field: SelectedField, default: int) -> Points:
    """Rows that a connection reads; sizes that will be refused count as the nearest."""
    first, last = (argument_of(field, name) for name in ("first", "last"))

    def size(variables: Variables) -> int:
        given = (value_from_ast_untyped(n, dict(variables)) for n in (first, last) if n)
        rows = next((n for n in given if isinstance(n, int)), default)
        return min(max(rows, 1), settings.PARTNER_API_MAX_PAGE_SIZE)

    has_variable = any(isinstance(node, VariableNode) for node in (first, last))
    return size if has_variable else size({})


def length(field: SelectedField, argument: str) -> Points:
    """Items of the list that an argument holds, at least 1."""
    given = argument_of(field, argument)
    if isinstance(given, VariableNode):
        name = given.name.value
        return lambda variables: max(1, len(variables.get(name) or ()))
    # A literal that is no list is a list of itself.
    return max(1, len(given.values)) if isinstance(given, ListValueNode) else 1


def argument_of(field: SelectedField, name: str) -> Any:
    return next(
        (a.value for a in field.nodes[0].arguments if a.name.value == name), None
    )


def too_costly(points: int) -> MaxCostExceeded:
    maximum = settings.PARTNER_API_MAX_COST
    return MaxCostExceeded(
        f"The request costs {points} points; at most {maximum} are allowed. Request "
        "smaller pages, or fewer connections inside connections.",
        cost=points,
        maximum=maximum,
    )
