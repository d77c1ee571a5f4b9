"""A market for the FIX feed in tests: tokens, members, and orders that keep coming."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection

from accounts.access import Scope
from accounts.keys.models import Partner
from issuers.models import Issuer, Token
from marketdata.books.log import Deal, Message, record
from marketdata.books.orderbook import ASK, BID, Change, Ladder, OrderBook
from marketdata.models import BookLevel, FixSession
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.issuers.register import new_issuer

OPENING = {BID: range(990, 940, -5), ASK: range(1010, 1060, 5)}
PAUSE_SECONDS = 0.01


@dataclass
class Member:
    """A partner with a CompID and a key that may read market data."""

    partner: Partner
    comp_id: str
    key: str


def new_member(number: int, *grants: Issuer) -> Member:
    """The holder of the pool's CompID of this number, from 1."""
    partner = Partner.objects.create(login=f"member_{number}", name=f"Member {number}")
    for issuer in grants:
        approved_grant(partner, issuer)
    comp_id = f"PARTNER{number:03d}"
    FixSession.objects.create(comp_id=comp_id, partner=partner)
    _, key = approved_key(partner, [Scope.MARKETDATA_READ])
    return Member(partner, comp_id, key)


def new_token(symbol: str, isin: str | None = None, hidden: bool = False) -> Token:
    """A token on the secondary market, its book open with ten levels a side."""
    visibility = Token.Visibility.PRIVATE if hidden else Token.Visibility.PUBLIC
    token = Token.objects.create(
        issuer=new_issuer(),
        name=f"Ordinary {symbol}",
        symbol=symbol,
        isin=isin,
        market_type=Token.MarketType.SECONDARY_MARKET,
        visibility=visibility,
    )
    changes = [
        Change(side, price, 100 + price % 7)
        for side, prices in OPENING.items()
        for price in prices
    ]
    record(token.pk, [Message(changes)], "tests")
    return token


def ladder_of(token: Token) -> Ladder:
    """The book as the log has it."""
    levels = BookLevel.objects.filter(token=token)
    rows = levels.values_list("side", "price_cents", "quantity")
    return OrderBook(rows).ladder()


def next_message(book: OrderBook, chance: random.Random) -> Message:
    """An order, a cancellation or a trade near the best prices; applied to the book."""
    side = chance.choice((BID, ASK))
    if chance.random() < 0.15:
        best = book.best(side)
        assert best is not None
        rest = best.quantity - chance.randint(1, best.quantity)
        changes = [Change(side, best.price, rest)]
        # No side runs dry: the farthest level comes with every trade.
        far = OPENING[side][-1]
        changes.append(Change(side, far, chance.randint(1, 500)))
        message = Message(changes, [Deal(best.price, best.quantity - rest)])
    else:
        price = chance.choice(OPENING[side])
        known = book.quantity(side, price) > 0 and price != OPENING[side][-1]
        quantity = 0 if known and chance.random() < 0.3 else chance.randint(1, 500)
        message = Message([Change(side, price, quantity)])
    if any(change == (side, OPENING[side][-1], 0) for change in message.changes):
        return next_message(book, chance)
    book.apply(message.changes)
    return message


@contextmanager
def moving(*tokens: Token) -> Iterator[None]:
    """Change the books of these tokens about a hundred times a second."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def move() -> None:
        chance = random.Random(5)
        try:
            books = {token: OrderBook(book_rows(token)) for token in tokens}
            while not stop.wait(PAUSE_SECONDS):
                token = chance.choice(tokens)
                record(token.pk, [next_message(books[token], chance)], "tests")
        except BaseException as failure:
            failures.append(failure)
            raise
        finally:
            connection.close()

    thread = threading.Thread(target=move)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failures


def book_rows(token: Token) -> list[tuple[int, int, int]]:
    levels = BookLevel.objects.filter(token=token)
    return list(levels.values_list("side", "price_cents", "quantity"))
