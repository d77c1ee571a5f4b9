"""The tiers against the tree, and samples against their seed."""

import subprocess
import sys

import pytest
from django.conf import settings

from tests import sampling, tiers
from tests.tiers import (
    FAST,
    LONG,
    MORE_WHEN_LONG,
    STARTING_OR_SLOW,
    is_fast,
    is_left_out,
    is_long,
    long_files,
)


def test_every_place_is_there():
    places = (*FAST, *STARTING_OR_SLOW, *LONG, *MORE_WHEN_LONG)
    files = {place.partition("::")[0] for place in places}
    assert [file for file in files if not (settings.BASE_DIR / file).exists()] == []


def test_every_test_that_is_named_is_there():
    for place in LONG:
        file, _, test = place.partition("::")
        if test:
            assert f"def {test}(" in (settings.BASE_DIR / file).read_text()


def test_a_place_is_a_room_a_file_or_a_test():
    assert is_long("tests/chaos/test_storm.py::test_no_storm")
    assert is_long("tests/commands/test_up.py")
    assert not is_long("tests/commands/test_update.py::test_one")
    of_each_page = (
        "tests/pages/test_browser.py::test_everybody_can_read_it_on_every_window"
    )
    assert is_long(f"{of_each_page}[/docs]")
    assert not is_long(f"{of_each_page}_again")
    assert is_fast("tests/core/test_redis.py::test_one")
    assert not is_fast("tests/core/test_sparing_log.py::test_one")
    assert "tests/chaos/test_storm.py" in long_files(settings.BASE_DIR)


def collected(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", *arguments],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 5), done.stdout
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_long_runs_run_where_they_are_asked_for():
    every = collected("tests/migrating", "--long")
    assert {test for test in every if is_long(test.partition("@")[0])}
    usual = collected("tests/migrating")
    assert usual == {test for test in every if not is_left_out(test.partition("@")[0])}
    [named] = collected("tests/migrating/test_there_and_back.py")
    assert named in every


def test_some_tests_try_more_with_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiers, "with_long", False)
    assert tiers.count(2, 20) == 2
    monkeypatch.setattr(tiers, "with_long", True)
    assert tiers.count(2, 20) == 20
    for file in MORE_WHEN_LONG:
        assert "count(" in (settings.BASE_DIR / file).read_text()
        assert is_long(file)
        assert not is_left_out(file)
        assert file in long_files(settings.BASE_DIR)


def test_a_sample_is_of_its_seed(monkeypatch: pytest.MonkeyPatch):
    def drawn(seed: str) -> list[int]:
        monkeypatch.setenv(sampling.VARIABLE, seed)
        sampling.seed.cache_clear()
        return sampling.sample(range(100), 5, "numbers")

    first, second = drawn("one"), drawn("two")
    assert first == sorted(set(first))
    assert len(first) == 5
    assert first == drawn("one") != second
    monkeypatch.undo()
    sampling.seed.cache_clear()
