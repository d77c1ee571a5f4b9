from collections.abc import Callable
from typing import Any


def test_a_stopped_database_holds_nobody_and_costs_no_wrong_answer(
    run: Callable[..., dict[str, Any]],
):
    # How fast the answers come, the command judges on a quiet machine.
    faults = ("postgres_stopped", "read_only")
    report = run(
        "outages", "--seconds", "4", "--max-seconds", "2", "--busy", "--faults", *faults
    )
    usual, stopped, read_only = report["outcomes"]
    assert usual["codes"]["200"] > 0
    assert {"503 UNAVAILABLE", "503 page"} <= stopped["codes"].keys()
    # Reading goes on where nothing can be written.
    assert read_only["codes"].keys() == {"200", "503 UNAVAILABLE", "404 page"}
    assert read_only["codes"]["200"] > 10
