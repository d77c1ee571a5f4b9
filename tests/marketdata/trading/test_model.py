"""Random actions on a market and on dictionaries: the same comes of them."""

import pytest

from tests.marketdata.trading.model import run


@pytest.mark.parametrize("seed", range(20))
def test_the_market_is_its_model(one_person: None, seed: int):
    run(seed, 20)
