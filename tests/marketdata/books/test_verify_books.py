"""`verify books`: what it compares, and that it finds changes past the guards."""

import io
import random
import re
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from issuers.models import Token
from marketdata.books.log import Deal, Message, record
from marketdata.books.orderbook import Change
from marketdata.books.verification import verify as books_verified
from marketdata.management.verify_books import Command
from marketdata.models import BookChange, BookLevel, OrderBookHead, Side
from partnerapi.core.guarding import compare_guards
from tests.issuers.register import new_issuer
from tests.marketdata.books.markets import ask, bid, prune_at_once, traded
from tests.owner import as_owner, tamper
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
RULES = 11


def verify(*symbols: str) -> list[str]:
    output = io.StringIO()
    try:
        call_command("verify", "books", *symbols, stdout=output, no_color=True)
    except CommandError as error:
        output.write(str(error))
    return output.getvalue().strip().splitlines()


def write(token: Token, messages: int, seed: int = 1) -> None:
    """Write messages of two changes, around 1000 cents; every tenth has two deals."""
    dice = random.Random(seed)
    batch = []
    for number in range(messages):
        changes: list[Change] = [
            bid(dice.randrange(980, 1000), dice.randrange(1, 99)),
            ask(dice.randrange(1001, 1020), dice.randrange(1, 99)),
        ]
        deals = [Deal(1000, 1)] * 2 if number % 10 == 0 else []
        batch.append(Message(changes, deals))
    for start in range(0, messages, 100):
        record(token.pk, batch[start : start + 100], "me")


def test_sound_books_are_read_from_their_beginning_and_after_pruning():
    acme, nova = traded("ACME"), traded("NOVA")
    Token.objects.create(issuer=new_issuer(), name="P", symbol="PRIM")
    assert verify()[-1] == f"All {RULES} rules hold."
    write(acme, 1500)
    write(nova, 250)
    figures = {
        "tokens on the secondary market have a log, and no others do": 3,
        "changes are numbered without gaps, up to the head's number": 3500,
        "trades are numbered without gaps, up to the head's number": 350,
        "figures of trading days equal those of their trades": 2,
        "times never decrease": 3850,
        "changes and trades are as they were written": 3850,
        "every message is valid, and leaves a valid book": 1750,
        "snapshots equal the books rebuilt from the log": 3,
        "levels equal those of the books rebuilt from the log": 78,
        "the feed's books equal the books rebuilt from the log": 2,
        "the guards equal those of the migrations": compare_guards()[0],
    }
    assert verify() == [
        *(f"{rule}: {figure:,}, ok" for rule, figure in figures.items()),
        f"All {RULES} rules hold.",
    ]
    assert prune_at_once([acme.pk, nova.pk]) == 1 + 2000
    lines = verify("acme")
    assert lines[1].endswith(": 1,000, ok")
    assert lines[2].endswith(": 300, ok")
    assert lines[5].endswith(": 1,100, ok")
    assert lines[7].endswith(": 2, ok")
    assert lines[-1] == f"All {RULES} rules hold."


# Statements on this application's tables, and the breach then reported for ACME.
TAMPERED = {
    "UPDATE bookchange SET quantity = 77777 WHERE sequence = 500": (
        "some of the changes 1 to 1,000 or trades 1 to 100 differ"
    ),
    "UPDATE bookchange SET at = at + interval '1 us' WHERE sequence > 2990": (
        "some of the changes 2,001 to 3,000 or trades 201 to 300 differ"
    ),
    "UPDATE bookchange SET at = at - interval '1 h' WHERE sequence = 700": (
        "change 700 is earlier than the one before"
    ),
    "DELETE FROM bookchange WHERE sequence = 1500": ("change 1,501 follows 1,499"),
    "DELETE FROM bookchange WHERE sequence <= 1500": ("change 1,501 follows 1,000"),
    "DELETE FROM bookchange WHERE sequence = 3000": (
        "the last one is 2,999, the head has 3,000"
    ),
    "UPDATE bookchange SET quantity = 0, price_cents = 3 WHERE sequence = 2001": (
        "the message that ends at change 2,002: Change of side 0, price 3, "
        "quantity 0: there is no level at this price to remove."
    ),
    "UPDATE bookchange SET price_cents = 1100 WHERE sequence = 2001": (
        "the message that ends at change 2,002: After the message the best bid "
        "1100 is not below the best ask 1001."
    ),
    "UPDATE bookchange SET ends_message = FALSE WHERE sequence = 2000": (
        "the snapshot at change 2,000 is within a message"
    ),
    "UPDATE bookchange SET ends_message = FALSE WHERE sequence = 3000": (
        "no message ends at change 3,000"
    ),
    "UPDATE tradingday SET volume = volume + 1": "those of 20",
    "UPDATE tradingday SET open_cents = 1": "those of 20",
    "DELETE FROM tradingday": "those of 20",
    "UPDATE trade SET quantity = 9 WHERE sequence = 250": (
        "some of the changes 2,001 to 3,000 or trades 201 to 300 differ"
    ),
    "DELETE FROM trade WHERE sequence = 250": (
        "trade 251 does not follow the one before"
    ),
    "DELETE FROM trade WHERE sequence = 1": "the first is 2 instead of 1",
    "UPDATE trade SET at = at - interval '1 h' WHERE sequence = 9": (
        "trade 9 is earlier than the one before"
    ),
    "UPDATE booksnapshot SET bid_quantities[1] = 77777 WHERE sequence = 2000": (
        "the snapshot at change 2,000 is a different book"
    ),
    "UPDATE booksnapshot SET bid_prices = bid_prices || 1 WHERE sequence = 3000": (
        "the feed has no book for it"
    ),
    "DELETE FROM booksnapshot WHERE sequence = 3000": (
        "the newest snapshot is at change 2,000, the head has 3,000"
    ),
    "UPDATE booksnapshot SET sequence = 3001 WHERE sequence = 3000": (
        "the snapshot at change 3,001 is after the last"
    ),
    "UPDATE booklevel SET quantity = 77777 WHERE side = 0 AND price_cents = 990": (
        "bid 990 has 77,777 units; the log has"
    ),
    "DELETE FROM booklevel WHERE side = 1 AND price_cents = 1010": (
        "ask 1,010 has 0 units; the log has"
    ),
    "UPDATE orderbookhead SET last_sequence = 3002": (
        "the last one is 3,000, the head has 3,002"
    ),
    "UPDATE orderbookhead SET last_trade = 299": (
        "the last one is 300, the head has 299"
    ),
    "UPDATE orderbookhead SET last_at = last_at - interval '1 s'": (
        "the head's time is earlier than the last change's"
    ),
    "DELETE FROM orderbookhead": ("it is on the secondary market but has no log"),
}


