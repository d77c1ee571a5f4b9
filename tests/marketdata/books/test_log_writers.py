"""Many simultaneous writers of one log, and of several."""

import random
import threading
from collections.abc import Callable
from uuid import UUID

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from issuers.register.models import TokenPrice
from marketdata.books import log
from marketdata.books.log import Deal, Message, Recorded, record
from marketdata.books.orderbook import Change, ImpossibleChange, OrderBook
from marketdata.models import BookChange, BookLevel, Trade
from tests.marketdata.books.markets import bid, book_of, changes_of, head_of, traded
from tests.owner import as_owner
from tests.threads import in_threads
from tests.waiting import until_waiting_for_a_lock

pytestmark = pytest.mark.django_db(transaction=True)
WRITERS = 8
CALLS = 60


@pytest.mark.parametrize("tokens", [1, WRITERS])
def test_many_writers_lose_nothing_and_number_without_gaps(
    tokens: int, patient_locks: None
):
    ids = [traded(f"T{number}").pk for number in range(tokens)]
    acknowledged: list[tuple[UUID, Recorded, list[Change], list[Deal]]] = []

    def write(number: int) -> None:
        dice = random.Random(number)
        token_id = ids[number % tokens]
        mine: dict[int, int] = {}
        for call in range(CALLS):
            changes = []
            for _ in range(dice.randrange(1, 6)):
                # Prices of this writer's own, so that its changes are always possible.
                price = 1000 * (number + 1) + dice.randrange(9)
                quantity = dice.randrange(1, 99)
                if price in mine and dice.random() < 0.4:
                    quantity = 0
                    del mine[price]
                else:
                    mine[price] = quantity
                changes.append(bid(price, quantity))
            deals = [Deal(price, 1)] * dice.randrange(3) if call % 10 == 0 else []
            if number % 2:
                # Writes like another process, which does not know this one's book.
                log.kept.pop(token_id, None)
            recorded = record(token_id, [Message(changes, deals)], "me")
            acknowledged.append((token_id, recorded, changes, deals))

    assert in_threads(WRITERS, write) == []
    assert len(acknowledged) == WRITERS * CALLS
    for token_id in ids:
        mine = [said for said in acknowledged if said[0] == token_id]
        expected: list[Change] = []
        for _, recorded, changes, _ in sorted(mine, key=lambda said: said[1].sequence):
            expected += changes
            assert recorded.sequence == len(expected)
        stored = changes_of(token_id)
        assert [row[0] for row in stored] == list(range(1, len(expected) + 1))
        assert [Change(*row[1:4]) for row in stored] == expected
        deals = sum(len(said[3]) for said in mine)
        assert list(
            Trade.objects.filter(token=token_id)
            .order_by("sequence")
            .values_list("sequence", flat=True)
        ) == list(range(1, deals + 1))
        assert head_of(token_id)[:2] == (len(expected), deals)
        assert book_of(token_id) == OrderBook(expected)
        times = BookChange.objects.filter(token=token_id).order_by("sequence")
        in_order = list(times.values_list("at", flat=True))
        assert in_order == sorted(in_order)
        priced = sum(1 for said in mine if said[3])
        assert TokenPrice.objects.filter(token=token_id).count() == priced


def test_a_writer_waits_for_a_transaction_that_holds_the_log():
    token_id = traded("ACME").pk
    record(token_id, [Message([bid(1, 1)])], "me")
    said = []

    def write(number: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 50")
        said.append(record(token_id, [Message([bid(10 + number, 1)])], "me").sequence)

    with transaction.atomic():
        record(token_id, [Message([bid(2, 1)])], "me")
        others = threading.Thread(target=in_threads, args=(3, write))
        others.start()
        until_waiting_for_a_lock()
        # Longer than they wait for another lock.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.2)")
        assert said == []
        # This transaction may continue the book for which the others wait.
        record(token_id, [Message([bid(2, 0)])], "me")
    others.join()
    assert sorted(said) == [4, 5, 6]


def test_after_a_wait_that_is_too_long_the_next_call_goes_on(
    caplog: pytest.LogCaptureFixture,
):
    token_id = traded("ACME").pk
    record(token_id, [Message([bid(1, 1)])], "me")
    raised: list[BaseException] = []

    def write(number: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 200")
        with (
            CaptureQueriesContext(connection) as tried,
            pytest.raises(OperationalError, match="statement timeout") as error,
        ):
            record(token_id, [Message([bid(1, 5)])], "me")
        raised.append(error.value)
        assert [q["sql"].split()[0] for q in tried] == ["BEGIN", "SELECT", "ROLLBACK"]

    with transaction.atomic():
        record(token_id, [Message([bid(1, 0)])], "me")
        assert in_threads(1, write) == []
    assert len(raised) == 1
    assert record(token_id, [Message([bid(1, 7)])], "me").sequence == 3
    assert book_of(token_id) == OrderBook([bid(1, 7)])


def end_connection() -> None:
    """Ends the connection, as a server shutdown does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [(backend,)] = cursor.fetchall()
    killer = connection.copy()
    with killer.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 60000)", [backend])
    killer.close()


def test_a_connection_that_has_ended_meanwhile_is_replaced():
    token_id = traded("ACME").pk
    record(token_id, [Message([bid(1, 1)])], "me")
    end_connection()
    assert record(token_id, [Message([bid(1, 2)])], "me").sequence == 2
    assert book_of(token_id) == OrderBook([bid(1, 2)])


@pytest.mark.parametrize("end", [end_connection, connection.close])
def test_a_log_that_others_have_written_on_since_a_restoration_is_read_anew(
    end: Callable[[], None],
):
    token_id = traded("ACME").pk
    record(token_id, [Message([bid(1, 1)])], "me")
    # As if that had been lost, and another process had then written this.
    with as_owner():
        BookChange.objects.filter(token=token_id).update(price_cents=2)
        BookLevel.objects.filter(token=token_id).update(price_cents=2)
    end()
    with pytest.raises(ImpossibleChange, match="there is no level at this price"):
        record(token_id, [Message([bid(1, 0)])], "me")
    assert record(token_id, [Message([bid(2, 0)])], "me").sequence == 2
    assert book_of(token_id) == OrderBook()
