"""The database guards the logs against every writer."""

import random

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction

from issuers.models import Token
from marketdata.books.log import Deal, Message, record
from marketdata.books.orderbook import CrossedBook, ImpossibleChange, OrderBook
from marketdata.models import BookChange, Trade
from tests.marketdata.books.markets import bid, book_of, head_of, traded
from tests.owner import tamper

ME = "maker@example.com"


@pytest.fixture
def acme(db: None) -> Token:
    return traded("ACME")


def refuses(statement: str, *, saying: str = "permission denied") -> None:
    with (
        pytest.raises((IntegrityError, ProgrammingError), match=saying),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


REFUSED = [
    "UPDATE marketdata_bookchange SET quantity = 9",
    "UPDATE marketdata_trade SET quantity = 9",
    "TRUNCATE marketdata_bookchange",
    "TRUNCATE marketdata_trade",
    "DELETE FROM marketdata_bookchange",
    "DELETE FROM marketdata_bookchange WHERE sequence > 1001",
    "DELETE FROM marketdata_bookchange WHERE sequence = 2",
    "DELETE FROM marketdata_trade",
    "DELETE FROM marketdata_trade WHERE sequence = 2",
    "DELETE FROM marketdata_tradingday",
    "TRUNCATE marketdata_tradingday",
    "UPDATE marketdata_orderbookhead SET last_sequence = 7",
    "UPDATE marketdata_orderbookhead SET last_trade = 0",
    "UPDATE marketdata_orderbookhead SET last_at = last_at - interval '1 s'",
]


def test_the_database_refuses_what_would_change_a_log(acme: Token):
    record(acme.pk, [Message([bid(1, 1)])] * 1000, ME)
    record(acme.pk, [Message([bid(1, 2)] * 5, [Deal(1, 1)] * 3)], ME)
    for statement in REFUSED:
        refuses(statement)
    assert head_of(acme.pk) == (1005, 3, 1000)
    assert (BookChange.objects.count(), Trade.objects.count()) == (1005, 3)


def test_a_log_loses_its_beginning_as_far_as_a_snapshot_covers_it(acme: Token):
    record(acme.pk, [Message([bid(1, 1)], [Deal(1, 1)])] * 1000, ME)
    record(acme.pk, [Message([bid(1, 2)])] * 1000, ME)
    tamper("UPDATE marketdata_booksnapshot SET at = at - interval '2 days'")
    prune = f"SELECT marketdata_prune('{acme.pk}', {{}}, {{}}, {{}})"
    for snapshots, first, last in ((0, 1, 1001), (0, 2, 1000), (0, 500, 600)):
        refuses(prune.format(snapshots, first, last), saying="Of the log of token")
    assert execute(prune.format(0, 1, 600)) == [(600,)]
    assert execute(prune.format(0, 601, 1000)) == [(400,)]
    recorded = record(acme.pk, [Message([bid(1, 3)], [Deal(1, 1)])], ME)
    assert (recorded.sequence, recorded.trade) == (2001, 1001)


def execute(statement: str) -> list[tuple[int]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


RECORD = """SELECT marketdata_record(
    %s, %s, %s::smallint[], %s, %s, %s, '{}', '{}', FALSE)"""


@pytest.mark.parametrize("seed", range(5))
def test_the_database_refuses_the_batches_that_the_order_book_refuses(
    acme: Token, seed: int
):
    """For every caller, no message of a batch may leave the book crossed."""
    chance = random.Random(seed)
    book, known, refused = OrderBook(), 0, 0
    for _ in range(60):
        messages = [
            [
                (chance.randrange(2), chance.randrange(1, 8), chance.randrange(3))
                for _ in range(chance.randrange(1, 3))
            ]
            for _ in range(chance.randrange(1, 4))
        ]
        after = book_of(acme.pk)
        try:
            for message in messages:
                after.apply(message)
        except (ImpossibleChange, CrossedBook):
            is_possible = False
        else:
            is_possible, book = True, after
        changes = [change for message in messages for change in message]
        ends = [n == len(m) - 1 for m in messages for n in range(len(m))]
        columns = [[change[place] for change in changes] for place in range(3)]
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(RECORD, [acme.pk, known, *columns, ends])
        except IntegrityError:
            refused += 1
            assert not is_possible, messages
        else:
            assert is_possible, messages
            known += len(changes)
        assert book_of(acme.pk) == book
    assert 0 < refused < 60
