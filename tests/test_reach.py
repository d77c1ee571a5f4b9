"""What a change reaches, by changes of this tree."""

import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from tests.reach import changed_since, closure, reached, tree
from tests.tiers import long_files

ALL = long_files(settings.BASE_DIR)


@pytest.mark.parametrize(
    "changed",
    [
        "pyproject.toml",
        "tests/conftest.py",
        "partnerapi/settings.py",
        "partnerapi/core/errors.py",
        "a/file/nobody.knows",
    ],
)
def test_what_every_test_needs_reaches_all(changed: str):
    assert reached([changed]) == ALL


@pytest.mark.parametrize(
    ("changed", "file"),
    [
        ("tests/chaos/storm.py", "tests/chaos/test_storm.py"),
        ("issuers/imports/publications.py", "test_back_office_in_browser.py"),
        ("templates/admin/home.html", "test_back_office_in_browser.py"),
        ("templates/docs/guide.md", "tests/pages/test_browser.py"),
        ("partnerapi/operations/deploy/nginx.conf", "test_deployment.py"),
        ("accounts/migrations/0002_new.py", "tests/migrating/test_there_and_back.py"),
        ("issuers/sql/functions/new.sql", "tests/chaos/test_deliveries.py"),
        ("partnerapi/management/commands/up.py", "tests/commands/test_up.py"),
        ("partnerapi/management/sandbox/seed.py", "test_seed_sandbox.py"),
    ],
)
def test_a_change_reaches_what_imports_shows_or_starts_it(changed: str, file: str):
    assert [one for one in reached([changed]) if one.endswith(file)]


@pytest.mark.parametrize(
    "changed", ["issuers/exports/captable.py", "templates/admin/home.html"]
)
def test_a_leaf_reaches_little(changed: str):
    found = reached([changed])
    assert len(found) <= 3
    assert not [file for file in found if file.startswith("tests/chaos/")]


def test_what_people_read_reaches_nothing():
    assert reached(["README.md", "CHANGELOG.md", "LICENSE"]) == []
    assert reached([]) == []


def test_a_circle_of_imports_ends():
    assert closure("a", {"a": {"b"}, "b": {"a", "c"}, "c": set()}) == {"a", "b", "c"}


def test_programs_that_a_test_names_are_found():
    _, imports = tree(settings.BASE_DIR)
    assert "tests.chaos.crashes" in imports["tests.chaos.test_storm"]
    assert "partnerapi.management.commands.up" in imports["tests.system"]


def test_the_change_is_what_differs_from_a_commit(tmp_path: Path):
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    git("init", "--quiet")
    for number in range(3):
        (tmp_path / f"{number}.py").touch()
        git("add", ".")
        git("commit", "--quiet", "--message", f"Add {number}")
    assert changed_since("HEAD~1", tmp_path) == ["2.py"]
    assert changed_since(git("rev-parse", "HEAD~2"), tmp_path) == ["1.py", "2.py"]
    # There are not twenty commits, and so no history to choose by.
    assert changed_since(None, tmp_path) is None
