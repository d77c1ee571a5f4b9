"""What the statements of an operation cost at least, however little they read."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.conf import settings

from partnerapi.core.errors import MaxCostExceeded
from partnerapi.graphql.cost import Cost, count_cost, too_costly
from partnerapi.graphql.introspection import INTROSPECTION
from partnerapi.graphql.selections import SelectedField, Selection

STATEMENT_COST = 10
"""Points of a field at the root, and of each below it but one that has a statement."""
NARROWING_COST = 30
"""Points of an argument that narrows a list at the root, such as `search`."""
MOST_LOOKUPS = 10
"""Fields that a refusal names."""
PAGE_ARGUMENTS = {"first", "last", "before", "after"}


def least_points(selection: Selection) -> int:
    """What the statements of a root selection cost, however little they read.

    Raises:
        MaxCostExceeded: those below the root cost more than one request may.
    """
    points = 0
    known: dict[int, int] = {}
    below = 0
    for field in selection.fields(selection.type.name):
        if field.definition.extensions:
            points += STATEMENT_COST
        if is_connection_field(field):
            points += NARROWING_COST * count_narrowing(field) + count_cost(field)
        if field.selection and field.name not in INTROSPECTION:
            statements = count_statements(field.selection, known)
            check_statements(field, statements)
            below += statements
    lists = STATEMENT_COST * max(0, below - 1)
    if lists > settings.PARTNER_API_MAX_COST:
        refused = too_costly(lists)
        refused.details["fields"] = lookups_below(selection, known)
        raise refused
    return points + lists


def check_statements(field: SelectedField, count: int) -> None:
    """Refuse a root field below which too many fields take statements.

    Raises:
        MaxCostExceeded
    """
    cost: Cost | None = field.definition.extensions.get("cost")
    if cost is None or cost.most_statements is None or count <= cost.most_statements:
        return
    assert field.selection is not None
    raise MaxCostExceeded(
        f"The selection of `{field.name}` has {count} connections, totals and "
        f"objects; at most {cost.most_statements} are allowed, because others wait "
        "meanwhile. Select the rest in a query.",
        lookups=count,
        maximum=cost.most_statements,
        fields=lookups_below(field.selection, {}, (field.key,)),
    )


def lookups_below(
    selection: Selection, known: dict[int, int], path: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """The first fields of a selection that take statements, each with its points."""
    found = islice(lookups(selection, known, path), MOST_LOOKUPS)
    return [{"path": ".".join(p), "points": STATEMENT_COST} for p in found]


def lookups(
    selection: Selection, known: dict[int, int], path: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    if not count_statements(selection, known):
        return
    for type_ in selection.types:
        for field in selection.fields(type_.name):
            below = (*path, field.key)
            if takes_statements(field):
                yield below
            if is_counted(field):
                yield (*below, "totalCount")
            if field.selection and field.name not in INTROSPECTION:
                yield from lookups(field.selection, known, below)


def takes_statements(field: SelectedField) -> bool:
    cost: Cost | None = field.definition.extensions.get("cost")
    return cost is not None and (cost.page or cost.statements)


def is_counted(field: SelectedField) -> bool:
    return (
        is_connection_field(field)
        and field.selection is not None
        and field.selection.selects("totalCount")
    )


def count_statements(selection: Selection, known: dict[int, int]) -> int:
    """How many statements fields of a selection take, and those below them.

    What a fragment brings to several places is resolved in each of them. `known` keeps
    the numbers by the selections' identities.
    """
    count = known.get(id(selection))
    if count is None:
        fields = [f for t in selection.types for f in selection.fields(t.name)]
        inner = [
            f.selection for f in fields if f.selection and f.name not in INTROSPECTION
        ]
        count = sum(map(takes_statements, fields))
        # A total is one more of its list's.
        count += sum(is_counted(f) for f in fields)
        count += sum(count_statements(each, known) for each in inner)
        known[id(selection)] = count
    return count


def is_connection_field(field: SelectedField) -> bool:
    cost: Cost | None = field.definition.extensions.get("cost")
    return cost is not None and cost.page


def count_narrowing(field: SelectedField) -> int:
    """How many arguments of a connection say which of its rows are wanted."""
    names = {argument.name.value for argument in field.nodes[0].arguments}
    return len(names - PAGE_ARGUMENTS)
