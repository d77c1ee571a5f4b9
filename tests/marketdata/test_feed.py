"""The feed against the real log, in its own thread, over real servers."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from time import monotonic, sleep
from uuid import UUID

import psycopg
import pytest
from django.db import connection, transaction

from issuers.models import Issuer, Token
from marketdata.bell import BELL
from marketdata.feed import Feed, LiveBook
from marketdata.livebook import JOURNAL_CHANGES
from marketdata.log import Deal, Message, record
from marketdata.models import BookChange, BookSnapshot, OrderBookHead
from marketdata.orderbook import ASK, BID, Change, Ladder, Level, OrderBook
from tests.register import new_issuer

pytestmark = pytest.mark.django_db(transaction=True)

NOWHERE = "redis://127.0.0.1:1/0"


def until(reached: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = monotonic() + seconds
    while not reached():
        assert monotonic() < deadline, "it did not come"
        sleep(0.002)


def bid(price: int, quantity: int) -> Message:
    return Message([Change(BID, price, quantity)])


def ask(price: int, quantity: int) -> Message:
    return Message([Change(ASK, price, quantity)])


def write(token: Token, *messages: Message) -> int:
    return record(token.pk, messages, "test").sequence


@pytest.fixture
def issuer() -> Issuer:
    return new_issuer()


@pytest.fixture
def listed(issuer: Issuer) -> Callable[[str], Token]:
    """Brings a token of a symbol to the secondary market."""

    def bring(symbol: str) -> Token:
        return Token.objects.create(
            issuer=issuer,
            name=f"Shares {symbol}",
            symbol=symbol,
            market_type=Token.MarketType.SECONDARY_MARKET,
        )

    return bring


@pytest.fixture
def token(listed: Callable[[str], Token]) -> Token:
    return listed("LUM")


@pytest.fixture
def started() -> Iterator[Callable[..., Feed]]:
    """Starts feeds, and stops them before the tables are emptied."""
    feeds = []

    def start(token_ids: list[UUID] | None = None) -> Feed:
        feed = Feed(token_ids)
        feed.start()
        feeds.append(feed)
        return feed

    yield start
    for feed in feeds:
        feed.stop()
        assert not feed.is_alive


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> float:
    """How many seconds pass between two looks, for tests that wait for one."""
    monkeypatch.setattr("marketdata.feed.LOOK_SECONDS", 0.1)
    return 0.1


def heard_by(feed: Feed) -> list[set[str]]:
    """The symbols of each round."""
    rounds: list[set[str]] = []
    feed.listen(lambda books: rounds.append({book.symbol for book in books}))
    return rounds


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


def test_the_bell_wakes_it_at_once(token, started):
    feed = started()
    book = feed.books[token.pk]
    until(lambda: feed.hearing.bell is not None)
    sleep(0.1)
    waited = []
    for number in range(1, 41):
        began = monotonic()
        write(token, bid(1000, number))
        until(lambda number=number: book.sequence == number)
        waited.append(monotonic() - began)
    # Without it, half a second would pass on the average.
    assert sorted(waited)[30] < 0.2


def test_a_bell_for_nothing_and_one_in_another_tongue_are_passed_over(token, started):
    feed = started()
    until(lambda: feed.hearing.bell is not None)
    for payload in (b"\xff", b"LUM", b"00000000-0000-7000-8000-000000000000"):
        feed.hearing.client.publish(BELL, payload)
    write(token, bid(1000, 5))
    until(lambda: feed.books[token.pk].sequence == 1)
    assert feed.is_alive


def test_follows_within_a_second_without_redis(token, started, settings, caplog):
    settings.REDIS_URL = NOWHERE
    feed = started()
    book = feed.books[token.pk]
    sleep(0.1)
    for number in (1, 2):
        began = monotonic()
        write(token, bid(1000, number))
        until(lambda number=number: book.sequence == number)
        assert monotonic() - began < 2.5
    away = [r for r in caplog.records if r.message.startswith("Redis does not answer")]
    assert [r.levelno for r in away if r.name == "marketdata.hearing"] == [
        logging.WARNING
    ]


def test_hears_the_bell_again_after_redis_hung_up(token, started, caplog):
    caplog.set_level(logging.INFO, "marketdata.hearing")
    feed = started()
    book = feed.books[token.pk]
    until(lambda: feed.hearing.bell is not None)
    client = feed.hearing.client
    number = client.connection_pool.connection_kwargs["db"]
    for one in client.client_list(_type="pubsub"):
        if one["db"] == str(number):
            client.client_kill_filter(_id=one["id"])
    until(lambda: feed.hearing.is_away)
    until(lambda: feed.hearing.bell is not None)
    looks_at = feed.look_at
    write(token, bid(1000, 1))
    until(lambda: book.sequence == 1)
    assert feed.look_at == looks_at
    said = [r.message[:21] for r in caplog.records if r.name == "marketdata.hearing"]
    assert said == ["Redis does not answer", "Redis answers again: "]


def test_ends_at_once_with_redis_and_without(token, started, settings):
    for url in (settings.REDIS_URL, NOWHERE):
        settings.REDIS_URL = url
        feed = started()
        sleep(0.1)
        began = monotonic()
        feed.stop()
        assert monotonic() - began < 0.9
        assert not feed.is_alive


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


def end_sessions() -> None:
    """End all sessions but this thread's, as a restart of the server would."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
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
    caplog.set_level(logging.INFO, "marketdata.feed")
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
    until(lambda: book.sequence == 2 and not feed.is_away)
    assert book.rebuilt == 0
    said = [r.message for r in caplog.records if r.name == "marketdata.feed"]
    assert [m[:26] for m in said] == [
        "PostgreSQL does not answer",
        "PostgreSQL answers again: ",
    ]


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
    # Nothing was written of it yet; one that is traded can not go.
    later.delete()
    until(lambda: token.pk in feed.books and len(feed.books) == 1)
    assert not book.live
    assert feed.books[token.pk].live
    assert set(chosen.books) == {token.pk}


