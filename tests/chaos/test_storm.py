from collections.abc import Callable
from typing import Any

KEPT = {
    "twice": 0,
    "lost": 0,
    "with_two_answers": 0,
    "out_of_order": 0,
    "other_than_answered": 0,
}


def test_no_storm_makes_a_mutation_happen_twice(run: Callable[..., dict[str, Any]]):
    report = run("storm", "--scale", "0.014")
    counts = {"keys": 70, "rows": 70, "kept": 70}
    assert report["findings"] == counts | KEPT
    assert report["requests"] == 1_400
    assert (report["killed_workers"], report["killed_masters"]) == (3, 1)
    assert report["database_restarts"] == 1
    assert report["control_doubled"] >= report["control_keys"] / 100


def test_no_crash_of_the_database_loses_what_was_answered(
    run: Callable[..., dict[str, Any]],
):
    report = run("crashes", "--crashes", "2")
    assert report["crashes"] == 2
    assert report["acknowledged"] >= 100
    assert report["missing"] == 0
    assert report["findings"] == {"keys": 200, "rows": 200, "kept": 200} | KEPT


def test_a_killed_client_frees_its_key_soon(run: Callable[..., dict[str, Any]]):
    # How soon, the command judges on a quiet machine: here before it lets go itself.
    report = run("killed_client", "--rounds", "6", "--busy")
    assert report["findings"] == {"keys": 6, "rows": 6, "kept": 6} | KEPT
    assert len(report["idle"]) == len(report["busy"]) == 3
