"""FIX_CONFLATION_MS=0: every round of the feed is a publication."""

import random
import sys
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest

from marketdata.books.orderbook import OrderBook
from marketdata.fix.acceptor.requests import InstrumentKey, MarketDataRequest
from marketdata.fix.acceptor.subscriptions import Subscription
from tests.marketdata.fix.engines import Bench, new_book, running_engine
from tests.marketdata.fix.market import next_message
from tests.waiting import until


@pytest.fixture
def bench(settings: Any) -> Iterator[Bench]:
    settings.FIX_CONFLATION_MS = 0
    with running_engine([new_book("LUM")]) as bench:
        yield bench


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Switch threads so often that they meet at every possible point."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def only_book(bench):
    (book,) = bench.feed.books.values()
    return book


@pytest.mark.parametrize("depth", [0, 10, 1])
def test_no_session_is_led_back(bench, busy_threads, depth):
    book = only_book(bench)
    request = MarketDataRequest(
        "R1", "1", depth, "1", "", ("0", "1"), (InstrumentKey("LUM"),)
    )
    subscription = Subscription(request, book, bench.conflation, Event())
    subscription.next_message()
    states = [subscription.shown.sequence]
    stop = Event()

    def follow() -> None:
        while not stop.is_set():
            if subscription.next_message():
                states.append(subscription.shown.sequence)

    follower = Thread(target=follow)
    follower.start()
    mirror = OrderBook([(0, 1000, 100), (1, 1010, 100)])
    chance = random.Random(3)
    while len(states) < 30:
        bench.change(book, *(next_message(mirror, chance).changes for _ in range(8)))
    stop.set()
    follower.join()
    subscription.close()
    assert states == sorted(set(states))


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
