"""What tests of the feed write and hear."""

import contextlib
from collections.abc import Iterator

from django.db import transaction

from issuers.models import Token
from marketdata.books.feed import Feed
from marketdata.books.log import Message, record
from marketdata.books.orderbook import ASK, BID, Change
from tests.owner import as_owner


def bid(price: int, quantity: int) -> Message:
    return Message([Change(BID, price, quantity)])


def ask(price: int, quantity: int) -> Message:
    return Message([Change(ASK, price, quantity)])


def write(token: Token, *messages: Message) -> int:
    return record(token.pk, messages, "test").sequence


def heard_by(feed: Feed) -> list[set[str]]:
    """The symbols of each round."""
    rounds: list[set[str]] = []
    feed.subscribe(lambda books: rounds.append({book.symbol for book in books}))
    return rounds


@contextlib.contextmanager
def unguarded() -> Iterator[None]:
    """A transaction in which the tables' owner does what their triggers refuse."""
    with as_owner(), transaction.atomic():
        yield
