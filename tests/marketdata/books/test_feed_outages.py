"""The feed while Redis or PostgreSQL is away."""

import logging
from time import monotonic

import psycopg
import pytest
from django.db import connection

from marketdata.books import feed as feed_module
from marketdata.books.feed import Feed
from marketdata.books.orderbook import BID, Ladder, Level
from marketdata.models import BookChange, BookSnapshot, OrderBookHead
from tests.marketdata.books.feeds import bid, heard_by, unguarded, write
from tests.owner import as_owner
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

NOWHERE = "redis://127.0.0.1:1/0"


def test_follows_with_each_look_without_redis(
    token, started, settings, caplog, monkeypatch
):
    settings.REDIS_URL = NOWHERE
    assert feed_module.LOOK_SECONDS == 1.0
    seen: list[int] = []
    look = Feed.look

    def counted(feed: Feed) -> None:
        look(feed)
        seen.append(feed.books[token.pk].sequence)

    monkeypatch.setattr(Feed, "look", counted)
    feed = started()
    until(lambda: feed.growth.outage.is_on)
    for number in (1, 2):
        write(token, bid(1000, number))
        # One look may have begun before. The next one begins after.
        before = len(seen)
        until(lambda before=before: len(seen) > before + 1)
        assert seen[before + 1] == number
    away = [r for r in caplog.records if r.message.startswith("Redis does not answer")]
    assert [r.levelno for r in away if r.name == "marketdata.books.listen"] == [
        logging.WARNING
    ]


def test_is_notified_again_after_redis_hung_up(token, started, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "marketdata.books.listen")
    feed = started()
    book = feed.books[token.pk]
    until(lambda: feed.growth.channel is not None)
    client = feed.growth.client
    number = client.connection_pool.connection_kwargs["db"]
    for one in client.client_list(_type="pubsub"):
        if one["db"] == str(number):
            client.client_kill_filter(_id=one["id"])
    until(lambda: feed.growth.outage.is_on)
    until(lambda: feed.growth.channel is not None)
    monkeypatch.setattr(feed_module, "LOOK_SECONDS", 100_000.0)
    until(lambda: feed.look_at > monotonic() + 1_000)
    write(token, bid(1000, 1))
    until(lambda: book.sequence == 1)
    said = [
        r.message[:21] for r in caplog.records if r.name == "marketdata.books.listen"
    ]
    assert said == ["Redis does not answer", "Redis answers again: "]


def end_sessions() -> None:
    """End all sessions but this thread's, as a restart of the server would."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND backend_type = 'client backend'"
            " AND pid <> pg_backend_pid()"
        )


def test_replaces_a_connection_that_was_ended(token, started):
    feed = started()
    book = feed.books[token.pk]
    for number in (1, 2):
        end_sessions()
        write(token, bid(1000, number))
        until(lambda number=number: book.sequence == number)
    assert book.rebuilt == 0


def test_waits_for_postgresql_and_says_so_once(token, started, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "marketdata.books.feed")
    feed = started()
    book = feed.books[token.pk]
    write(token, bid(1000, 1))
    until(lambda: book.sequence == 1)
    with monkeypatch.context() as patched:
        # This thread is connected already; all threads share these settings.
        patched.setitem(connection.settings_dict, "HOST", "/nowhere")
        end_sessions()
        write(token, bid(1000, 2))
        until(lambda: feed.pause > 0.4)
        assert book.sequence == 1
    until(lambda: book.sequence == 2 and "answers again" in caplog.text)
    assert not feed.outage.is_on
    assert book.rebuilt == 0
    said = [r.message for r in caplog.records if r.name == "marketdata.books.feed"]
    assert [m[:26] for m in said] == [
        "PostgreSQL does not answer",
        "PostgreSQL answers again: ",
    ]


def test_an_outage_keeps_nothing_from_being_told_or_mended(
    token, listed, started, often, caplog
):
    other = listed("ARB")
    write(token, bid(1000, 5))
    feed = started()
    rounds = heard_by(feed)
    book = feed.books[token.pk]
    with unguarded():
        BookSnapshot.objects.create(
            token=token, sequence=2, trade_sequence=0, at=book.at, bid_prices=[7],
            bid_quantities=[1], ask_prices=[], ask_quantities=[],
        )  # fmt: skip
    with as_owner():
        owners = connection.get_connection_params()
    with psycopg.connect(**owners) as session:
        # Readers of snapshots wait, and give up after two seconds.
        session.execute("LOCK TABLE marketdata_booksnapshot")
        with unguarded():
            BookChange.objects.create(
                token=token, sequence=2, side=BID, price_cents=1, quantity=0,
                ends_message=True, at=book.at,
            )  # fmt: skip
            OrderBookHead.objects.filter(token=token).update(last_sequence=2)
            write(other, bid(1, 1))
        until(lambda: feed.outage.is_on)
        until(lambda: {"ARB"} in rounds)
        assert feed.books[token.pk] is book
    until(lambda: not book.live)
    assert feed.books[token.pk].ladder(0) == Ladder((Level(7, 1),), ())
    assert feed.books[token.pk].sequence == 2
    said = [r.message for r in caplog.records if r.levelno == logging.ERROR]
    assert [m[:35] for m in said] == ["The log of LUM does not continue fr"]
