import io
import os
import re
import signal
import threading
import time

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from issuers.models import Issuer, Token
from issuers.register import ledger
from issuers.register.models import TokenPrice
from marketdata.books.log import Deal, Message, record
from marketdata.books.orderbook import ASK, BID, Change, OrderBook
from marketdata.management.commands.simulate_market import Market
from marketdata.models import BookChange, BookLevel, OrderBookHead, Trade
from tests.characters import World
from tests.issuers.register import new_issuer
from tests.waiting import until

FAST = ("--rate", "1000000")


def traded(issuer: Issuer, symbol: str) -> Token:
    return Token.objects.create(
        issuer=issuer,
        name="Traded",
        symbol=symbol,
        market_type=Token.MarketType.SECONDARY_MARKET,
    )


@pytest.fixture
def tokens(world: World, settings) -> list[Token]:
    """Three on the secondary market, priced but for the last; the world's are not."""
    settings.PARTNER_API_SANDBOX = True
    made = [traded(world.listed, symbol) for symbol in ("AAA", "BBB", "CCC")]
    for token, price in zip(made, (1_500, 40_000), strict=False):
        ledger.set_price(token.pk, price, TokenPrice.Source.MANUAL, "ana@example.com")
    return made


def simulate(*arguments: str) -> list[str]:
    output = io.StringIO()
    call_command("simulate_market", *arguments, stdout=output)
    return output.getvalue().splitlines()


def log(token: Token) -> list[tuple[int, int, int]]:
    rows = BookChange.objects.filter(token=token).order_by("sequence")
    return list(rows.values_list("side", "price_cents", "quantity"))


def trades(token: Token) -> list[tuple[int, int]]:
    rows = Trade.objects.filter(token=token).order_by("sequence")
    return list(rows.values_list("price_cents", "quantity"))


def levels(token: Token) -> OrderBook:
    rows = BookLevel.objects.filter(token=token)
    return OrderBook(rows.values_list("side", "price_cents", "quantity"))


def test_fills_the_books_and_trades(tokens: list[Token], world: World):
    said = simulate("--events", "400", "--seed", "7", *FAST)
    assert said[0] == "Trading 3 tokens, 1e+06 events per second, seed 7."
    changes, done = BookChange.objects.count(), Trade.objects.count()
    assert re.fullmatch(
        rf"400 events on 3 tokens: {changes:,} changes, {done:,} trades in [0-9]+ s\.",
        said[1],
    )
    assert changes > 400 + 3 * 50
    assert done >= 10
    for token, price in zip(tokens, (1_500, 40_000, 1_000), strict=True):
        book = levels(token)
        bids, asks = book.ladder()
        assert min(len(bids), len(asks)) >= 10
        assert 0.95 * price < bids[0].price < asks[0].price < 1.05 * price
        assert OrderBook(log(token)) == book
        for last, _ in trades(token)[-1:]:
            token.ledger_head.refresh_from_db()
            assert token.ledger_head.price_cents == last
    # The first token of a market is traded most.
    assert len(log(tokens[0])) > len(log(tokens[2]))
    assert not BookChange.objects.filter(token=world.public_token).exists()


def test_the_same_books_and_seed_give_the_same_events(tokens: list[Token]):
    written = []
    for _ in range(2):
        with transaction.atomic():
            simulate("--events", "100", "--seed", "7", *FAST)
            written.append([(log(token), trades(token)) for token in tokens])
            transaction.set_rollback(True)
    assert written[0] == written[1]
    simulate("--events", "100", "--seed", "8", *FAST)
    assert [(log(token), trades(token)) for token in tokens] != written[0]


def test_continues_from_the_book_that_is_there(tokens: list[Token]):
    token = tokens[0]
    opening = [Change(BID, 1_900 - n, 70 + n) for n in range(25)]
    opening += [Change(ASK, 1_903 + n, 70 + n) for n in range(25)]
    record(token.pk, [Message(opening)], "ana@example.com")
    said = simulate("--events", "20", "--token", "aaa", "--seed", "1", *FAST)
    assert said[0] == "Trading 1 token, 1e+06 events per second, seed 1."
    assert log(token)[:50] == opening
    assert 20 <= len(log(token)) - 50 <= 40
    best = levels(token).best(BID)
    assert best is not None
    assert 1_890 < best.price < 1_910
    assert not log(tokens[1])


