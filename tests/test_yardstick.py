"""Benchmarks report the machine's speed, and figures as on idle cores."""

import ast
import contextlib
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.benchmarks import yardstick
from tests.benchmarks.yardstick import IDLE_SECONDS, Pace

TESTS = settings.BASE_DIR / "tests"
TIMED = (
    "fix_failover",
    "fix_mutations",
    "fix_neighbours",
    "killed_client",
    "login_storm",
    "migrations",
    "outages",
    "restarts",
    "slow_clients",
    "standby",
)
"""Of the long runs in tests/chaos, those that judge by time."""


def mains() -> list[Path]:
    """Every benchmark with a `main`, and every long run that judges by time."""
    benchmarks = [
        path
        for path in sorted((TESTS / "benchmarks").rglob("*.py"))
        if any(
            isinstance(node, ast.FunctionDef) and node.name == "main"
            for node in ast.parse(path.read_text()).body
        )
    ]
    return benchmarks + [TESTS / "chaos" / f"{name}.py" for name in TIMED]


def runs_in_yardstick(text: str) -> bool:
    """Whether `main` is called, and each time in `with yardstick()`."""
    tree = ast.parse(text)
    inside = [
        call
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        and any(name_of(item.context_expr) == "yardstick" for item in node.items)
        for call in calls(node)
    ]
    return bool(inside) and len(inside) == len(calls(tree))


def calls(tree: ast.AST) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if name_of(node) == "main"]


def name_of(node: ast.AST) -> str:
    """The function that a call calls by its name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    return ""


def pace(before: float, after: float) -> Pace:
    made = Pace(before)
    made.after = after
    return made


@pytest.mark.parametrize("path", mains(), ids=lambda path: str(path.relative_to(TESTS)))
def test_a_benchmark_tells_how_fast_the_machine_is(path: Path):
    assert runs_in_yardstick(path.read_text())


def test_a_main_without_the_yardstick_is_found():
    assert len(mains()) > 25
    assert runs_in_yardstick("with yardstick():\n    sys.exit(main())")
    assert runs_in_yardstick("with yardstick() as pace:\n    main(pace)")
    assert not runs_in_yardstick("with other():\n    main()")
    assert not runs_in_yardstick("with yardstick():\n    pass\nmain()")


def test_figures_are_those_of_idle_cores():
    slow = pace(0.7, 0.9)
    assert slow.factor == pytest.approx(2)
    assert slow.idle(3.0) == pytest.approx(1.5)
    assert slow.idle_rate(100) == pytest.approx(200)
    fast = pace(0.2, 0.2)
    assert fast.idle(3.0) == pytest.approx(6)
    assert fast.idle_rate(100) == pytest.approx(50)
    same = pace(IDLE_SECONDS, IDLE_SECONDS)
    assert (same.idle(3.0), same.idle_rate(100)) == (3.0, 100)


def test_additions_are_ten_times_the_middle_loop(monkeypatch: pytest.MonkeyPatch):
    taken = iter([0.9, 0.04, 0.05, 0.03, 0.06])
    monkeypatch.setattr(yardstick, "loop", lambda: next(taken))
    assert yardstick.additions() == pytest.approx(0.5)


def test_the_line_comes_last_and_not_among_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    times = iter([0.7, 0.9] * 2)
    monkeypatch.setattr(yardstick, "additions", lambda: next(times))
    line = (
        "10⁷ additions: 0.70 s before, 0.90 s after (0.40 s on idle cores): "
        "divide seconds by 2.00, multiply rates by it.\n"
    )
    monkeypatch.setattr(sys, "argv", ["benchmark"])
    with contextlib.suppress(SystemExit), yardstick.yardstick():
        sys.stdout.write("measured\n")
        sys.exit(1)
    assert tuple(capsys.readouterr()) == ("measured\n" + line, "")
    monkeypatch.setattr(sys, "argv", ["benchmark", "--json"])
    with yardstick.yardstick():
        sys.stdout.write("{}\n")
    assert tuple(capsys.readouterr()) == ("{}\n", line)


def test_help_measures_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["benchmark", "--help"])
    monkeypatch.delattr(yardstick, "additions")
    with yardstick.yardstick():
        pass
    assert tuple(capsys.readouterr()) == ("", "")
