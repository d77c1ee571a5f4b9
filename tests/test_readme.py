"""The README against the tree, and its commands against a running system."""

import json
import os
import re
import subprocess
import sys
import tomllib

import pytest
from django.conf import settings
from django.urls import resolve

from partnerapi.site import docs

README = (settings.BASE_DIR / "README.md").read_text()


def house() -> str:
    return README.split("\n## The house\n", 1)[1].split("\n## ", 1)[0]


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    return [block.replace("\\\n", " ").strip() for block in blocks]


def test_is_short():
    assert len(README.splitlines()) < 200


def test_every_link_leads_to_a_file():
    linked = re.findall(r"\]\(([^)]+)\)", README)
    assert len(linked) > 5
    assert [path for path in linked if not (settings.BASE_DIR / path).is_file()] == []


def test_names_every_document():
    for path in docs.DIRECTORY.glob("*.md"):
        assert f"]({path.relative_to(settings.BASE_DIR)})" in README


def test_every_page_that_it_names_is_served():
    for address in re.findall(r"<http://localhost:8080/([^>]*)>", README):
        assert resolve(f"/{address.partition('#')[0]}")


def test_every_room_is_there():
    rooms = re.findall(r"^\| `([^`]+)` \|", house(), re.MULTILINE)
    assert len(rooms) > 10
    assert [room for room in rooms if not any(settings.BASE_DIR.glob(room))] == []


def test_every_room_stands_in_the_house():
    found = (settings.BASE_DIR / "partnerapi").glob("*/__init__.py")
    rooms = {path.parent.name for path in found} - {"management", "migrations"}
    assert [room for room in rooms if f"`partnerapi/{room}`" not in house()] == []


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


def test_its_first_trade_is_in_the_capitalization_table(running_server: dict):
    [command] = [c for c in commands() if "first_trade" in c]
    program, *arguments = command.split()
    assert program == ".venv/bin/python"
    known = {"API": running_server["graphql"], "KEY": running_server["key"]}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=settings.BASE_DIR,
        env=os.environ | known,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr
    assert "traded    2 units: FILLED\n" in done.stdout
    assert "holds     2 units as Mara Holm" in done.stdout


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
        and "first_trade" not in c
    ]
    # .ci/run pastes these; tests/commands/test_up.py starts and ends the system.
    continuous = (settings.BASE_DIR / ".ci" / "run").read_text()
    assert others == [
        "python3 -m venv .venv && CXXFLAGS='-O1 -g0' "
        ".venv/bin/pip install -e '.[sandbox]' && .venv/bin/python manage.py up",
        ".venv/bin/pip install -e '.[dev]' && .venv/bin/pytest -n auto",
    ]
    assert "CXXFLAGS='-O1 -g0' .venv/bin/pip install -e '.[sandbox]'" in continuous
    assert ".venv/bin/pip install -e '.[dev]'" in continuous
    assert ".venv/bin/pytest -n auto" in continuous
    assert ".venv/bin/python -m tests.reach" in continuous


def test_the_tiers_that_it_names_are_there(pytestconfig: pytest.Config):
    assert "`-m fast`" in README
    assert "fast" in {m.split(":")[0] for m in pytestconfig.getini("markers")}
    assert "`--long`" in README
    assert isinstance(pytestconfig.getoption("--long"), bool)
