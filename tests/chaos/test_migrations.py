import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings


def history_is_here() -> bool:
    """Whether this is a clone, and no shallow one."""
    asked = ["git", "rev-parse", "--is-shallow-repository"]
    told = subprocess.run(
        asked, cwd=settings.BASE_DIR, capture_output=True, check=False
    )
    return told.stdout.strip() == b"false"


@pytest.mark.skipif(
    not history_is_here(), reason="The code of the release before is in git's history"
)
def test_the_release_before_serves_while_the_next_one_is_migrated(
    run: Callable[..., dict[str, Any]],
):
    # How long the answers take, the command judges on a quiet machine.
    size = ("--rows", "2000", "--per-second", "40", "--seconds", "1")
    report = run("migrations", *size, "--busy")
    usual, *others = report["outcomes"]
    assert usual["codes"]["200"] > 0
    assert all(one["codes"].keys() | one["entries"].keys() == {"200"} for one in others)
    assert len(others) > 8
