"""How the programs beside this file are started: each is a partner's, on its engine."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests.packages import NODE, npm_packages, python_packages

HERE = Path(__file__).parent
NPM = ("jspurefix@5.11.4", "reflect-metadata@0.2.2")
PYTHON = ("simplefix==1.0.17",)

Command = list[str | Path]


def simplefix(role: str) -> Command:
    return [python_packages(*PYTHON), HERE / f"simplefix_{role}.py"]


def quickfix(role: str) -> Command:
    return [sys.executable, HERE / f"quickfix_{role}.py"]


def jspurefix(role: str) -> Command:
    directory = npm_packages(*NPM)
    # Node looks for packages beside the program.
    program = shutil.copy(HERE / f"jspurefix_{role}.js", directory)
    return [NODE / "bin" / "node", program]


ENGINES: list[Callable[[str], Command]] = [simplefix, quickfix, jspurefix]
"""A program's role is `client`, which rebuilds books, `copy` or `follower`."""
