"""The feed against the real log, in its own thread, over real servers."""

import pytest
from django.db import connection

from issuers.models import Token
from marketdata.books.log import Message
from marketdata.books.notify import channel
from marketdata.books.orderbook import ASK, BID, Change, Ladder, Level
from marketdata.models import BookChange, BookSnapshot, OrderBookHead
from tests.marketdata.books.feeds import ask, bid, heard_by, rename, write
from tests.owner import as_owner
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

NOWHERE = "redis://127.0.0.1:1/0"


def test_starts_with_the_books_that_the_logs_hold(token, listed, started):
    write(token, bid(1000, 5), Message([Change(ASK, 1010, 7), Change(BID, 990, 2)]))
    empty = listed("NEW")
    feed = started()
    assert set(feed.books) == {token.pk, empty.pk}
    book = feed.books[token.pk]
    assert book.ladder(0) == Ladder((Level(1000, 5), Level(990, 2)), (Level(1010, 7),))
    assert book.sequence == 3
    assert book.at == OrderBookHead.objects.get(token=token).last_at
    assert (book.symbol, book.isin, book.name) == ("LUM", None, "Shares LUM")
    assert (book.issuer_id, book.is_public) == (str(token.issuer_id), True)
    assert feed.books[empty.pk].ladder(0) == Ladder((), ())
    assert (feed.books[empty.pk].sequence, feed.books[empty.pk].at) == (0, None)


def test_follows_what_is_written_and_says_which_books_changed(token, listed, started):
    other = listed("ARB")
    feed = started()
    rounds = heard_by(feed)
    book = feed.books[token.pk]
    last = write(token, bid(1000, 5), ask(1010, 7))
    until(lambda: book.sequence == last)
    last = write(token, Message([Change(BID, 1000, 0), Change(BID, 999, 1)]))
    until(lambda: book.sequence == last == 4)
    assert book.ladder(5) == Ladder((Level(999, 1),), (Level(1010, 7),))
    assert feed.books[other.pk].sequence == 0
    until(lambda: len(rounds) > 1)
    assert rounds == [{"LUM"}, {"LUM"}]


def test_a_notification_wakes_it_at_once(token, started, never):
    feed = started()
    book = feed.books[token.pk]
    until(lambda: feed.growth.channel is not None)
    for number in range(1, 41):
        write(token, bid(1000, number))
        until(lambda number=number: book.sequence == number)


def test_a_notification_of_another_token_or_of_no_token_is_ignored(token, started):
    feed = started()
    until(lambda: feed.growth.channel is not None)
    for payload in (b"\xff", b"LUM", b"00000000-0000-7000-8000-000000000000"):
        feed.growth.client.publish(channel(), payload)
    write(token, bid(1000, 5))
    until(lambda: feed.books[token.pk].sequence == 1)
    assert feed.is_alive


def test_ends_before_the_next_look_with_redis_and_without(
    token, started, never, settings
):
    for url in (settings.REDIS_URL, NOWHERE):
        settings.REDIS_URL = url
        feed = started()
        until(lambda feed=feed: feed.growth.channel or feed.growth.outage.is_on)
        feed.stopping.set()
        until(lambda feed=feed: not feed.is_alive)


def test_leaves_no_connection_behind(token, started, often):
    def sessions() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE state IS NOT NULL"
                " AND datname = current_database() AND pid <> pg_backend_pid()"
            )
            return cursor.fetchone()[0]

    before = sessions()
    feed = started()
    until(lambda: sessions() == before + 1)
    feed.stop()
    until(lambda: sessions() == before)


def test_no_transaction_stays_open(token, started):
    feed = started()
    write(token, bid(1000, 5))
    until(lambda: feed.books[token.pk].sequence == 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%%'"
            " AND datname = current_database()"
        )
        assert cursor.fetchone() == (0,)


def test_finds_tokens_that_come_to_the_market_and_go(token, issuer, started, often):
    feed = started()
    later = Token.objects.create(issuer=issuer, name="Later", symbol="LATER")
    chosen = started([token.pk])
    before = feed.books
    later.market_type = Token.MarketType.SECONDARY_MARKET
    later.save()
    until(lambda: later.pk in feed.books)
    assert set(before) == {token.pk}
    book = feed.books[later.pk]
    # Nothing was written for it yet: a traded token cannot be withdrawn.
    with as_owner():
        later.delete()
    until(lambda: token.pk in feed.books and len(feed.books) == 1)
    assert not book.live
    assert feed.books[token.pk].live
    assert set(chosen.books) == {token.pk}


def test_notices_that_a_token_is_renamed_or_hidden(token, started, often):
    feed = started()
    rounds = heard_by(feed)
    book = feed.books[token.pk]
    rename(token, "LUMEN", "FR0000120271", visibility=Token.Visibility.PRIVATE)
    until(lambda: rounds)
    assert (book.symbol, book.isin, book.is_public) == ("LUMEN", "FR0000120271", False)
    assert rounds == [{"LUMEN"}]


def test_starts_from_the_newest_snapshot_alone(token, started):
    for first in range(1, 1400, 100):
        write(token, *(bid(1000, quantity) for quantity in range(first, first + 100)))
    snapshot = BookSnapshot.objects.get(token=token)
    with as_owner():
        BookChange.objects.filter(token=token, sequence__lt=snapshot.sequence).delete()
    feed = started()
    assert feed.books[token.pk].sequence == 1400
    assert feed.books[token.pk].ladder(0) == Ladder((Level(1000, 1400),), ())


def test_starts_in_as_many_statements_for_many_books(
    token, listed, started, often, django_assert_max_num_queries
):
    tokens = [listed(f"T{number}") for number in range(40)]
    for number, one in enumerate(tokens, 1):
        write(one, bid(1000, number), ask(1010, number))
    with django_assert_max_num_queries(8):
        feed = started()
    assert len(feed.books) == 41
    for number, one in enumerate(tokens, 1):
        write(one, bid(1001, number))
    until(lambda: all(feed.books[one.pk].sequence == 3 for one in tokens))
    for number, one in enumerate(tokens, 1):
        assert feed.books[one.pk].ladder(1) == Ladder(
            (Level(1001, number),), (Level(1010, number),)
        )