def test_looks_again_at_a_book_on_which_others_write(tokens: list[Token]):
    token = tokens[0]
    market = Market([token], 3)
    market.fill()
    best = levels(token).best(ASK)
    assert best is not None
    swept = [
        Change(ASK, price, 0)
        for price in BookLevel.objects.filter(token=token, side=ASK)
        .order_by("price_cents")
        .values_list("price_cents", flat=True)[:20]
    ]
    record(token.pk, [Message(swept, [Deal(best.price, 1)])], "ana@example.com")
    for _ in range(30):
        market.go_on(3)
    assert market.events >= 60
    assert OrderBook(log(token)) == levels(token)
    head = OrderBookHead.objects.get(token=token)
    assert head.last_sequence == len(log(token))


class Freeing(io.StringIO):
    """Takes what is said; then another connection's locks are let go."""

    def __init__(self, other: psycopg.Connection) -> None:
        super().__init__()
        self.other = other

    def write(self, text: str) -> int:
        self.other.rollback()
        return super().write(text)


def test_goes_on_when_the_database_has_not_taken_something(transactional_db, settings):
    settings.PARTNER_API_SANDBOX = True
    token = traded(new_issuer(), "AAA")
    simulate("--events", "5", "--seed", "1", *FAST)
    before = len(log(token))
    with psycopg.connect(**connection.get_connection_params()) as other:
        held = "SELECT FROM marketdata_lock_book(%s)"
        other.execute(held, [token.pk])
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 200")
        errors = Freeing(other)
        call_command(
            *("simulate_market", "--events", "5", *FAST),
            stdout=io.StringIO(),
            stderr=errors,
        )
    connection.close()
    assert errors.getvalue() == (
        "The database refused the events: canceling statement due to lock timeout; "
        "trying again.\n"
    )
    assert len(log(token)) >= before + 5
    assert OrderBook(log(token)) == levels(token)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(number: int, tokens: list[Token]):
    before = signal.getsignal(number)

    def end_it() -> None:
        until(lambda: signal.getsignal(number) is not before)
        os.kill(os.getpid(), number)

    ending = threading.Thread(target=end_it)
    ending.start()
    said = simulate("--rate", "100")
    assert re.fullmatch(r"[0-9]+ events on 3 tokens: .* in [0-9]+ s\.", said[-1])
    assert signal.getsignal(number) is before
    ending.join()


def test_ends_after_the_seconds_asked_for(tokens: list[Token]):
    began = time.monotonic()
    simulate("--seconds", "0.3", "--rate", "50")
    assert time.monotonic() - began >= 0.3


def test_runs_only_in_a_sandbox(tokens: list[Token], settings):
    settings.PARTNER_API_SANDBOX = False
    with pytest.raises(CommandError, match="^This installation is not a sandbox; "):
        simulate("--events", "1")
    assert not BookChange.objects.exists()


def test_names_tokens_that_it_can_not_trade(tokens: list[Token], world: World):
    with pytest.raises(CommandError) as refused:
        simulate("--token", "AAA", "--token", "NOPE")
    assert str(refused.value) == (
        "There is no token NOPE. The admin lists tokens with their symbols."
    )
    with pytest.raises(CommandError) as refused:
        simulate("--token", "LUM")
    assert str(refused.value) == (
        "LUM is not on the secondary market and has no order book; "
        "market open-secondary LUM opens one."
    )


def test_says_how_a_market_comes_to_be(world: World, settings):
    settings.PARTNER_API_SANDBOX = True
    with pytest.raises(CommandError, match="^No token is on the secondary market"):
        simulate()


@pytest.mark.parametrize(
    "arguments", [("--rate", "0"), ("--events", "0"), ("--seconds", "-1")]
)
def test_refuses_numbers_that_make_no_sense(arguments: tuple[str, str]):
    with pytest.raises(CommandError, match=arguments[0]):
        call_command("simulate_market", *arguments)
