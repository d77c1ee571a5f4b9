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


def refuses(statement: str, *, saying: str) -> None:
    """The guards refuse it to the owner. The application has no right to it."""
    with pytest.raises(IntegrityError, match=saying), transaction.atomic():
        execute(statement)
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def execute(statement: str) -> int:
    return tamper(statement, guarded=True)


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
        refuses(statement, saying="log|stays as it was written")
    assert head_of(acme.pk) == (1005, 3, 1000)
    assert (BookChange.objects.count(), Trade.objects.count()) == (1005, 3)


def test_a_log_loses_its_beginning_as_far_as_a_snapshot_covers_it(acme: Token):
    record(acme.pk, [Message([bid(1, 1)], [Deal(1, 1)])] * 1000, ME)
    record(acme.pk, [Message([bid(1, 2)])], ME)
    up_to = "DELETE FROM marketdata_bookchange WHERE sequence <= {}"
    refuses(up_to.format(1001), saying=f"token {acme.pk}, number 1001")
    assert execute(up_to.format(600)) == 600
    assert execute(up_to.format(1000)) == 400
    recorded = record(acme.pk, [Message([bid(1, 3)], [Deal(1, 1)])], ME)
    assert (recorded.sequence, recorded.trade) == (1002, 1001)


CHANGE = """
    WITH moved AS (
        UPDATE marketdata_orderbookhead SET last_sequence = last_sequence + {by}
        RETURNING token_id, last_at
    )
    INSERT INTO marketdata_bookchange
        (token_id, sequence, side, price_cents, quantity, ends_message, at)
    SELECT token_id, {sequence}, 0, 1, 1, {ends}, last_at + interval '{later}'
    FROM moved
"""
HONEST = {"by": 1, "sequence": 3, "ends": True, "later": "0 s"}


WRONG: list[dict[str, object]] = [
    {"by": 0},
    {"by": 2},
    {"by": 2, "sequence": 4},
    {"sequence": 5},
    {"ends": False},
    {"later": "1 s"},
    {"later": "-1 s"},
]


def test_a_change_that_does_not_follow_the_last_one_is_refused(acme: Token):
    record(acme.pk, [Message([bid(1, 1), bid(2, 1)])], ME)
    for wrong in WRONG:
        statement = CHANGE.format(**HONEST | wrong)
        refuses(statement, saying="next change must have the next")
    assert head_of(acme.pk) == (2, 0, 0)
    execute(CHANGE.format(**HONEST))
    assert head_of(acme.pk) == (3, 0, 0)


def test_a_trade_that_does_not_follow_the_last_one_is_refused(acme: Token):
    at = record(acme.pk, [Message(deals=[Deal(1, 1)])], ME).at
    primary = Token.objects.create(issuer=acme.issuer, name="P", symbol="PRIM")
    for token, sequence in ((acme, 2), (acme, 3), (primary, 1)):
        refuses(
            "INSERT INTO marketdata_trade (token_id, sequence, price_cents, quantity,"
            f" at) VALUES ('{token.pk}', {sequence}, 1, 1, '{at}')",
            saying="next trade",
        )
    assert head_of(acme.pk) == (0, 1, 0)


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
