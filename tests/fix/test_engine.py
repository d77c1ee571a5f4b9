"""The engine on loopback: a real feed over a real log, and real sessions."""

import time
from collections.abc import Iterator

import pytest

from tests.fix.conftest import Market
from tests.fix.engines import Bench, running_engine
from tests.fix.market import ladder_of, moving


@pytest.fixture
def bench(market: Market) -> Iterator[Bench]:
    with running_engine() as bench:
        yield bench


def test_leads_a_book_to_where_the_log_is(bench: Bench, market: Market):
    with bench.client() as client:
        with moving(market.listed, market.unnumbered):
            client.subscribe(["LUM", "ORB"], trades=True)
            until = time.monotonic() + 1.5
            while time.monotonic() < until:
                client.receive(0.1)
        while client.receive(0.4):
            pass
        assert client.gaps == 0
        for token in (market.listed, market.unnumbered):
            assert client.books[token.symbol].ladder() == ladder_of(token)
