"""Writing and listening in tests of the feed."""

import contextlib
from collections.abc import Iterator

from django.db import transaction

from accounts.approvals.models import ApprovalKind
from issuers.models import Token
from issuers.register.identities import identity_content
from marketdata.books.feed import Feed
from marketdata.books.log import Message, record
from marketdata.books.orderbook import ASK, BID, Change
from partnerapi.sandbox.data.approvals import carry_out_requests, file_and_approve
from tests.owner import as_owner


def bid(price: int, quantity: int) -> Message:
    return Message([Change(BID, price, quantity)])


def ask(price: int, quantity: int) -> Message:
    return Message([Change(ASK, price, quantity)])


def write(token: Token, *messages: Message) -> int:
    return record(token.pk, messages, "test").sequence


def rename(token: Token, symbol: str, isin: str | None, **changes: object) -> None:
    """Change a traded token, as two people do."""
    content = identity_content(token, symbol, isin)
    with (
        transaction.atomic(),
        carry_out_requests(file_and_approve(ApprovalKind.IDENTITY, content)),
    ):
        Token.objects.filter(pk=token.pk).update(symbol=symbol, isin=isin, **changes)


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
