"""Ends calls: determines the price and the fills of an auction, and settles them.

An auction of few fills is one transaction. Of one with more, the first transaction
lists the fills, which bind from then on. The next ones settle them in order, and judge
no rule anew; after a crash another process goes on from the list. Meanwhile the market
takes no order, amendment or cancellation.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import transaction

from issuers.compliance.judge import Side
from marketdata.books.notify import notify
from marketdata.trading import locked
from marketdata.trading.auctions import AuctionFill, Uncrossed, uncross
from marketdata.trading.in_force import OrderStatusReason
from marketdata.trading.judging import Movements, find_refusals
from marketdata.trading.locked import Cash, resting
from marketdata.trading.market import hold, over
from marketdata.trading.models import Auction, Market, Order, OrderStatus, Phase
from marketdata.trading.moving import CLOCK
from marketdata.trading.queues import Resting
from marketdata.trading.round import Round
from marketdata.trading.writing import write
from partnerapi.core.database import array_text, rows_of, value_of

FILLS = 500
"""Of a transaction, which locks the cash of their accounts until its end."""
JUST_BEFORE = timedelta(microseconds=1)


def due() -> list[UUID]:
    """The markets whose call has ended, by the database's clock."""
    return [token for (token,) in rows_of(DUE, [])]


def end(token_id: UUID) -> bool:
    """Take the next step of a market's auction; whether more are left.

    Nothing happens where its call has not ended.
    """
    with transaction.atomic():
        book, writer, at = hold(token_id)
        auction = Auction.objects.filter(token=token_id, ended=None).first()
        if book.phase != Phase.CALL or auction is None or auction.ends_at > at:
            return False
        if auction.fills is None:
            of = Round(book, writer, at, at, CLOCK, cash=defaultdict(Cash))
            if list_fills(of, auction) > FILLS:
                return True
        left: int = value_of(SETTLE, [token_id, FILLS])
        transaction.on_commit(partial(notify, token_id))
    return left > 0


def list_fills(of: Round, auction: Auction) -> int:
    """Determine the fills of an auction, which bind from the commit on."""
    token_id = of.book.token_id
    found = Order.objects.filter(token=token_id, status=OrderStatus.OPEN)
    of.orders = {order.pk: order for order in found.order_by("priority")}
    holders = {order.ledger_account_id for order in of.orders.values()}
    locked.load_holders(of.writer, token_id, holders)
    for order in [*of.orders.values()]:
        if order.is_over(auction.ends_at - JUST_BEFORE):
            drop(of, order.pk, OrderStatus.EXPIRED, over(order))
    result = judged(of, auction)
    write(of)
    fills = result.fills
    listed: int = value_of(
        UNCROSS,
        [
            token_id,
            result.price,
            array_text(fill.buy.order for fill in fills),
            array_text(fill.sell.order for fill in fills),
            array_text(fill.quantity for fill in fills),
        ],
    )
    return listed


def judged(of: Round, auction: Auction) -> Uncrossed:
    """The result of an auction without the orders that may not trade, which end.

    An order whose fill a rule forbids is removed whole, and the price computed anew.
    """
    while True:
        left = [resting(order) for order in of.orders.values()]
        result = uncross(left, auction.reference_price, auction.ticks)
        for order in result.removed:
            drop(of, order.order, OrderStatus.CANCELLED, OrderStatusReason.SELF_TRADE)
        refused = forbidden(of, result.fills)
        for order in refused:
            drop(of, order.order, OrderStatus.CANCELLED, OrderStatusReason.NOT_ELIGIBLE)
        if not refused:
            return result


def forbidden(of: Round, fills: Sequence[AuctionFill]) -> list[Resting]:
    """The orders whose fills rules forbid, once those that they allow have happened."""
    refused: dict[Hashable, Resting] = {}
    movements = Movements(of)
    for fill in fills if of.ledger.standings else ():
        if fill.buy.order in refused or fill.sell.order in refused:
            continue
        seller = of.orders[fill.sell.order].ledger_account_id  # type: ignore[index]
        buyer = of.orders[fill.buy.order].ledger_account_id  # type: ignore[index]
        if not movements.allow(seller, buyer, fill.quantity):
            gives = movements.side(seller)
            sells = find_refusals(of, fill.quantity, gives, Side(), movements.further)
            side = fill.sell if sells else fill.buy
            refused[side.order] = side
    return [*refused.values()]


def drop(of: Round, order: Hashable, status: str, reason: str) -> None:
    of.end(of.orders.pop(order), status, reason)  # type: ignore[call-overload]
    of.end_message()


def indicate(token_id: UUID) -> bool:
    """Announce the price at which a call would end now; whether that is new.

    It is no decision: nothing is locked, and orders may come meanwhile.
    """
    market = Market.objects.get(token=token_id)
    auction = Auction.objects.filter(
        token=token_id, began=market.last_phase_event, ended=None, fills=None
    ).first()
    if auction is None or auction.indicated_event == market.last_event:
        return False
    found = Order.objects.filter(token=token_id, status=OrderStatus.OPEN)
    left = [resting(order) for order in found.order_by("priority")]
    result = uncross(left, auction.reference_price, auction.ticks)
    volume, surplus = result.volume, result.surplus
    figures = (result.price, volume, surplus) if result.price else (None, None, None)
    arguments = [token_id, auction.began, *figures, market.last_event]
    is_new: bool = value_of(INDICATE, arguments)
    if is_new:
        notify(token_id)
    return is_new


DUE = """
    SELECT token_id FROM trading_auction
    WHERE ended IS NULL AND ends_at <= clock_timestamp() ORDER BY token_id
"""
UNCROSS = "SELECT trading_uncross(%s, %s, %s::uuid[], %s::uuid[], %s::bigint[])"
SETTLE = "SELECT trading_settle(%s, %s)"
INDICATE = "SELECT trading_indicate(%s, %s, %s, %s, %s, %s)"
