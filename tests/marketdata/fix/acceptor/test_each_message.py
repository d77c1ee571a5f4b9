"""FIX_CONFLATION_MS=0: every message of the log is an X of its own."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from marketdata.books.orderbook import OrderBook
from marketdata.fix.acceptor import versions
from tests.marketdata.fix.engines import (
    Bench,
    market_data_request,
    new_book,
    running_engine,
)
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


def test_messages_that_were_read_together_are_sent_apart(bench):
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", "LUM"))
        assert client.receive().type == "W"
        bench.change(
            only_book(bench),
            [(0, 999, 5)],
            [(0, 999, 6), (1, 1020, 1)],
            [(0, 999, 0)],
            [(1, 1020, 1)],
        )
        told = []
        while message := client.receive(0.3):
            told.append([(e[279], e[270]) for e in message.group(268)])
        # The last message changes nothing: there is nothing to say.
        assert told == [
            [("0", "9.99")],
            [("1", "9.99"), ("0", "10.20")],
            [("2", "9.99")],
        ]


@pytest.mark.parametrize("depth", [0, 3])
@pytest.mark.parametrize("most_behind", [4_000, 3])
def test_leads_to_the_same_book(bench, monkeypatch, depth, most_behind):
    monkeypatch.setattr(versions, "MOST_BEHIND", most_behind)
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


def test_a_book_deeper_than_the_deepest_view_stays_right(bench):
    book = only_book(bench)
    mirror = OrderBook([(0, 1000, 100), (1, 1010, 100)])
    levels = [(0, 900 - n, 5) for n in range(60)]
    mirror.apply(levels)
    with bench.client() as client:
        client.snapshots(["LUM"])
        bench.change(book, levels)
        for n in range(30):
            change = (0, 900 - 2 * n, 0)
            mirror.apply([change])
            bench.change(book, [change])
        until(
            lambda: (
                client.receive(0.05) is None
                and client.books["LUM"].ladder() == mirror.ladder(50)
            )
        )


def test_a_book_made_anew_is_led_to_by_one_difference(bench):
    book = only_book(bench)
    other = new_book("LUM")
    bench.change(other, [(0, 1005, 1)], [(0, 1000, 0)])
    with bench.client() as client:
        client.snapshots(["LUM"])
        book.adopt(other)
        bench.changed(book)
        until(
            lambda: (
                client.receive(0.05) is None
                and client.books["LUM"].ladder() == book.book.ladder()
            )
        )


def test_a_renamed_book_is_led_to_before_and_after(bench):
    book = only_book(bench)
    facts = book.facts
    with bench.client() as client:
        client.snapshots(["LUM"])
        bench.change(book, [(0, 999, 5)], [(0, 999, 6)])
        book.describe("LUX", *facts[1:])
        bench.change(book, [(0, 998, 5)])
        bench.change(book, [(0, 998, 0)])
        until(
            lambda: (
                client.receive(0.05) is None
                and client.books["LUX"].ladder() == book.book.ladder()
            )
        )
        assert client.books["LUM"].ladder() == ((), ())
        book.describe(*facts)


def test_a_withdrawn_book_is_empty(bench):
    book = only_book(bench)
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", "LUM"))
        assert client.receive().get(268) == "2"
        book.live = False
        bench.changed(book)
        entries = client.receive().group(268)
        assert [entry[279] for entry in entries] == ["2", "2"]
