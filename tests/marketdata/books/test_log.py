"""What a call writes to the log of an order book, and what it refuses."""

import contextlib
import uuid
from datetime import timedelta

import pytest
from cachetools import LRUCache
from django.db import transaction
from django.utils import timezone

from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import TokenPrice
from marketdata.books import log
from marketdata.books.log import Deal, MarketClosed, Message, record
from marketdata.books.orderbook import Change, CrossedBook, ImpossibleChange, OrderBook
from marketdata.models import BookChange, BookSnapshot, OrderBookHead, Trade
from tests.issuers.register import new_issuer
from tests.marketdata.books.markets import (
    ask,
    bid,
    book_of,
    changes_of,
    head_of,
    traded,
)
from tests.owner import tamper

ME = "maker@example.com"


@pytest.fixture
def acme(transactional_db: None) -> Token:
    return traded("ACME")


def say(token: Token, *changes: Change) -> log.Recorded:
    return record(token.pk, [Message(changes)], ME)


def test_changes_are_numbered_on_and_messages_end(acme: Token):
    before = timezone.now()
    first = record(
        acme.pk,
        [Message([bid(1000, 5), ask(1010, 7)]), Message([bid(1001, 1)]), Message()],
        ME,
    )
    second = say(acme, bid(1000, 0))
    assert (first.sequence, first.trade) == (3, 0)
    assert (second.sequence, second.trade) == (4, 0)
    assert before < first.at < second.at < timezone.now()
    assert changes_of(acme.pk) == [
        (1, 0, 1000, 5, False),
        (2, 1, 1010, 7, True),
        (3, 0, 1001, 1, True),
        (4, 0, 1000, 0, True),
    ]
    assert book_of(acme.pk) == OrderBook([bid(1001, 1), ask(1010, 7)])
    times = BookChange.objects.order_by("sequence").values_list("at", flat=True)
    assert list(times) == [first.at] * 3 + [second.at]
    assert OrderBookHead.objects.get(token=acme).last_at == second.at


def test_a_level_that_changes_within_a_call_is_as_the_last_change_left_it(acme: Token):
    say(acme, bid(1000, 5), bid(999, 5))
    record(
        acme.pk,
        [Message([bid(1000, 0), bid(999, 9), bid(998, 2)]), Message([bid(998, 0)])]
        + [Message([bid(1000, 4), bid(999, 8)]), Message([bid(999, 0)])],
        ME,
    )
    assert book_of(acme.pk) == OrderBook([bid(1000, 4)])
    assert head_of(acme.pk) == (9, 0, 0)


def test_deals_become_trades_and_the_last_one_the_price(acme: Token):
    recorded = record(
        acme.pk,
        [
            Message([bid(1000, 5)], [Deal(1004, 2), Deal(1005, 1)]),
            Message(deals=[Deal(1003, 9)]),
        ],
        ME,
    )
    assert (recorded.sequence, recorded.trade) == (1, 3)
    assert list(
        Trade.objects.order_by("sequence").values_list(
            "sequence", "price_cents", "quantity", "at"
        )
    ) == [
        (1, 1004, 2, recorded.at),
        (2, 1005, 1, recorded.at),
        (3, 1003, 9, recorded.at),
    ]
    assert list(
        TokenPrice.objects.values_list("price_cents", "source", "recorded_by")
    ) == [(1003, "TRADE", ME)]


@pytest.mark.usefixtures("one_person")
def test_a_price_that_the_register_refuses_leaves_the_trade(
    acme: Token, caplog: pytest.LogCaptureFixture
):
    treasury = ledger.treasury(acme.issuer)
    ledger.record([Entry(acme.pk, "MINT", 2**62, None, treasury)], ME)
    assert record(acme.pk, [Message(deals=[Deal(2**40, 1)])], ME).trade == 1
    assert Trade.objects.get().price_cents == 2**40
    assert TokenPrice.objects.count() == 0
    assert [r.name for r in caplog.records] == ["marketdata.books.log"]
    say(acme, bid(1, 1))
    assert head_of(acme.pk) == (1, 1, 0)


