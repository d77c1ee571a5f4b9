"""Turns invented events into orders of sandbox clients on an internal market.

A placement becomes an order, a withdrawal cancels orders, and a trade is an order that
takes what it can at once. So each is judged and settled like any other order.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from issuers.register.models import TokenLedgerHead
from marketdata.books.current_books import read_books
from marketdata.books.log import Message
from marketdata.books.orderbook import ASK, BID, Change, OrderBook
from marketdata.replay.simulation import Simulation
from marketdata.trading import market
from marketdata.trading.errors import MarketClosed
from marketdata.trading.in_force import OrderStatusReason, TimeInForce
from marketdata.trading.models import (
    Market,
    Order,
    OrderStatus,
    Phase,
)
from marketdata.trading.placing import Placed
from marketdata.trading.round import Request
from partnerapi.core.database import fetch

PARTNER = "simulation"
"""Login of the partner whose clients trade."""
MOST_ORDERS = 100
MOST_IN_CALL, CALL_WIDTH = 40, 0.01
"""Of a call: open orders of the clients, and how far from the reference price their
limits are, as a standard deviation."""
UNPRICED_HOME = 1_000
"""Euro cents; the home price of a token that never had a price."""


class Happened(NamedTuple):
    """The numbers of orders placed or cancelled, and of trades."""

    orders: int = 0
    trades: int = 0


class Client(NamedTuple):
    """An account with the cents that it may spend, and the units that it may sell."""

    account_id: UUID
    cash: int
    units: int


CLIENTS = """
    SELECT a.id, h.balance - h.reserved,
        coalesce((SELECT b.balance - b.reserved FROM issuers_holderbalance b
            WHERE b.token_id = %s AND b.user_id = a.user_id), 0)::bigint
    FROM accounts_partner p JOIN accounts_account a ON a.partner_id = p.id
    JOIN accounts_cashaccount c ON c.account_id = a.id
    JOIN accounts_cashhead h ON h.cash_account_id = c.id
    WHERE p.login = %s AND a.status = 'ACTIVE' ORDER BY a.id
"""


class OwnBook:
    """The book of an internal market, and the clients who make its events."""

    def __init__(self, token_id: UUID, chance: Random) -> None:
        self.token_id = token_id
        self.chance = chance
        price = TokenLedgerHead.objects.get(pk=token_id).price_cents
        self.simulation = Simulation(OrderBook(), price or UNPRICED_HOME, chance)

    def go_on(self, events: int) -> Happened:
        """Generate this many events: one list of cancellations and one of orders.

        Nothing happens while the market is CLOSED or HALTED.
        """
        taking = (Phase.CALL, Phase.AT_LAST, Phase.CONTINUOUS)
        own = Market.objects.filter(token=self.token_id, phase__in=taking).first()
        if own is None:
            return Happened()
        if own.phase != Phase.CONTINUOUS:
            return self.join_call(own, events)
        self.simulation.tick = max(
            self.simulation.tick, own.ticks.at(own.reference_price or 0)
        )
        current = read_books([str(self.token_id)])[str(self.token_id)]
        book = OrderBook(
            [Change(BID, *level) for level in current.bids]
            + [Change(ASK, *level) for level in current.asks]
        )
        self.simulation.book = book
        placements: list[tuple[int, int, int, str]] = []
        withdrawals: Counter[tuple[int, int]] = Counter()
        for _ in range(events):
            message = self.simulation.next_message()
            placed, withdrawn = as_orders(book, message)
            placements += placed
            withdrawals.update(withdrawn)
            book.apply(message.changes)
        cancelled = self.cancel(withdrawals)
        return self.place(placements[:MOST_ORDERS], cancelled)

    def join_call(self, own: Market, events: int) -> Happened:
        """Place orders of both sides around the reference price; the oldest leave.
        AT_LAST, they have that price.
        """
        rest = Order.objects.filter(
            token=self.token_id, status=OrderStatus.OPEN, partner__login=PARTNER
        )
        ids = [*rest.order_by("priority").values_list("pk", flat=True)]
        count = min(events, MOST_IN_CALL)
        gone = ids[: max(0, len(ids) + count - MOST_IN_CALL)]
        cancelled = self.withdraw(gone) if gone else 0
        return self.place([self.wish(own) for _ in range(count)], cancelled)

    def wish(self, own: Market) -> tuple[int, int, int, str]:
        """An order of either side that may trade near the reference price."""
        reference = own.reference_price or UNPRICED_HOME
        width = CALL_WIDTH if own.phase == Phase.CALL else 0
        wished = round(reference * self.chance.gauss(1, width))
        price = max(wished - wished % own.ticks.at(wished), own.ticks.at(1))
        units = self.simulation.some(self.simulation.order)
        return self.chance.choice((BID, ASK)), price, units, TimeInForce.GTC

    def cancel(self, withdrawals: Counter[tuple[int, int]]) -> int:
        """Cancel clients' orders at these sides and prices, newest first."""
        orders = Order.objects.filter(
            token=self.token_id,
            status=OrderStatus.OPEN,
            partner__login=PARTNER,
            limit_price__in={price for _, price in withdrawals},
        )
        left, ids = Counter(withdrawals), []
        for order in orders.order_by("-priority"):
            place = order.side, order.limit_price
            if 0 < order.remaining <= left[place]:
                left[place] -= order.remaining
                ids.append(order.pk)
        return self.withdraw(ids) if ids else 0

    def withdraw(self, ids: list[UUID]) -> int:
        reason = OrderStatusReason.BY_PARTNER
        return len(market.cancel_each(self.token_id, ids, reason, PARTNER))

    def place(
        self, placements: Sequence[tuple[int, int, int, str]], cancelled: int
    ) -> Happened:
        clients = fetch(CLIENTS, [self.token_id, PARTNER], lambda row: Client(*row))
        requests = []
        for side, price, quantity, in_force in placements:
            able = [c for c in clients if can_place(c, side, price, quantity)]
            if able:
                client = self.chance.choice(able)
                clients[clients.index(client)] = pay(client, side, price, quantity)
                requests.append(
                    Request(client.account_id, side, quantity, price, PARTNER, in_force)
                )
        if not requests:
            return Happened(cancelled)
        try:
            results = market.place_each(self.token_id, requests)
        except MarketClosed:
            return Happened(cancelled)
        placed = [result for result in results if isinstance(result, Placed)]
        return Happened(
            cancelled + len(placed), sum(len(each.executions) for each in placed)
        )


def as_orders(book: OrderBook, message: Message) -> tuple[list[Any], dict[Any, int]]:
    """The orders to place, and the units that a message removes by side and price."""
    if message.deals:
        side = message.changes[0].side
        units = sum(deal.quantity for deal in message.deals)
        return [(1 - side, message.deals[-1].price, units, TimeInForce.IOC)], {}
    placed, withdrawn = [], {}
    for side, price, quantity in message.changes:
        more = quantity - book.quantity(side, price)
        if more > 0:
            placed.append((side, price, more, TimeInForce.GTC))
        elif more < 0:
            withdrawn[side, price] = -more
    return placed, withdrawn


def can_place(client: Client, side: int, price: int, quantity: int) -> bool:
    if side == BID:
        return client.cash >= price * quantity
    return client.units >= quantity


def pay(client: Client, side: int, price: int, quantity: int) -> Client:
    if side == BID:
        return client._replace(cash=client.cash - price * quantity)
    return client._replace(units=client.units - quantity)
