"""Which fields of an operation cost the most, for partners who ask."""

from heapq import heappop, heappush
from itertools import count
from typing import Any

from partnerapi.graphql.cost import (
    READ,
    Cost,
    OperationCost,
    Variables,
    number_of_items,
    own_objects,
    own_points,
    value_of,
)
from partnerapi.graphql.introspection import INTROSPECTION
from partnerapi.graphql.selections import Selection

MOST_FOLLOWED = 200
"""Fields that are looked at to find the most costly ones."""
MOST_DEAREST = 10


def dearest_fields(selection: Selection, variables: Variables) -> list[dict[str, Any]]:
    """The costliest fields, each with its points without those of the fields below it.

    They are found by following the most costly: a document may name more fields, by
    its fragments, than can be inspected.
    """
    counter, order = OperationCost(), count()
    found: list[tuple[int, str]] = []
    waiting: list[tuple[int, int, Any, str, int]] = []

    def follow(below: Selection, path: str, times: int) -> None:
        for field in (f for t in below.types for f in below.fields(t.name)):
            is_own = field.name not in INTROSPECTION
            once, objects = counter.of_field(field) if is_own else (READ, 0)
            points = once + times * value_of(objects, variables)
            if points:
                entry = (-points, next(order), field, path + field.key, times)
                heappush(waiting, entry)

    follow(selection, "", 1)
    for _ in range(MOST_FOLLOWED):
        if not waiting:
            break
        _, _, field, path, times = heappop(waiting)
        if field.name in INTROSPECTION:
            found.append((READ, path))
            continue
        cost: Cost = field.definition.extensions["cost"]
        times *= value_of(number_of_items(field, cost, False), variables)
        found.append((own_points(cost) + times * own_objects(field), path))
        if field.selection is not None:
            follow(field.selection, f"{path}.", times)
    dearest = sorted((f for f in found if f[0]), key=lambda f: -f[0])[:MOST_DEAREST]
    return [{"path": path, "points": points} for points, path in dearest]
