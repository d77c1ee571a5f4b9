"""Tokens that are traded, what writers say of them, and what came of it."""

from uuid import UUID

from issuers.models import Token
from marketdata.books.orderbook import ASK, BID, Change, OrderBook
from marketdata.models import BookChange, BookLevel, OrderBookHead
from tests.issuers.register import new_issuer


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
