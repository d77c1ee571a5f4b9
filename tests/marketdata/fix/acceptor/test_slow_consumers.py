"""Clients that do not read: the credit window, and the trades meanwhile."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from marketdata.fix.acceptor import session as sessions
from marketdata.fix.acceptor import window
from marketdata.fix.protocol.rules import (
    PROBE_BYTES,
    SLOW_CONSUMER,
    TOO_MANY_ANSWERS,
    TOO_MANY_TRADES,
    WINDOW_BYTES,
)
from tests.marketdata.fix.engines import (
    Bench,
    logged_on,
    market_data_request,
    new_book,
    running_engine,
)
from tests.waiting import PATIENCE_SECONDS, until


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Bench]:
    settings.FIX_CONFLATION_MS = 20
    # No session ends for want of an answer that a busy machine is late to give.
    monkeypatch.setattr(window, "CREDIT_SECONDS", PATIENCE_SECONDS)
    with running_engine([new_book("LUM"), new_book("ORB")]) as bench:
        yield bench


def deep(bench, symbol):
    """A book with forty levels a side: its snapshots are long."""
    book = next(one for one in bench.feed.books.values() if one.symbol == symbol)
    levels = [(0, 900 - n, 5) for n in range(40)] + [
        (1, 1100 + n, 5) for n in range(40)
    ]
    bench.change(book, levels)
    return book


def flood(bench, book, session, until):
    """Change all bids repeatedly; returns the bytes sent by then."""
    quantity = 10
    while not until():
        quantity += 1
        bench.change(book, [(0, 900 - n, quantity) for n in range(40)])
        time.sleep(0.02)
    return session.window.sent


def test_sending_stops_at_the_window_and_the_session_ends(bench, monkeypatch):
    # Ten seconds of the rules are long for a test.
    monkeypatch.setattr(window, "CREDIT_SECONDS", 1.0)
    book = deep(bench, "LUM")
    other = bench.client(1)
    other.logon()
    other.snapshots(["ORB"])
    client = bench.initiator()
    with logged_on(client, bench) as session:
        client.send("V", *market_data_request("R1", "LUM", t265=0))
        sent = flood(bench, book, session, lambda: session.logout_reason)
        assert session.logout_reason == SLOW_CONSUMER
        assert PROBE_BYTES <= sent <= WINDOW_BYTES + 10_000
    until(lambda: client.sender not in bench.sessions.live)
    assert bench.sessions.status()[client.sender].last_logout_reason == SLOW_CONSUMER
    orb = next(one for one in bench.feed.books.values() if one.symbol == "ORB")
    bench.change(orb, [(0, 1000, 7)])
    assert other.receive().get(271) == "7"
    other.close()


def test_an_answered_test_request_reopens_the_window(bench):
    book = deep(bench, "LUM")
    client = bench.client()
    with logged_on(client, bench) as session:
        client.snapshots(["LUM"])
        quantity = 10
        while session.window.sent < 2 * WINDOW_BYTES:
            quantity += 1
            bench.change(book, [(0, 900 - n, quantity) for n in range(40)])
            while client.receive(0.03):
                pass
        assert not session.logout_reason
        assert session.window.sent - session.window.acknowledged < WINDOW_BYTES
        assert client.books["LUM"].ladder() == book.book.ladder()


def test_what_follows_a_test_request_may_fill_the_window(bench):
    client = bench.initiator()
    sizes = [PROBE_BYTES] + 7 * [6_500] + [30_000, 10]
    with logged_on(client, bench) as session:
        for size in sizes:
            session.answer("Y", [f"262=R1\x01281=0\x0158={'x' * size}\x01"])
        for size in sizes:
            assert len(client.receive(5).get(58)) == size
        assert not session.logout_reason


def test_answers_that_wait_end_the_session(bench, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_UNSENT_BYTES", 20_000)
    client = bench.initiator()
    with logged_on(client, bench) as session:
        # It reads nothing more.
        session.window.sent += WINDOW_BYTES
        long = "x" * 30_000
        session.answer("Y", [f"262=R1\x01281=0\x0158={long}\x01"])
        assert not session.logout_reason
        assert len(session.answers) == 1
        client.send("x", (320, "L1"), (559, 4))
        until(lambda: session.logout_reason)
        assert session.logout_reason == TOO_MANY_ANSWERS
        assert len(session.answers) == 1


def test_answers_that_are_read_may_be_any_number(bench, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_UNSENT_BYTES", 5_000)
    client = bench.client()
    with logged_on(client, bench) as session:
        for _ in range(40):
            assert len(client.instruments()) == 2
        assert session.queued == 0
        assert session.outbound.number > 40
        assert not session.logout_reason


def test_trades_that_wait_end_the_session(bench):
    book = next(one for one in bench.feed.books.values() if one.symbol == "LUM")
    client = bench.initiator()
    with logged_on(client, bench) as session:
        client.send("V", *market_data_request("R1", "LUM", entry_types="2"))
        assert client.receive().type == "W"
        # A window holds about a thousand of them.
        for _ in range(12):
            bench.trade(book, 190)
            time.sleep(0.03)
        until(lambda: session.logout_reason)
        assert session.logout_reason == TOO_MANY_TRADES
