from collections.abc import Callable
from typing import Any

Run = Callable[..., dict[str, Any]]
KEPT = {
    "wrong": 0,
    "other_logs": 0,
    "lost_without_an_end": 0,
    "tracebacks": 0,
    "examples": [],
}


def test_no_fault_makes_a_client_hold_another_book(run: Run):
    report = run("fix_histories", "--histories", "50")
    assert {name: report[name] for name in KEPT} == KEPT
    assert report["histories"] == 50
    assert report["books"] >= 50
    assert report["trades"] >= 200


def test_each_state_of_a_client_is_one_of_the_log(run: Run):
    report = run("fix_truth", "--states", "1500")
    none = {"wrong": 0, "wrong_instants": 0, "tracebacks": 0}
    assert {name: report[name] for name in none} == none
    assert report["examples"] == report["unreached"] == []
    assert report["states"] >= 1500
    assert report["instants"] >= 12
    assert report["done"]["gaps"] >= 10
    # Three conflations, four depths.
    assert len(report["by"]) == 12


def test_no_message_harms_the_acceptor(run: Run):
    # Pauses of the other sessions the command judges on a quiet machine.
    report = run("fix_mutations", "--messages", "400", "--parsed", "2000", "--busy")
    none = ("leaks", "failures", "secrets", "tracebacks")
    assert {name: report[name] for name in none} == dict.fromkeys(none, [])
    assert report["messages"] >= 360
    assert report["parsed"]["deaths"] == []
    assert report["parsed"]["messages"] == 2000
    assert report["parsed"]["came_of"]["35=3"] >= 100
    assert report["grown_megabytes"] <= 50
    assert report["storm"]["wrong"] == []
    # Five sessions, each of which hears of five books again and again.
    assert report["storm"]["messages"] >= 100
