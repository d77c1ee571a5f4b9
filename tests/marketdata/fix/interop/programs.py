"""Starts the programs beside this file, each a partner's, and reads their verdicts."""

import re
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from marketdata.fix.conformance.rulebook import RULES, Part
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


def verdicts_of(lines: Iterable[str]) -> dict[str, str]:
    """By rule the verdict, of the lines that conformance.py prints."""
    found = (re.fullmatch(r"[ \d]\d ([A-Z-]+) +(.+)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def rules_of(part: Part) -> list[str]:
    return [name for name, rule in RULES.items() if part in rule.parts]
