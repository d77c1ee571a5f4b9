from collections.abc import Callable
from typing import Any

import pytest

KEPT = {
    "twice": 0,
    "lost": 0,
    "with_two_answers": 0,
    "other_than_answered": 0,
    "unanswered": 0,
    "deadlocks": 0,
    "internal_errors": 0,
    "changed_totals": [],
    "broken_rules": [],
}


@pytest.mark.parametrize("where", [[], ["--tokens", "1", "--workers", "2"]])
def test_no_fault_doubles_or_loses_an_order(
    run: Callable[..., dict[str, Any]], where: list[str]
):
    """On one market they go together, and their leaders are killed."""
    report = run("trading", "--seconds", "5", *where)
    findings = report["findings"]
    assert {name: findings[name] for name in KEPT} == KEPT
    assert findings["orders"] > 0
    assert (report["workers_killed"], report["crashes"]) == (2, 2)
    # Where nothing protects them, the same traders find harm.
    assert report["control"]["twice"] + report["control"]["lost"] > 0
