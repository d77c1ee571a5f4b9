from collections.abc import Callable
from typing import Any


def test_no_acknowledged_change_is_lost_with_the_primary(
    run: Callable[..., dict[str, Any]],
):
    # Where one is lost, the command ends with exit code 1.
    report = run("failovers", "--scale", "0.02")
    assert report["findings"]["keys"] == 400
    assert report["repeated"]["503 UNAVAILABLE"] > 0
    assert report["primary_killed"] == report["standby_killed"] == 2


def test_changes_are_lost_where_the_warning_is_not_heard(
    run: Callable[..., dict[str, Any]],
):
    # Where none is, the command ends with exit code 1.
    report = run("failovers", "--scale", "0.02", "--control")
    assert report["findings"]["lost"] + report["findings"]["with_two_answers"] > 0
