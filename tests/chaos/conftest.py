import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from tests.waiting import PROGRAM_SECONDS


@pytest.fixture
def run(environment_of_owner: dict[str, str]) -> Callable[..., dict[str, Any]]:
    """Runs one of these commands; what it reports as JSON."""

    def run_command(name: str, *arguments: str) -> dict[str, Any]:
        ended = subprocess.run(
            [sys.executable, "-m", f"tests.chaos.{name}", "--json", *arguments],
            cwd=settings.BASE_DIR,
            env=os.environ | environment_of_owner,
            capture_output=True,
            text=True,
            check=False,
            timeout=PROGRAM_SECONDS,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        report: dict[str, Any] = json.loads(ended.stdout)
        return report

    return run_command
