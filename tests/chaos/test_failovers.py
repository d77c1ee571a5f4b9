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
