"""A request against a market: the orders in its reach, and its results.

No code here uses the database. `market` reads the data of a round, `placing` processes
its orders, and `writing` writes the results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.cash.writer import Payment
from issuers.register.writer import LockedLedger, Writer
from marketdata.books.log import Deal, Message
from marketdata.books.orderbook import Change
from marketdata.trading.in_force import TimeInForce
from marketdata.trading.locked import Book, Cash, Client
from marketdata.trading.models import Execution, Order, OrderEvent, OrderStatus
from marketdata.trading.queues import BUY, Queues

Event = OrderEvent.Kind


@dataclass(frozen=True, slots=True)
class Request:
    """An order to be placed: units from 1, and a limit in euro cents from 1.

    `actor` is a partner's login or the e-mail address of staff.
    """

    account_id: UUID
    side: int
    quantity: int
    limit_price: int
    actor: str
    time_in_force: str = TimeInForce.DAY
    expires_at: datetime | None = None
    client_order_id: str | None = None


@dataclass
class Round:
    """A market and the holdings of possible traders, after the orders so far.

    `at` is the time of all checks and records; `moved` is that of ledger entries.
    """

    book: Book
    writer: Writer
    at: datetime
    moved: datetime
    actor: str
    clients: Mapping[UUID, Client] = field(default_factory=dict)
    cash: dict[int, Cash] = field(default_factory=dict)
    queues: Queues = field(default_factory=Queues)
    orders: dict[UUID, Order] = field(default_factory=dict)
    levels: dict[tuple[int, int], int] = field(default_factory=dict)
    used_ids: dict[tuple[UUID, str], UUID] = field(default_factory=dict)
    open_counts: dict[UUID, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.new: dict[UUID, Order] = {}
        self.changed: dict[UUID, Order] = {}
        self.amended: list[Order] = []
        self.executions: list[Execution] = []
        self.payments: list[Payment] = []
        self.events: list[tuple[Any, ...]] = []
        self.messages: list[Message] = []
        self.deals: list[Deal] = []
        self.touched: dict[tuple[int, int], int] = {}

    @property
    def ledger(self) -> LockedLedger:
        return self.writer.ledgers[self.book.token_id]

    def reserve(self, order: Order, units: int) -> None:
        """Reserve the cost of an order's open units, and show them in the book."""
        if order.side == BUY:
            self.cash[order.cash_account_id].reserved += order.limit_price * units
        else:
            reserved, account = self.ledger.reserved, order.ledger_account_id
            reserved[account] = reserved.get(account, 0) + units
        key = (order.side, order.limit_price)
        before = self.levels.get(key, 0)
        self.touched.setdefault(key, before)
        self.levels[key] = before + units

    def release(self, order: Order, units: int) -> None:
        self.reserve(order, -units)

    def change(self, order: Order) -> None:
        """Note a change of an order from before the round."""
        if order.pk not in self.new:
            self.changed[order.pk] = order

    def tell(
        self,
        order: Order,
        kind: str,
        price: int | None = None,
        quantity: int | None = None,
        trade: int | None = None,
    ) -> int:
        """Number an event of an order in its present state."""
        book = self.book
        book.event += 1
        priority = None
        if kind in (Event.ORDER_ACCEPTED, Event.ORDER_AMENDED):
            price, quantity = order.limit_price, order.quantity
            priority = order.priority or book.event
        order.last_event, order.updated_at = book.event, self.at
        self.events.append(
            (
                book.token_id, book.event, kind, order.pk, price, quantity,
                order.filled, order.remaining, order.filled_value, priority, trade,
                None, order.status_reason or "", self.actor, self.at,
            )
        )  # fmt: skip
        return book.event

    def end(self, order: Order, status: str, reason: str) -> None:
        """End an open order, in the current message."""
        self.release(order, order.remaining)
        if order.pk in self.queues.orders:
            self.queues.remove(order.pk)
        order.status, order.status_reason = status, reason
        kind = (
            Event.ORDER_EXPIRED
            if status == OrderStatus.EXPIRED
            else Event.ORDER_CANCELLED
        )
        self.tell(order, kind)
        self.change(order)

    def end_message(self) -> None:
        """Close a message of the book's log: the changes by one order."""
        changes = [
            Change(*key, self.levels[key])
            for key, before in self.touched.items()
            if self.levels[key] != before
        ]
        if changes or self.deals:
            self.messages.append(Message(changes, tuple(self.deals)))
        self.touched.clear()
        self.deals.clear()
