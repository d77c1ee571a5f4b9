"""What each field of an operation costs, for partners who ask where the points go."""

from collections import Counter
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from partnerapi.graphql.cost import (
    Cost,
    OperationCost,
    Points,
    Variables,
    leaves_cost,
    multiplier,
    number_of_items,
)
from partnerapi.graphql.introspection import INTROSPECTION
from partnerapi.graphql.selections import SelectedField, Selection

Path = tuple[str, ...]

MOST_FOLLOWED = 200
"""Fields that are looked at to find the most costly ones."""
MOST_DEAREST = 10


def field_costs(selection: Selection, variables: Variables) -> Counter[Path]:
    """The points of each field by its path of response names; they add up to the cost.

    A field has its own points, as often as the lists above it have items, without those
    of the fields below it. Of an interface's types the costliest has fields here, as
    it alone is charged. The empty path has what scalars of the root cost.
    """
    costs = FieldCosts(variables)
    costs.add_selection(selection, (), 1)
    return costs.found


def dearest_fields(selection: Selection, variables: Variables) -> list[dict[str, Any]]:
    """The costliest fields of an operation that costs too much, each with its points.

    As `field_costs` tells them, of those that are found by following the most costly: a
    document may name more fields, by its fragments, than can be inspected.
    """
    costs = FieldCosts(variables)
    order = count()
    waiting: list[tuple[int, int, SelectedField, Path, int]] = [
        (-costs.points_of_field(field), next(order), field, (field.key,), 1)
        for field in costs.costliest(selection)
    ]
    heapify(waiting)
    for _ in range(MOST_FOLLOWED):
        if not waiting:
            break
        points, _, field, path, times = heappop(waiting)
        items = costs.items(field)
        below = costs.costliest(field.selection) if items and field.selection else []
        for inner in below:
            total = times * items * costs.points_of_field(inner)
            if total:
                found = (-total, next(order), inner, (*path, inner.key), times * items)
                heappush(waiting, found)
                points += total
        costs.add(path, -points)
    dearest = costs.found.most_common(MOST_DEAREST)
    return [{"path": ".".join(path), "points": points} for path, points in dearest]


class FieldCosts:
    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.counter = OperationCost(refuses=False)
        self.found: Counter[Path] = Counter()

    def value(self, points: Points) -> int:
        return points if isinstance(points, int) else points(self.variables)

    def costliest(self, selection: Selection) -> list[SelectedField]:
        """The fields on the type on which they cost the most."""
        by_type = [selection.fields(type_.name) for type_ in selection.types]
        return by_type[0] if len(by_type) == 1 else max(by_type, key=self.points_of)

    def add_selection(self, selection: Selection, path: Path, times: int) -> None:
        fields = self.costliest(selection)
        for field in fields:
            self.add_field(field, (*path, field.key), times)
        self.add(path, times * leaves_cost(fields))

    def add_field(self, field: SelectedField, path: Path, times: int) -> None:
        points = self.points_of_field(field)
        if not points:
            return
        items = self.items(field)
        if items:
            assert field.selection is not None
            below = self.value(self.counter.of_selection(field.selection)[0])
            self.add_selection(field.selection, path, times * items)
            points -= items * below
        self.add(path, times * points)

    def items(self, field: SelectedField) -> int:
        """How many times what is selected below a field is charged."""
        cost: Cost | None = field.definition.extensions.get("cost")
        if field.name in INTROSPECTION or cost is None or field.selection is None:
            return 0
        below = self.counter.of_selection(field.selection)[1]
        if cost.counts_items and not cost.points + below:
            return 0
        items = 1
        if cost.times:
            items = self.value(multiplier(field, cost.times, cost.most))
        if cost.counts_items:
            items *= self.value(number_of_items(field, cost))
        return items

    def points_of(self, fields: list[SelectedField]) -> int:
        return self.value(self.counter.of_fields(fields)[0])

    def points_of_field(self, field: SelectedField) -> int:
        # A counter adds up what all introspections answer: each has one of its own.
        counter = OperationCost() if field.name in INTROSPECTION else self.counter
        return self.value(counter.of_field(field)[0])

    def add(self, path: Path, points: int) -> None:
        if points:
            self.found[path] += points
