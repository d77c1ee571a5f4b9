"""Random actions on a market and on dictionaries: the same comes of them."""

import pytest

from tests.marketdata.trading.model import run
from tests.sampling import sample
from tests.tiers import count


@pytest.mark.parametrize("seed", sample(range(20), count(5, 20), "markets"))
def test_the_market_is_its_model(one_person: None, seed: int):
    run(seed, 20)
