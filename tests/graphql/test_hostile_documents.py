"""Small documents made to be costly: each is refused or answered at a bounded cost.

`pytest tests/graphql/test_hostile_documents.py -rP` prints a table. The seconds that a
quiet machine takes are judged by `python -m tests.benchmarks.hostile_documents`.
"""

from collections.abc import Iterator

import pytest

from tests.characters import Ask, World
from tests.graphql.hostile import BODIES, LARGEST_BODY, cost, row, small_heap

MOST_YARDSTICKS = 35.0
"""Twice what the costliest takes, which is about 50 ms of a quiet machine."""


@pytest.fixture(scope="module", autouse=True)
def heap() -> Iterator[None]:
    with small_heap():
        yield


@pytest.mark.parametrize("name", BODIES)
def test_costs_a_bounded_number_of_yardsticks(name: str, world: World, stranger: Ask):
    assert len(BODIES[name]) <= LARGEST_BODY
    found = cost(BODIES[name], stranger)
    print(row(name, found))  # noqa: T201
    assert found.answer.status in (200, 400)
    codes = [e["extensions"]["code"] for e in found.answer.body.get("errors", ())]
    assert "INTERNAL_SERVER_ERROR" not in codes
    assert found.yardsticks <= MOST_YARDSTICKS