def test_notices_that_a_token_is_renamed_or_hidden(token, started, often):
    feed = started()
    rounds = heard_by(feed)
    book = feed.books[token.pk]
    Token.objects.filter(pk=token.pk).update(
        symbol="LUMEN", isin="FR0000120271", visibility=Token.Visibility.PRIVATE
    )
    until(lambda: rounds)
    assert (book.symbol, book.isin, book.is_public) == ("LUMEN", "FR0000120271", False)
    assert rounds == [{"LUMEN"}]


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
    assert numbered == (0, Ladder((), ()))
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


def test_starts_from_the_newest_snapshot_alone(token, started):
    for first in range(1, 1400, 100):
        write(token, *(bid(1000, quantity) for quantity in range(first, first + 100)))
    snapshot = BookSnapshot.objects.get(token=token)
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


def test_makes_a_book_anew_when_the_log_was_pruned_before_it(
    token, started, often, caplog
):
    feed = started()
    book = feed.books[token.pk]
    # In one transaction: the feed sees nothing of it before all of it is done.
    with transaction.atomic():
        write(token, *(bid(1000, quantity) for quantity in range(1, 1001)))
        write(token, *(bid(1000, quantity) for quantity in range(1001, 1101)))
        snapshot = BookSnapshot.objects.get(token=token)
        BookChange.objects.filter(token=token, sequence__lte=snapshot.sequence).delete()
    until(lambda: book.sequence == 1100)
    assert feed.books[token.pk] is book
    assert book.ladder(0) == Ladder((Level(1000, 1100),), ())
    assert (book.rebuilt, book.live) == (1, True)
    assert book.since(0) is None
    [said] = [r for r in caplog.records if r.name == "marketdata.feed"]
    assert said.levelno == logging.WARNING
    assert said.message.startswith("The log of LUM does not lead on from change 0")
    last = write(token, bid(1000, 0))
    until(lambda: book.sequence == last)
    assert book.ladder(0) == Ladder((), ())


@contextlib.contextmanager
def unguarded() -> Iterator[None]:
    """A transaction in which the tables' owner does what their triggers refuse."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield


def take_back(token: Token, sequence: int, *more: Message) -> None:
    """As a restored backup would: the log ends earlier, and goes on."""
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
    feed.listen(lambda books: rounds.append(set(books)))
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
    [said] = [r for r in caplog.records if r.name == "marketdata.feed"]
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
    head.save()
    until(lambda: token.pk not in feed.books)
    assert not book.live
    until(lambda: rounds[-1] == {"LUM"})
    # It is tried again with each look, and complained of once.
    looked_at = feed.look_at
    until(lambda: feed.look_at > looked_at + 2 * often)
    said = [r.message for r in caplog.records if r.levelno == logging.ERROR]
    assert [m[:26] for m in said] == ["The order book of LUM can "]
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
    BookSnapshot.objects.create(
        token=token, sequence=1, trade_sequence=0, at=at, bid_prices=[7],
        bid_quantities=bid_quantities, ask_prices=[ask], ask_quantities=[1],
    )  # fmt: skip
    feed = started()
    assert set(feed.books) == {other.pk}
    assert feed.books[other.pk].sequence == 1
    [said] = [r.message for r in caplog.records if r.levelno == logging.ERROR]
    assert said.startswith("The order book of LUM can not be made from its newest snap")


def test_many_look_while_it_is_written(token, started):
    feed = started()
    book: LiveBook = feed.books[token.pk]
    write(token, bid(1000, 1), ask(1001, 1))
    stop = threading.Event()
    wrong = []

    def look() -> None:
        while not stop.is_set():
            sequence, ladder = book.numbered_ladder(5)
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


def test_an_outage_keeps_nothing_from_being_told_or_mended(
    token, listed, started, often, caplog
):
    other = listed("ARB")
    write(token, bid(1000, 5))
    feed = started()
    rounds = heard_by(feed)
    book = feed.books[token.pk]
    BookSnapshot.objects.create(
        token=token, sequence=2, trade_sequence=0, at=book.at, bid_prices=[7],
        bid_quantities=[1], ask_prices=[], ask_quantities=[],
    )  # fmt: skip
    with psycopg.connect(**connection.get_connection_params()) as session:
        # Whoever wants to read snapshots waits, and gives up after two seconds.
        session.execute("LOCK TABLE marketdata_booksnapshot")
        with unguarded():
            BookChange.objects.create(
                token=token, sequence=2, side=BID, price_cents=1, quantity=0,
                ends_message=True, at=book.at,
            )  # fmt: skip
            OrderBookHead.objects.filter(token=token).update(last_sequence=2)
            write(other, bid(1, 1))
        until(lambda: feed.is_away)
        until(lambda: {"ARB"} in rounds)
        assert feed.books[token.pk] is book
    until(lambda: not book.live)
    assert feed.books[token.pk].ladder(0) == Ladder((Level(7, 1),), ())
    assert feed.books[token.pk].sequence == 2
    said = [r.message for r in caplog.records if r.levelno == logging.ERROR]
    assert [m[:35] for m in said] == ["The log of LUM does not lead on fro"]
