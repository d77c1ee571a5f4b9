"""FIX_CONFLATION_MS=0: every round of the feed is a publication."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from marketdata.books.orderbook import OrderBook
from tests.marketdata.fix.engines import Bench, new_book, running_engine
from tests.marketdata.fix.market import next_message
from tests.waiting import until


@pytest.fixture
def bench(settings: Any) -> Iterator[Bench]:
    settings.FIX_CONFLATION_MS = 0
    with running_engine([new_book("LUM")]) as bench:
        yield bench


def only_book(bench):
    (book,) = bench.feed.books.values()
    return book


@pytest.mark.parametrize("depth", [0, 3])
def test_leads_to_the_same_book(bench, depth):
    book = only_book(bench)
    mirror = OrderBook([(0, 1000, 100), (1, 1010, 100)])
    chance = random.Random(3)
    with bench.client() as client:
        client.snapshots(["LUM"], depth=depth)
        for _ in range(20):
            messages = [next_message(mirror, chance).changes for _ in range(10)]
            bench.change(book, *messages)
            client.receive(0.01)
        until(
            lambda: (
                client.receive(0.05) is None
                and client.books["LUM"].ladder() == mirror.ladder(depth)
            )
        )
