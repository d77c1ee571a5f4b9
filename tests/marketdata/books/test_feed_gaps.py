"""The feed when a log does not continue its book."""

import logging
from datetime import datetime

import pytest
from django.db import transaction

from issuers.models import Token
from marketdata.books.feed import LiveBook
from marketdata.books.log import Message, record
from marketdata.books.orderbook import Ladder, Level, OrderBook
from marketdata.models import BookChange, BookSnapshot, OrderBookHead
from tests.marketdata.books.feeds import bid, heard_by, unguarded, write
from tests.owner import tamper
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def test_makes_a_book_anew_when_the_log_was_pruned_before_it(
    token, started, often, caplog
):
    feed = started()
    book = feed.books[token.pk]
    # One transaction: the feed sees all of it or nothing.
    with transaction.atomic():
        write(token, *(bid(1000, quantity) for quantity in range(1, 1001)))
        write(token, *(bid(1000, quantity) for quantity in range(1001, 1101)))
        snapshot = BookSnapshot.objects.get(token=token)
        tamper(
            f"DELETE FROM marketdata_bookchange WHERE sequence <= {snapshot.sequence}"
        )
    until(lambda: book.sequence == 1100)
    assert feed.books[token.pk] is book
    assert book.ladder(0) == Ladder((Level(1000, 1100),), ())
    assert (book.rebuilt, book.live) == (1, True)
    assert book.since(0) is None
    [said] = [r for r in caplog.records if r.name == "marketdata.books.feed"]
    assert said.levelno == logging.WARNING
    assert said.message.startswith("The log of LUM does not continue from change 0")
    last = write(token, bid(1000, 0))
    until(lambda: book.sequence == last)
    assert book.ladder(0) == Ladder((), ())


def take_back(token: Token, sequence: int, *more: Message) -> None:
    """Shorten the log, as a restored backup would; it then continues."""
    BookChange.objects.filter(token=token, sequence__gt=sequence).delete()
    OrderBookHead.objects.filter(token=token).update(last_sequence=sequence)
    kept = BookChange.objects.filter(token=token).order_by("sequence")
    book = OrderBook([(c.side, c.price_cents, c.quantity) for c in kept])
    for number, message in enumerate(more, sequence + 1):
        [change] = message.changes
        book.apply([change])
        BookChange.objects.create(
            token=token,
            sequence=number,
            side=change.side,
            price_cents=change.price,
            quantity=change.quantity,
            ends_message=True,
            at=datetime.now().astimezone(),
        )
    OrderBookHead.objects.filter(token=token).update(last_sequence=sequence + len(more))


@pytest.mark.parametrize("more", [0, 2, 4])
def test_another_book_takes_the_place_when_the_log_went_another_way(
    token, started, often, caplog, more
):
    write(token, bid(1000, 1), bid(999, 1), bid(998, 1), bid(997, 1))
    feed = started()
    rounds: list[set[LiveBook]] = []
    feed.subscribe(lambda books: rounds.append(set(books)))
    book = feed.books[token.pk]
    with unguarded():
        take_back(token, 1, *(bid(900 + number, 9) for number in range(more)))
    until(lambda: not book.live)
    until(lambda: rounds)
    assert rounds == [{book, feed.books[token.pk]}]
    assert (book.sequence, len(book.ladder(0).bids)) == (4, 4)
    book = feed.books[token.pk]
    expected = [Level(900 + number, 9) for number in reversed(range(more))]
    assert book.ladder(0) == Ladder((Level(1000, 1), *expected), ())
    assert (book.sequence, book.live) == (1 + more, True)
    [said] = [r for r in caplog.records if r.name == "marketdata.books.feed"]
    assert said.levelno == logging.ERROR


def test_withdraws_a_book_whose_log_has_a_hole(token, listed, started, often, caplog):
    other = listed("ARB")
    feed = started()
    rounds = heard_by(feed)
    book = feed.books[token.pk]
    write(token, bid(1000, 5))
    until(lambda: book.sequence == 1)
    head = OrderBookHead.objects.get(token=token)
    head.last_sequence = 3
    with unguarded():
        head.save()
    until(lambda: token.pk not in feed.books)
    assert not book.live
    until(lambda: rounds[-1] == {"LUM"})
    # Each look tries it again. It is logged once.
    looked_at = feed.look_at
    until(lambda: feed.look_at > looked_at + 2 * often)
    said = [r.message for r in caplog.records if r.levelno == logging.ERROR]
    assert [m[:28] for m in said] == ["The order book of LUM cannot"]
    write(other, bid(1, 1))
    until(lambda: feed.books[other.pk].sequence == 1)
    head.last_sequence = 1
    with unguarded():
        head.save()
    until(lambda: token.pk in feed.books)
    assert feed.books[token.pk].ladder(0) == Ladder((Level(1000, 5),), ())


@pytest.mark.parametrize(("bid_quantities", "ask"), [([1], 7), ([1, 1], 8)])
def test_serves_all_other_books_where_a_snapshot_is_wrong(
    token, listed, started, caplog, bid_quantities, ask
):
    other = listed("ARB")
    write(other, bid(1, 1))
    at = record(token.pk, [bid(1000, 5)], "test").at
    with unguarded():
        BookSnapshot.objects.create(
            token=token, sequence=1, trade_sequence=0, at=at, bid_prices=[7],
            bid_quantities=bid_quantities, ask_prices=[ask], ask_quantities=[1],
        )  # fmt: skip
    feed = started()
    assert set(feed.books) == {other.pk}
    assert feed.books[other.pk].sequence == 1
    [said] = [r.message for r in caplog.records if r.levelno == logging.ERROR]
    assert said.startswith("The order book of LUM cannot be built from its newest snap")
