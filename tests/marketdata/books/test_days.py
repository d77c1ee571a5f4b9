"""The figures of trading days: of the database, of a feed, and by SQL over the tape."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import ProgrammingError, connection, transaction

from issuers.models import Token
from marketdata.books.days import day_of, read_last_days
from marketdata.books.livebook import LiveBook
from marketdata.books.log import Deal, Message, record
from marketdata.models import TradingDay
from marketdata.trading.busts import bust
from tests.marketdata.books.markets import traded
from tests.marketdata.books.tapes import over_the_tape, tape
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    sell,
)
from tests.waiting import until


@pytest.fixture
def acme(db: None) -> Token:
    return traded("ACME")


def test_the_figures_are_those_of_the_tape_after_each_trade(acme: Token):
    book = LiveBook(acme.pk, "ACME", None, "Acme", "issuer", True)
    for trade in tape(acme, 70):
        book.extend_trades([trade])
        days = [one for one in over_the_tape(acme) if one.day <= day_of(trade.at)]
        assert book.tape.day is not None
        assert book.tape.day.day == days[-1].day
    *before, last = over_the_tape(acme)
    assert len(before) >= 2
    assert (book.tape.day, book.tape.closed) == (last, before[-1])
    assert read_last_days([acme.pk], 99)[acme.pk] == [last, *reversed(before)]
    assert book.end_day(last.day) is False
    assert book.end_day(last.day + timedelta(days=1)) is True
    assert book.end_day(last.day + timedelta(days=1)) is False
    assert book.tape.closed == last


def test_the_application_can_not_write_a_day(acme: Token):
    record(acme.pk, [Message(deals=[Deal(7, 2)])], "maker")
    for statement in (
        "UPDATE marketdata_tradingday SET close_cents = 1",
        "INSERT INTO marketdata_tradingday SELECT * FROM marketdata_tradingday",
    ):
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    assert TradingDay.objects.get().close_cents == 7


def test_a_feed_carries_the_day_on(transactional_db: None, started):
    acme = traded("ACME")
    record(acme.pk, [Message(deals=[Deal(10, 1), Deal(12, 3)])], "maker")
    feed = started()
    record(acme.pk, [Message(deals=[Deal(9, 2)])], "maker")
    book = feed.books[acme.pk]
    until(lambda: book.tape.number == 3)
    assert book.tape.day == over_the_tape(acme)[-1]
    assert book.tape.day.vwap == 11
    assert started([acme.pk]).books[acme.pk].tape == book.tape


def test_a_feed_does_not_count_what_was_busted(
    transactional_db: None, one_person: None, started
):
    token = new_market()
    seller, buyer = new_clients(2)
    deposit(buyer, 10_000)
    give(token, {seller: 100})
    for price in (100, 110):
        place(token, sell(seller, 5, price), buy(buyer, 5, price))
    feed = started([token.pk])
    book = feed.books[token.pk]
    bust(token.pk, 2, "Oops", "", "")
    until(lambda: book.tape.day[1:8] == (100, 100, 100, 100, 5, 500, 1))
    bust(token.pk, 1, "Oops", "", "")
    until(lambda: book.tape.day[1:8] == (100, 100, 100, 100, 0, 0, 0))
    place(token, sell(seller, 1, 105), buy(buyer, 1, 105))
    until(lambda: book.tape.day[1:8] == (105, 105, 105, 105, 1, 105, 1))
    assert started([token.pk]).books[token.pk].tape == book.tape


def test_the_day_is_the_calendar_day_of_the_market():
    assert day_of(datetime(2026, 3, 1, 22, 59, tzinfo=UTC)) == date(2026, 3, 1)
    assert day_of(datetime(2026, 3, 1, 23, 0, tzinfo=UTC)) == date(2026, 3, 2)
    assert day_of(datetime(2026, 7, 1, 22, 0, tzinfo=UTC)) == date(2026, 7, 2)
