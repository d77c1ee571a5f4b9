from collections.abc import Callable
from typing import Any

KEPT = {
    "other_numbers": 0,
    "other_books": 0,
    "other_journals": 0,
    "other_trades": 0,
}


def test_no_fault_makes_a_book_another_one(run: Callable[..., dict[str, Any]]):
    report = run("books", "--histories", "60")
    assert {name: report[name] for name in KEPT} == KEPT
    assert report["histories"] == 60
    assert report["calls"] >= 600
    # So many histories have each of these, whatever the dice say.
    faults = ("writers_killed", "feeds_killed", "redis_killed", "pruned")
    assert min(report[name] for name in faults) > 0
