import random

import pytest

from tests.marketdata.trading.replayed import executed, replayed, simulate


@pytest.mark.django_db
def test_the_log_through_the_matcher_leads_to_the_same_executions():
    token = simulate(300, random.Random(1))
    found = replayed(token)
    assert found == executed(token)
    assert len(found) > 100
