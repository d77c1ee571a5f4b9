from collections.abc import Callable
from typing import Any


def test_each_line_is_delivered_once_though_its_worker_is_killed(
    run: Callable[..., dict[str, Any]],
):
    report = run("deliveries", "--lines", "1000", "--kills", "3")
    assert report["kills"] == 3
    assert report["entries"] == report["delivered"] == report["skipped"] == 1_000
    assert (report["twice"], report["pending"], report["breaches"]) == (0, 0, 0)
    assert report["reloads"] > 6
    assert report["disagreements"] == 0
