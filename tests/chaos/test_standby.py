from collections.abc import Callable
from typing import Any


def test_a_standby_answers_beside_the_primary_and_in_its_place(
    run: Callable[..., dict[str, Any]],
):
    # Where a claim does not hold, the command ends with exit code 1.
    report = run("standby")
    assert len(report["claims"]) == 14
    assert report["outage"].keys() == {"200"}