def test_whoever_gets_past_the_guards_is_found():
    acme = traded("ACME")
    write(acme, 1500)
    with connection.cursor() as cursor:
        tables = (
            *("orderbookhead", "bookchange", "trade", "tradingday"),
            *("booklevel", "booksnapshot"),
        )
        for table in tables:
            cursor.execute(f"CREATE TEMP TABLE was_{table} AS TABLE marketdata_{table}")
            cursor.execute(f"GRANT SELECT ON was_{table} TO PUBLIC")
    unfound = {}
    for statement, said in TAMPERED.items():
        assert tamper(re.sub("(UPDATE|FROM) ", r"\1 marketdata_", statement)), statement
        lines = verify()
        assert "rules are broken, marked above." in lines[-1], statement
        if not any(line.startswith(f"  ACME: {said}") for line in lines):
            unfound[said] = lines
        for table in tables:
            tamper(
                f"DELETE FROM marketdata_{table}",
                f"INSERT INTO marketdata_{table} TABLE was_{table}",
            )
    assert unfound == {}
    assert verify()[-1] == f"All {RULES} rules hold."


def test_a_level_without_a_log_is_found():
    acme = traded("ACME")
    with as_owner():
        BookLevel.objects.create(token=acme, side=Side.BID, price_cents=990, quantity=5)
    assert "  ACME: bid 990 has 5 units; the log has 0 at change 0" in verify()


def test_a_market_that_is_opened_meanwhile_is_sound():
    nova = Token.objects.create(issuer=new_issuer(), name="N", symbol="NOVA")
    acme = traded("ACME")
    command = Command()
    tokens = command.tokens([])
    feed = command.feed_books(tokens)
    nova.market_type = Token.MarketType.SECONDARY_MARKET
    nova.save()
    write(nova, 10)
    rules = books_verified(tokens, feed)
    assert [breach for rule in rules for breach in rule.breaches] == []
    # A feed has a book of ACME.
    [*_, rule, _] = books_verified(tokens, feed | {acme.pk: None})
    assert rule.breaches == ["ACME: the feed has no book for it"]


def test_a_token_without_a_book_is_named():
    traded("ACME")
    Token.objects.create(issuer=new_issuer(), name="P", symbol="PRIM")
    assert verify("ACME", "NONE", "ALSO") == [
        "There is no token ALSO, NONE. The admin lists tokens with their symbols."
    ]
    [said] = verify("PRIM")
    assert said.startswith("PRIM: not on the secondary market")


def test_other_books_are_left_alone():
    acme, nova = traded("ACME"), traded("NOVA")
    write(acme, 10)
    write(nova, 10)
    with as_owner():
        BookChange.objects.filter(token=nova, sequence=3).update(quantity=777)
    assert verify("ACME")[-1] == f"All {RULES} rules hold."
    lines = verify("ACME", "NOVA")
    assert "  NOVA: some of the changes 1 to 20 or trades 1 to 2 differ" in lines
    assert not any("ACME" in line for line in lines)
    assert OrderBookHead.objects.count() == 2


def test_books_that_are_being_written_and_pruned_are_sound():
    tokens = [traded("ACME"), traded("NOVA")]
    stop = threading.Event()

    def keep_writing() -> None:
        seed = 0
        while not stop.is_set():
            seed += 1
            write(tokens[seed % 2], 100, seed)
            if seed % 20 == 0:
                prune_at_once([token.pk for token in tokens])
        connection.close()

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:

        def has_snapshot() -> bool:
            assert verify()[-1] == f"All {RULES} rules hold."
            return OrderBookHead.objects.get(token=tokens[0]).last_snapshot > 0

        for _ in range(5):
            until(has_snapshot)
    finally:
        stop.set()
        writer.join()
