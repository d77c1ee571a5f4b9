"""The QuickFIX project's acceptance scripts, if they are installed.

They belong to that project, under its licence, and are not kept here. Clone it, and set
QUICKFIX_DEFINITIONS to its test/definitions/server/fix44.
"""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from tests.system import bare_environment

VARIABLE = "QUICKFIX_DEFINITIONS"


@pytest.mark.parametrize(("profile", "passed"), [("scripts", 52), ("default", 38)])
def test_misses_only_what_our_rules_explain(profile: str, passed: int):
    if VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} is not set to the scripts of the QuickFIX project")
    arguments = ["--definitions", os.environ[VARIABLE], "--profile", profile]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.marketdata.fix.acceptance", *arguments],
        cwd=settings.BASE_DIR,
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == f"{passed} of 59 scripts pass."
