from collections.abc import Callable
from typing import Any


def test_a_killed_clock_leaves_out_no_phase_and_repeats_none(
    run: Callable[..., dict[str, Any]],
):
    report = run("clocks", "--kills", "12")
    assert report["wrong"] == []
    assert (report["rounds"], report["kills"]) == (8, 12)
    assert report["orders"] > 0
    assert report["answers_with_ends"] > 0
