"""What a feed's book shows to readers while it is written."""

import threading

import pytest

from marketdata.books.feed import LiveBook
from marketdata.books.livebook import JOURNAL_CHANGES
from marketdata.books.log import Deal, Message, record
from marketdata.books.orderbook import ASK, BID, Change, Ladder, OrderBook
from tests.marketdata.books.feeds import ask, bid, write
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def test_notes_trades_and_gives_those_after_a_number(token, started):
    record(token.pk, [Message([], [Deal(1000, 3)])], "test")
    feed = started()
    book = feed.books[token.pk]
    assert [trade[:3] for trade in book.trades] == [(1, 1000, 3)]
    at = record(token.pk, [Message([], [Deal(1001, 4), Deal(1002, 5)])], "test").at
    until(lambda: book.last_trade == 3)
    assert book.trades_since(1) == [(2, 1001, 4, at), (3, 1002, 5, at)]
    assert book.trades_since(3) == []
    assert book.trades_since(4) is None
    assert book.sequence == 0


def test_the_journal_leads_from_message_to_message(token, started):
    feed = started()
    book = feed.books[token.pk]
    numbered = book.numbered_ladder(0)
    assert numbered == (0, Ladder((), ()), None)
    write(token, bid(1000, 5), Message([Change(BID, 1000, 0), Change(BID, 998, 6)]))
    write(token, ask(1010, 1))
    until(lambda: book.sequence == 4)
    messages = book.since(numbered.sequence)
    assert messages == [
        (1, [Change(BID, 1000, 5)]),
        (3, [Change(BID, 1000, 0), Change(BID, 998, 6)]),
        (4, [Change(ASK, 1010, 1)]),
    ]
    rebuilt = OrderBook()
    for _, changes in messages:
        rebuilt.apply(changes)
    assert rebuilt.ladder() == book.ladder(0)
    assert book.since(3) == messages[2:]
    assert book.since(4) == []
    # No message ended there, and there is no such change yet.
    assert book.since(2) is None
    assert book.since(5) is None


def test_the_journal_keeps_only_so_much(token, started):
    feed = started()
    book = feed.books[token.pk]
    for first in range(1, JOURNAL_CHANGES + 202, 100):
        write(token, *(bid(1000, quantity) for quantity in range(first, first + 100)))
    last = first + 99
    until(lambda: book.sequence == last)
    assert book.since(last - JOURNAL_CHANGES - 1) is None
    assert len(book.since(last - JOURNAL_CHANGES)) == JOURNAL_CHANGES


def test_many_look_while_it_is_written(token, started):
    feed = started()
    book: LiveBook = feed.books[token.pk]
    write(token, bid(1000, 1), ask(1001, 1))
    stop = threading.Event()
    wrong = []

    def look() -> None:
        while not stop.is_set():
            sequence, ladder, _ = book.numbered_ladder(5)
            # Every message moves both sides together.
            if ladder.bids and ladder.asks:
                if ladder.bids[0].quantity != ladder.asks[0].quantity:
                    wrong.append(ladder)
                if sequence != 2 * ladder.bids[0].quantity:
                    wrong.append((sequence, ladder))
            if book.ladder(5) is not book.ladder(5) and book.sequence == sequence:
                wrong.append("made twice")

    readers = [threading.Thread(target=look) for _ in range(4)]
    for reader in readers:
        reader.start()
    for first in range(2, 402, 50):
        messages = [
            Message([Change(BID, 1000, quantity), Change(ASK, 1001, quantity)])
            for quantity in range(first, first + 50)
        ]
        last = write(token, *messages)
    until(lambda: book.sequence == last == 802)
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
