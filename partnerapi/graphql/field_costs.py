"""What each field of an operation costs, for partners who ask where the points go."""

from collections import Counter

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


def field_costs(selection: Selection, variables: Variables) -> Counter[Path]:
    """The points of each field by its path of response names; they add up to the cost.

    A field has its own points, as often as the lists above it have items, without those
    of the fields below it. Of an interface's types the costliest has fields here, as
    it alone is charged. The empty path has what scalars of the root cost.
    """
    costs = FieldCosts(variables)
    costs.add_selection(selection, (), 1)
    return costs.found


class FieldCosts:
    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.counter = OperationCost()
        self.found: Counter[Path] = Counter()

    def value(self, points: Points) -> int:
        return points if isinstance(points, int) else points(self.variables)

    def add_selection(self, selection: Selection, path: Path, times: int) -> None:
        by_type = [selection.fields(type_.name) for type_ in selection.types]
        fields = by_type[0] if len(by_type) == 1 else max(by_type, key=self.points_of)
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
