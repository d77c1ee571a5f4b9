"""Random actions on a market and on dictionaries: the same comes of them."""

import pytest

from tests.marketdata.trading.model import run
from tests.marketdata.trading.test_uncross import compare_books
from tests.sampling import sample
from tests.tiers import count


@pytest.mark.parametrize("seed", sample(range(400), count(5, 400), "markets"))
def test_the_market_is_its_model(one_person: None, seed: int):
    """20,000 actions in a long run."""
    run(seed, count(20, 50))


def test_auctions_of_many_books_are_as_over_all_prices():
    compare_books(count(1_000, 20_000))


@pytest.mark.parametrize("seed", sample(range(20), count(2, 20), "busy markets"))
def test_fees_are_those_of_the_model(one_person: None, seed: int):
    assert run(seed, 60, is_busy=True) > 0
