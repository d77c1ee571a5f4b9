from collections.abc import Callable
from typing import Any


def test_each_guess_is_recorded_and_few_are_looked_at(
    run: Callable[..., dict[str, Any]],
):
    # How fast the API is meanwhile, the command judges on a quiet machine.
    report = run("login_storm", "--seconds", "2", "--guesses", "20", "--busy")
    assert report["failures"] == []
    assert report["answers"]["locked out"] + report["answers"]["wrong password"] >= 20
