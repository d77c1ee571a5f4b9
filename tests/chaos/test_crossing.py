from collections.abc import Callable
from typing import Any

from tests.chaos.test_trading import KEPT


def test_two_markets_a_document_and_two_servers_a_key(
    run: Callable[..., dict[str, Any]],
):
    report = run("crossing", "--documents", "200")
    for part in ("two_markets", "two_servers"):
        findings = report[part]["findings"]
        assert {name: findings[name] for name in KEPT} == KEPT
        assert findings["orders"] > 0
    assert report["two_servers"]["kills"] == 30
