from collections.abc import Callable
from typing import Any


def test_nobody_notices_a_restart_and_what_is_killed_comes_back(
    run: Callable[..., dict[str, Any]],
):
    # How long anything takes, the command judges on a quiet machine.
    report = run("restarts", "--requests", "100", "--restarts", "1", "--busy")
    usual, restarted, *kills = report["outcomes"]
    assert usual["codes"].keys() == restarted["codes"].keys() == {"200"}
    assert len(kills) == 7
    assert all(kill["codes"]["200"] > 0 for kill in kills)
