"""Invented markets are possible ones, whatever the dice say."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from random import Random
from statistics import median

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marketdata.books.log import Message
from marketdata.books.orderbook import ASK, BID, Change, OrderBook
from marketdata.replay.simulation import Simulation, business, pauses, tick_of

PRICES = st.integers(1, 2_000_000)


def play(home: int, seed: int, book: OrderBook | None = None) -> Iterator[Message]:
    book = OrderBook() if book is None else book
    return Simulation(book, home, Random(seed)).messages()


def check(message: Message, book: OrderBook) -> None:
    """That a book before a message allows it, and its trades are what it took."""
    before = {
        side: dict(levels)
        for side, levels in zip((BID, ASK), book.ladder(), strict=True)
    }
    book.apply(message.changes)
    assert message.changes
    for _, price, quantity in message.changes:
        assert price > 0
        assert quantity >= 0
    for change, deal in zip(message.changes, message.deals, strict=False):
        assert deal.price == change.price
        assert deal.quantity > 0
        assert before[change.side][change.price] - deal.quantity == change.quantity
    if message.deals:
        assert len(message.deals) == len(message.changes)


@settings(max_examples=60, deadline=None)
@given(home=PRICES, seed=st.integers(0, 2**32))
def test_every_message_is_possible_and_leaves_no_crossed_book(home: int, seed: int):
    book = OrderBook()
    for message in islice(play(home, seed), 150):
        check(message, book)
        bids, asks = book.ladder()
        assert bids
        assert asks
        assert bids[0].price < asks[0].price


@settings(max_examples=60, deadline=None)
@given(
    home=PRICES,
    seed=st.integers(0, 2**32),
    middle=st.integers(0, 5_000),
    bids=st.dictionaries(st.integers(0, 5_000), st.integers(1, 10**9), max_size=60),
    asks=st.dictionaries(st.integers(1, 5_000), st.integers(1, 10**9), max_size=60),
)
@example(home=1, seed=0, middle=0, bids={}, asks={1: 1})
@example(home=9, seed=0, middle=3, bids={0: 1}, asks={})
def test_goes_on_from_any_book(
    home: int, seed: int, middle: int, bids: dict, asks: dict
):
    changes = [Change(BID, middle - n, q) for n, q in bids.items() if n < middle]
    changes += [Change(ASK, middle + n, q) for n, q in asks.items()]
    book = OrderBook(changes)
    for message in islice(play(home, seed, OrderBook(changes)), 150):
        check(message, book)
    assert max(map(len, book.ladder())) <= 41


@pytest.mark.parametrize("home", [150, 1_234, 7_000, 90_000])
def test_books_look_real_after_10_000_events(home: int):
    book, tick = OrderBook(), tick_of(home)
    spreads, depths, middles, trades = [], set(), [], 0
    for message in islice(play(home, 1), 10_000):
        book.apply(message.changes)
        bids, asks = book.ladder()
        spreads.append((asks[0].price - bids[0].price) / tick)
        depths |= {len(bids), len(asks)}
        middles.append((asks[0].price + bids[0].price) / 2)
        trades += bool(message.deals)
        assert sum(level.quantity for level in bids) > 0
    assert 1 <= median(spreads) <= 4
    assert max(spreads) <= 30
    assert min(depths) >= 10
    assert max(depths) <= 41
    assert 0.9 * home < min(middles) < max(middles) < 1.1 * home
    assert len(set(middles)) > 20
    assert 250 < trades < 550


def test_quantities_grow_away_from_the_best_price_and_then_thin():
    book, near, middle, far = OrderBook(), 0, 0, 0
    for message in islice(play(1_234, 2), 5_000):
        book.apply(message.changes)
        for side in book.ladder():
            near += sum(level.quantity for level in side[:4])
            middle += sum(level.quantity for level in side[7:11])
            far += sum(level.quantity for level in side[-4:])
    assert near < middle
    assert far < middle / 2


def test_the_same_seed_gives_the_same_events():
    first = list(islice(play(1_234, 3), 500))
    assert list(islice(play(1_234, 3), 500)) == first
    assert list(islice(play(1_234, 4), 500)) != first


def test_the_price_comes_home_to_where_it_is_drawn():
    far = OrderBook([Change(BID, 999, 5), Change(ASK, 1_001, 5)])
    for _ in islice(play(1_100, 5, far), 10_000):
        pass
    best = far.best(BID)
    assert best is not None
    assert 1_050 < best.price < 1_150


def test_ticks_grow_with_prices():
    assert [tick_of(p) for p in (1, 1_999, 2_000, 5_000, 19_999, 50_000, 10**9)] == [
        *(1, 1, 2, 5, 10, 50, 50),
    ]


def test_pauses_come_in_bursts_at_the_rate_that_was_asked_for():
    seconds = list(islice(pauses(5, Random(1)), 50_000))
    assert 9_000 < sum(seconds) < 11_000
    # Of evenly random events, 39 in 100 come within half the average pause.
    soon = sum(pause < 0.1 for pause in seconds) / len(seconds)
    assert soon > 0.5


def test_mornings_and_afternoons_are_busy():
    day = [business(datetime(2026, 1, 5, hour, tzinfo=UTC)) for hour in range(24)]
    assert sum(day) / 24 == pytest.approx(1, abs=0.02)
    assert day[9] > 2
    assert day[16] > 2
    assert day[12] < 1.3
    assert 0.5 < day[3] < 0.6