def test_only_tokens_of_the_secondary_market_have_a_log(transactional_db: None):
    primary = Token.objects.create(issuer=new_issuer(), name="P", symbol="PRIM")
    with pytest.raises(MarketClosed) as error:
        say(primary, bid(1, 0))
    assert str(error.value) == (
        "PRIM is not on the secondary market and has no order book; "
        "market open-secondary PRIM opens one."
    )
    unknown = uuid.uuid4()
    with pytest.raises(MarketClosed, match=f"There is no token {unknown}"):
        record(unknown, [Message([bid(1, 1)])], ME)
    primary.market_type = Token.MarketType.SECONDARY_MARKET
    primary.save()
    assert say(primary, bid(1, 1)).sequence == 1


WRONG = [
    (bid(1000, 0), ImpossibleChange, "ACME: Change of side 0, price 1000, quantity 0"),
    (ask(990, 1), CrossedBook, "ACME: After the message the best bid 991"),
    (Change(2, 1, 1), ImpossibleChange, "ACME: Change of side 2"),
    (bid(0, 1), ImpossibleChange, "ACME: A change's price is 0; it must be 1 to "),
    (bid(1, -1), ImpossibleChange, "ACME: A change's quantity is -1; it must be 0 to "),
    (ask(2**63, 1), ImpossibleChange, f"ACME: A change's price is {2**63}"),
    (ask(1000, 2**63), ImpossibleChange, f"ACME: A change's quantity is {2**63}"),
]


@pytest.mark.parametrize("around", [False, True], ids=["alone", "in a transaction"])
def test_a_wrong_change_is_named_and_nothing_of_its_call_is_written(
    acme: Token, around: bool
):
    say(acme, bid(990, 5))
    with transaction.atomic() if around else contextlib.nullcontext():
        for number, (change, error, said) in enumerate(WRONG, start=2):
            messages = [Message([bid(991, 7)]), Message([bid(989, 1), change])]
            with pytest.raises(error) as caught:
                record(acme.pk, messages, ME)
            assert str(caught.value).startswith(said)
            assert say(acme, bid(990, number)).sequence == number
    assert say(acme, bid(990, 7)).sequence == len(WRONG) + 2
    assert book_of(acme.pk) == OrderBook([bid(990, 7)])


def test_a_deal_without_price_or_units_is_refused(acme: Token):
    for deal in (Deal(0, 1), Deal(1, 0), Deal(2**63, 1)):
        with pytest.raises(ImpossibleChange, match="^ACME: A trade's "):
            record(acme.pk, [Message([bid(1, 1)], [deal])], ME)
    assert head_of(acme.pk) == (0, 0, 0)


def test_a_book_that_another_process_has_moved_on_is_read_anew(
    acme: Token, monkeypatch: pytest.MonkeyPatch
):
    say(acme, bid(1000, 5), ask(1010, 5))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(log, "kept", LRUCache(2))
        say(acme, bid(1000, 0), bid(995, 1))
        say(acme, ask(1002, 3))
    # Each message would be wrong in one of the two books.
    assert say(acme, bid(995, 0)).sequence == 6
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(log, "kept", LRUCache(2))
        say(acme, bid(1001, 1))
    with pytest.raises(CrossedBook):
        say(acme, ask(1001, 1))
    with pytest.raises(ImpossibleChange):
        say(acme, bid(1000, 0))
    assert say(acme, bid(1001, 0)).sequence == 8
    assert book_of(acme.pk) == OrderBook([ask(1010, 5), ask(1002, 3)])


