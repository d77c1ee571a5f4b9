"""Traded tokens, their writers' messages, and the resulting rows."""

from collections.abc import Collection
from uuid import UUID

from django.db import connection
from django.utils import timezone

from issuers.models import Token
from marketdata.books.orderbook import ASK, BID, Change, OrderBook
from marketdata.books.pruning import prunable_logs
from marketdata.models import BookChange, BookLevel, OrderBookHead
from tests.issuers.register import new_issuer
from tests.owner import as_owner


def traded(symbol: str) -> Token:
    return Token.objects.create(
        issuer=new_issuer(),
        name=symbol,
        symbol=symbol,
        market_type=Token.MarketType.SECONDARY_MARKET,
    )


def bid(price: int, quantity: int) -> Change:
    return Change(BID, price, quantity)


def ask(price: int, quantity: int) -> Change:
    return Change(ASK, price, quantity)


def changes_of(token_id: UUID) -> list[tuple[int, ...]]:
    """Number, side, price, quantity and end of message of a token's changes."""
    return list(
        BookChange.objects.filter(token=token_id)
        .order_by("sequence")
        .values_list("sequence", "side", "price_cents", "quantity", "ends_message")
    )


def book_of(token_id: UUID) -> OrderBook:
    """A token's book as its levels have it."""
    levels = BookLevel.objects.filter(token=token_id)
    return OrderBook(levels.values_list("side", "price_cents", "quantity"))


def head_of(token_id: UUID) -> tuple[int, int, int]:
    """The last change, the last trade and the last snapshot, as the head says."""
    head = OrderBookHead.objects.get(token=token_id)
    return head.last_sequence, head.last_trade, head.last_snapshot


def prune_at_once(token_ids: Collection[UUID]) -> int:
    """Prune these logs up to their snapshots at any age; returns the number of rows."""
    removed = 0
    with as_owner(), connection.cursor() as cursor:
        for log in prunable_logs(timezone.now()):
            if log.token_id not in token_ids:
                continue
            for statement in (
                "DELETE FROM marketdata_booksnapshot"
                " WHERE token_id = %s AND sequence < %s",
                "DELETE FROM marketdata_bookchange"
                " WHERE token_id = %s AND sequence <= %s",
            ):
                cursor.execute(statement, [log.token_id, log.sequence])
                removed += cursor.rowcount
    return removed
