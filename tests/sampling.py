"""A sample of what is too much to try each time: another one for each commit."""

import os
import random
import subprocess
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from django.conf import settings

from partnerapi.core.version import RELEASE

VARIABLE = "SAMPLE_SEED"
One = TypeVar("One")


@cache
def seed() -> str:
    """What the environment says, or the commit; the release, without git's history."""
    if given := os.environ.get(VARIABLE):
        return given
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    asked = subprocess.run(
        command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or RELEASE


def sample(ones: Sequence[One], count: int, of: str) -> list[One]:
    """So many, in their order. Samples of the same name are the same."""
    drawn = random.Random(f"{seed()} {of}").sample(range(len(ones)), count)  # noqa: S311
    return [ones[number] for number in sorted(drawn)]
