from collections.abc import Callable
from typing import Any

KEPT = {
    "other_numbers": 0,
    "other_books": 0,
    "other_journals": 0,
    "other_trades": 0,
}


def test_no_fault_makes_a_book_another_one(run: Callable[..., dict[str, Any]]):
    report = run("books", "--histories", "40")
    assert {name: report[name] for name in KEPT} == KEPT
    assert report["histories"] == 40
    assert report["calls"] >= 600
    # Each twenty end with one.
    faults = ("feeds_killed", "feeds_put_to_sleep", "redis_killed", "pruned")
    assert sum(report[name] for name in faults) >= 2