@pytest.mark.parametrize("savepoint", [False, True])
def test_what_is_rolled_back_is_believed_by_nobody(acme: Token, savepoint: bool):
    say(acme, bid(1000, 5))
    with transaction.atomic():
        if savepoint:
            say(acme, bid(1000, 6))
        with transaction.atomic():
            assert say(acme, bid(1000, 0)).sequence == 2 + savepoint
            assert say(acme, bid(1001, 1)).sequence == 3 + savepoint
            record(acme.pk, [Message(deals=[Deal(1001, 1)])], ME)
        transaction.set_rollback(True)
    assert TokenPrice.objects.count() == 0
    with pytest.raises(ImpossibleChange):
        say(acme, bid(1001, 0))
    assert say(acme, bid(1000, 0)).sequence == 2
    assert head_of(acme.pk) == (2, 0, 0)
    assert book_of(acme.pk) == OrderBook()


def test_a_savepoint_that_is_rolled_back_takes_no_number(acme: Token):
    with transaction.atomic():
        say(acme, bid(1000, 5))
        with transaction.atomic():
            say(acme, bid(1001, 5))
            transaction.set_rollback(True)
        say(acme, bid(1002, 5))
    assert say(acme, bid(1003, 5)).sequence == 3
    assert book_of(acme.pk) == OrderBook([bid(1000, 5), bid(1002, 5), bid(1003, 5)])


def test_a_snapshot_follows_every_thousand_changes_at_a_message_end(acme: Token):
    say(acme, bid(1, 1))
    for number in range(399):
        record(
            acme.pk,
            [Message([bid(10 + number % 7, 1 + number)] * 3, [Deal(20, 1)])],
            ME,
        )
        if number == 332:
            assert head_of(acme.pk) == (1000, 333, 1000)
    record(acme.pk, [Message([ask(30, 5)])] * 5000, ME)
    assert head_of(acme.pk) == (6198, 399, 6198)
    early, late = BookSnapshot.objects.order_by("sequence")
    assert (early.sequence, early.trade_sequence) == (1000, 333)
    assert early.at == BookChange.objects.get(sequence=1000).at
    assert early.bid_prices == [16, 15, 14, 13, 12, 11, 10, 1]
    assert early.bid_quantities[:2] == [329, 328]
    assert (late.ask_prices, late.ask_quantities) == ([30], [5])


def test_a_deep_book_is_written_out_less_often(acme: Token):
    deep = [Change(0, price, 1) for price in range(1, 2501)]
    snapshots = BookSnapshot.objects.order_by("sequence")
    sequences = snapshots.values_list("sequence", flat=True)
    # After the first 1,500 levels only 1,500 changes later, then 2,500.
    for changes, expected in (
        (deep[:1500], [1500]),
        (deep[1500:], [1500]),
        (deep[:499], [1500]),
        (deep[:1], [1500, 3000]),
        (deep[:2499], [1500, 3000]),
        (deep[:1], [1500, 3000, 5500]),
    ):
        say(acme, *changes)
        assert list(sequences.all()) == expected


def test_books_are_remembered_up_to_a_number(
    acme: Token, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(log, "kept", LRUCache(2))
    others = [traded(f"T{n}") for n in range(2)]
    for token in (acme, others[0], acme, others[1]):
        say(token, bid(1, 1))
    assert set(log.kept) == {acme.pk, others[1].pk}


def test_a_call_is_one_statement_and_in_a_transaction_four(
    acme: Token, django_assert_num_queries
):
    say(acme, bid(1000, 1))
    with django_assert_num_queries(1):
        say(acme, bid(1000, 2))
    with transaction.atomic(), django_assert_num_queries(4):
        # A savepoint around the lock and the write.
        say(acme, bid(1000, 3))


def test_times_never_run_backwards(acme: Token):
    say(acme, bid(1000, 1))
    ahead = timezone.now() + timedelta(hours=1)
    tamper(f"UPDATE marketdata_orderbookhead SET last_at = '{ahead}'")
    assert say(acme, bid(1000, 2)).at == ahead
    assert BookChange.objects.get(sequence=2).at == ahead
