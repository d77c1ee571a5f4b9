from collections.abc import Callable
from typing import Any


def test_each_line_is_delivered_once_though_its_worker_is_killed(
    run: Callable[..., dict[str, Any]],
):
    report = run("deliveries", "--lines", "1000", "--kills", "3")
    # Where the machine is slow to look, the worker ends before the third.
    assert report["kills"] >= 1
    assert report["entries"] == report["delivered"] == report["skipped"] == 1_000
    assert (report["twice"], report["pending"], report["breaches"]) == (0, 0, 0)
    assert report["reloads"] >= 4
    assert report["disagreements"] == 0
