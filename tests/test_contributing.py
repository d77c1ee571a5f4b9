"""CONTRIBUTING against the tree: its paths, its commands, its page of locks."""

import re
import subprocess
import sys

import pytest
from django.conf import settings

from tests.__main__ import runs

CONTRIBUTING = (settings.BASE_DIR / "CONTRIBUTING.md").read_text()
PATH = re.compile(r"`((?:[\w.<>-]+/)+[\w.<>-]*)`")
NOUNS = re.compile(r"`<noun>` is one name in every layer: (.*?)\.\s", re.DOTALL)
FIX = settings.BASE_DIR / "marketdata" / "fix"
LOCK = re.compile(
    r"select_for_update|pg_advisory|\bFOR (NO KEY )?UPDATE\b|\bFOR (KEY )?SHARE\b"
)
HELP_OF_EACH = """
import runpy, sys, warnings

# One module imports another that is run later.
warnings.filterwarnings("ignore", module="runpy")

failed = []
for module in sys.argv[1:]:
    sys.argv = [module, "--help"]
    try:
        runpy.run_module(module, run_name="__main__")
    except SystemExit as end:
        failed += [module] * bool(end.code)
    else:
        failed += [f"{module} --help goes on"]
if failed:
    sys.exit(" ".join(failed))
"""


def section(heading: str) -> str:
    return CONTRIBUTING.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def paths() -> list[str]:
    return sorted(set(PATH.findall(CONTRIBUTING)))


def commands() -> list[str]:
    return [
        line
        for block in re.findall(r"```sh\n(.*?)```", CONTRIBUTING, re.DOTALL)
        for line in block.splitlines()
    ]


def test_every_path_leads_somewhere():
    def is_there(path: str) -> bool:
        pattern = path.replace("<noun>", "*").rstrip("/")
        return any(any(root.glob(pattern)) for root in (settings.BASE_DIR, FIX))

    assert len(paths()) > 50
    assert [path for path in paths() if not is_there(path)] == []


def test_every_noun_has_its_files():
    [listed] = NOUNS.findall(CONTRIBUTING)
    nouns = re.findall(r"`(\w+)`", listed)
    layers = ("models", "schema", "admin", "imports")
    for noun in nouns:
        found = [
            settings.BASE_DIR / app / place
            for app in ("accounts", "issuers")
            for layer in layers
            for place in (f"{layer}/{noun}.py", f"{noun}/{layer}.py")
        ]
        assert any(path.is_file() for path in found), noun


@pytest.mark.parametrize("command", commands())
def test_every_command_runs(command: str):
    program, *arguments = command.split()
    assert program == ".venv/bin/python"
    # A test writes nothing into the tree.
    subprocess.run(
        [sys.executable, *arguments, "--check"], cwd=settings.BASE_DIR, check=True
    )


def test_every_long_run_starts():
    named = [module for module, _ in runs()]
    assert len(named) == len(set(named)) > 20
    done = subprocess.run(
        [sys.executable, "-c", HELP_OF_EACH, *named],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("usage:") == len(named)


NO_RUNS = {
    "tests.benchmarks.graphql.inside",
    "tests.chaos.fix_parser",
    "tests.kept_server",
    "tests.reach",
}


def test_every_command_of_the_tests_is_listed():
    listed = {module for module, _ in runs()} | {"tests"} | NO_RUNS
    for path in sorted((settings.BASE_DIR / "tests").rglob("*.py")):
        if '\nif __name__ == "__main__":\n' in path.read_text():
            name = path.relative_to(settings.BASE_DIR).with_suffix("")
            module = ".".join(name.parts).removesuffix(".__main__")
            assert module in listed, f"say in its docstring: python -m {module}"


def test_every_file_that_locks_rows_stands_on_the_page_of_locks():
    page = section("Locks")
    rooms = ("accounts", "issuers", "marketdata", "partnerapi")
    locking = [
        str(path.relative_to(settings.BASE_DIR))
        for room in rooms
        for path in sorted((settings.BASE_DIR / room).rglob("*.py"))
        if "migrations" not in path.parts and LOCK.search(path.read_text())
    ]
    assert len(locking) > 5
    assert [path for path in locking if f"`{path}`" not in page] == []
