"""Prints the files with long runs that a change can reach, one a line.

The change is what differs from COMMIT, else from CI_BASE, else from the commit twenty
before this one. A file is reached where its tests, or the programs that they name,
import a module that changed, or import one that does, and so on. What is no module
stands for modules (`modules_of`). All files are reached where history is missing, and
by a file that this does not know.
"""

import argparse
import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.tiers import long_files

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("accounts", "issuers", "marketdata", "partnerapi", "tests")
COMMITS = 20
NAME = re.compile(r"[a-z_]\w*(?:\.\w+)*")
READ_BY_PEOPLE = re.compile(r"[A-Z]+(\.md)?|\.gitignore")
OF_EVERY_TEST = {
    "manage.py",
    "partnerapi/settings.py",
    "partnerapi/variables.py",
    "pyproject.toml",
    "tests/conftest.py",
    "tests/reach.py",
    "tests/servers.py",
    "tests/tiers.py",
}
TEMPLATES = {
    "templates/admin/": "partnerapi.staff.site",
    "templates/examples/": "tests.examples",
    "templates/static/": "tests.pages",
    "templates/": "partnerapi.site",
}
"""Which room shows them; the first that fits."""
OF_STAFF = "tests.pages.test_back_office_in_browser"
"""It asks for the pages of all rooms, and imports none."""


def modules(root: Path = ROOT) -> dict[str, Path]:
    found = {}
    for room in ROOMS:
        for path in (root / room).rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def innermost(name: str, known: Iterable[str]) -> str | None:
    """The module of a dotted name, which may go on with what the module has."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


def graph(known: dict[str, Path]) -> dict[str, set[str]]:
    """For each module, what it imports, and the programs that a test names."""
    commands = {
        name.rpartition(".")[2]: name
        for name in known
        if ".management.commands." in name
    }
    found: dict[str, set[str]] = {}
    for module, path in known.items():
        tree = ast.parse(path.read_text())
        names = {innermost(name, known) for name in imported(tree)}
        if module.startswith("tests."):
            room = module.rpartition(".")[0]
            for text in texts(tree):
                if NAME.fullmatch(text):
                    # Such as `run("storm")` in tests/chaos, `call_command("mint")`.
                    names |= {text, f"{room}.{text}", commands.get(text)} & {*known}
        elif ".management.commands." in module:
            # The verbs of a command, which are loaded by their names.
            names |= {innermost(text, known) for text in texts(tree) if "." in text}
        found[module] = {name for name in names if name} - {module}
    found[OF_STAFF] |= {
        name for name in known if name.endswith((".admin", ".staff.site"))
    }
    return found


def modules_of(changed: str, known: Iterable[str]) -> set[str] | None:
    """The modules that a changed file is, or stands for; None: any of them."""
    if changed in OF_EVERY_TEST:
        return None
    if READ_BY_PEOPLE.fullmatch(changed):
        return set()
    for start, room in TEMPLATES.items():
        if changed.startswith(start):
            return inside(room, known)
    path = Path(changed)
    if path.parts[0] not in ROOMS:
        return None
    if "migrations" in path.parts:
        # It changes the tables of its app, and what is migrated over data.
        app = path.parts[: path.parts.index("migrations")]
        models = ".".join((*app, "models"))
        return {models, "tests.chaos.migrations"} | inside("tests.migrating", known)
    if path.suffix == ".py":
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        # One that is gone is missed by those who imported it, and these changed, too.
        return {name} & {*known}
    # Text that the code of its room installs or reads, such as SQL.
    room = ".".join(path.parent.parts).removesuffix(".sql")
    return inside(room, known) or None


def inside(room: str, known: Iterable[str]) -> set[str]:
    return {name for name in known if name == room or name.startswith(f"{room}.")}


def closure(begin: str, imports: dict[str, set[str]]) -> set[str]:
    """A module, and what it imports, and what these import."""
    found, left = {begin}, [begin]
    while left:
        new = imports[left.pop()] - found
        found |= new
        left += new
    return found


@cache
def tree(root: Path) -> tuple[dict[str, Path], dict[str, set[str]]]:
    """The modules, and what they import; files that change meanwhile are not seen."""
    known = modules(root)
    return known, graph(known)


def reached(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """The files with long runs that a change of these files can reach."""
    known, imports = tree(root)
    long = long_files(root)
    touched: set[str] = set()
    for file in changed:
        meant = modules_of(file, known)
        if meant is None:
            return long
        touched |= meant
    return [
        file
        for file in long
        if closure(".".join(Path(file).with_suffix("").parts), imports) & touched
    ]


def changed_since(commit: str | None, root: Path = ROOT) -> list[str] | None:
    """What differs from this commit, else from some before; None: without history."""
    asked = subprocess.run(  # noqa: S603
        ["git", "diff", "--name-only", "--no-renames", commit or f"HEAD~{COMMITS}"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    return None if asked.returncode else asked.stdout.splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.reach", description="Long runs that a change can reach."
    )
    parser.add_argument("commit", nargs="?", default=os.environ.get("CI_BASE"))
    changed = changed_since(parser.parse_args().commit)
    files = long_files(ROOT) if changed is None else reached(changed)
    sys.stdout.writelines(f"{file}\n" for file in files)


if __name__ == "__main__":
    main()
