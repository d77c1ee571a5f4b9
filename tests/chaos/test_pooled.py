from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos.poolers import find_pgbouncer


@pytest.mark.skipif(find_pgbouncer() is None, reason="no pgbouncer on this machine")
def test_a_pooler_that_changes_sessions_breaks_nothing(
    run: Callable[..., dict[str, Any]],
):
    # With another outcome the command ends with exit code 1.
    assert run("pooled", "--requests", "300")["changes"] == 100
