"""The README's tables against the code, and its commands against a running system."""

import html
import json
import os
import re
import subprocess
import sys
import tomllib

import pytest
from django.conf import settings
from django.core.management import get_commands

from partnerapi.settings import VARIABLES
from partnerapi.site import reference

README = (settings.BASE_DIR / "README.md").read_text()
OWN = ("partnerapi", "accounts", "issuers", "marketdata")


def rows(heading: str) -> list[list[str]]:
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    return [block.replace("\\\n", " ").strip() for block in blocks]


def shown(default: object) -> str:
    if isinstance(default, bool):
        default = str(default).lower()
    elif isinstance(default, list):
        default = ",".join(default)
    return f"`{default}`" if default != "" else ""


def test_lists_every_setting_as_it_is():
    assert rows("Settings") == [
        [f"`{name}`", variable.kind, shown(variable.default), variable.meaning]
        for name, variable in VARIABLES.items()
    ]


def test_lists_every_error_as_the_reference_does():
    def plain(meaning: str) -> str:
        return html.unescape(re.sub("</?code>", "`", " ".join(meaning.split())))

    assert rows("Errors") == [
        [f"`{e.code}`", ", ".join(map(str, e.statuses)), plain(e.meaning)]
        for e in reference.errors()
    ]


def test_lists_every_command_of_ours():
    ours = {name for name, app in get_commands().items() if app in OWN}
    assert {row[0].strip("`") for row in rows("Commands")} == ours


def test_sets_up_and_tests_with_extras_that_exist():
    extras = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())
    named = set(re.findall(r"'\.\[(\w+)\]'", "\n".join(commands()[:2])))
    assert named == {"sandbox", "dev"}
    assert named <= set(extras["project"]["optional-dependencies"])


@pytest.mark.parametrize("number", [0, 1, 2])
def test_its_requests_answer(running_server: dict, number: int):
    asked = [command for command in commands() if command.startswith("curl")]
    assert len(asked) == 3
    base = running_server["graphql"].removesuffix("/graphql")
    command = asked[number].replace("http://localhost:8080", base)
    done = subprocess.run(
        ["sh", "-c", f"KEY={running_server['key']}; {command}"],
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert list(answer) == ["data"]
    assert all(answer["data"].values())


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "instruments. Watch one"), (1, "spread")]
)
def test_its_looks_at_the_fix_feed_show_it(running_server: dict, number, shown):
    asked = [c for c in commands() if "manage.py fix_client" in c]
    assert len(asked) == 2
    program, *arguments = asked[number].split()
    assert program == ".venv/bin/python"
    done = subprocess.run(
        [sys.executable, *arguments, "--port", str(running_server["fix"]["port"])],
        cwd=settings.BASE_DIR,
        env={**os.environ, "FIX_KEY": running_server["key"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown in done.stdout


def test_its_other_commands_run():
    [explained] = [c for c in commands() if c.endswith("--help")]
    program, *arguments = explained.split()
    assert program == ".venv/bin/python"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--dry-run" in done.stdout


def test_every_command_is_run_by_a_test():
    others = [
        c
        for c in commands()
        if not c.startswith(("curl", "export KEY="))
        and not c.endswith("--help")
        and "fix_client" not in c
    ]
    # .ci/run pastes these; tests/commands/test_up.py starts and ends the system.
    continuous = (settings.BASE_DIR / ".ci" / "run").read_text()
    assert others == [
        "python3 -m venv .venv && .venv/bin/pip install -e '.[sandbox]' "
        "&& .venv/bin/python manage.py up",
        ".venv/bin/pip install -e '.[dev]' && .venv/bin/pytest -n auto",
    ]
    assert ".venv/bin/pip install -e '.[sandbox]'" in continuous
    assert ".venv/bin/pip install -e '.[dev]'" in continuous
    assert ".venv/bin/pytest -n auto" in continuous
