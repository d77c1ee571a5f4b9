"""CONTRIBUTING against the tree: its paths, its commands, its page of locks."""

import re
import subprocess
import sys

import pytest
from django.conf import settings

from partnerapi.core.sql_files import every_file
from partnerapi.site import locks_table
from partnerapi.site.locks_table import Unplaced, takers
from tests.__main__ import runs

CONTRIBUTING = (settings.BASE_DIR / "CONTRIBUTING.md").read_text()
PATH = re.compile(r"`((?:[\w.<>-]+/)+[\w.<>-]*)`")
NOUNS = re.compile(r"`<noun>` is one name in every layer: (.*?)\.\s", re.DOTALL)
FIX = settings.BASE_DIR / "marketdata" / "fix"
LOCK = re.compile(
    r"select_for_update|pg_(try_)?advisory"
    r"|\bFOR (NO KEY )?UPDATE\b|\bFOR (KEY )?SHARE\b|\bLOCK TABLE\b"
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


def paths() -> list[str]:
    return sorted(set(PATH.findall(CONTRIBUTING)))


def commands() -> list[str]:
    return [
        line
        for block in re.findall(r"```sh\n(.*?)```", CONTRIBUTING, re.DOTALL)
        for line in block.splitlines()
    ]


def test_it_is_a_page():
    assert len(CONTRIBUTING.splitlines()) <= 80


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


NAME_LOCKS = {
    "marketdata/trading/locked.py",
    "partnerapi/core/sql_locks.py",
    "partnerapi/site/locks_table.py",
}
"""Files that say what locks are, and take none."""


def test_all_that_locks_stands_on_the_page_of_locks():
    page = (settings.BASE_DIR / "partnerapi/core/locks.md").read_text()
    rooms = ("accounts", "issuers", "marketdata", "partnerapi")
    locking = {
        str(path.relative_to(settings.BASE_DIR))
        for room in rooms
        for path in (settings.BASE_DIR / room).rglob("*.py")
        if "migrations" not in path.parts and LOCK.search(path.read_text())
    } - NAME_LOCKS
    functions = {
        file.path.stem
        for file in every_file()
        if LOCK.search(re.sub("--.*", "", file.text))
    }
    assert (len(locking) > 10, len(functions) > 40) == (True, True)
    taken = {name for who in takers().values() for name in who}
    assert taken == locking | functions
    assert [name for name in taken if f"`{name}`" not in page] == []


def test_a_lock_without_a_place_in_the_order_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(locks_table, "ALONE", {})
    with pytest.raises(Unplaced, match=r"is locked by \w+: give it a place in RUNGS"):
        list(locks_table.rows())


LOCKS = {
    "Account.objects.filter(pk=1).select_for_update(no_key=True)":
    "accounts_account (FOR NO KEY UPDATE)",
    "def one() -> QuerySet[Account]: ...\none().select_for_update()":
    "accounts_account (FOR UPDATE)",
    "run(f'SELECT FROM accounts_user u JOIN {x} y FOR SHARE OF u')":
    "accounts_user (FOR SHARE)",
    "run('SELECT 1 WHERE id IN (SELECT id FROM trading_order FOR UPDATE SKIP LOCKED)')":
    "trading_order (FOR UPDATE SKIP LOCKED)",
    "run('SELECT pg_advisory_xact_lock(hashtext(%s))')":
    "a name that is a parameter (advisory)",
    "run('LOCK TABLE trading_order IN SHARE MODE')": "trading_order (table, SHARE)",
}  # fmt: skip


@pytest.mark.parametrize("source", LOCKS)
def test_locks_are_read_from_python(source: str):
    found = [str(lock) for lock in locks_table.locks_of_python(source)]
    assert found == [LOCKS[source]]


def test_what_a_docstring_says_locks_nothing():
    source = 'def f():\n    """SELECT FROM trading_order FOR UPDATE"""'
    assert list(locks_table.locks_of_python(source)) == []
