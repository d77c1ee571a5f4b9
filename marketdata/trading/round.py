"""A request against a market: the orders in its reach, and its results.

No code here uses the database. `market` reads the data of a round, `placing` processes
its orders, and `writing` writes the results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from issuers.register.writer import LockedLedger, Writer
from marketdata.trading.fees import NO_FEE, Fee, OrderFees, Terms
from marketdata.trading.in_force import TimeInForce
from marketdata.trading.limits import Taken
from marketdata.trading.locked import Book, Cash, Client
from marketdata.trading.models import (
    Execution,
    Order,
    OrderEvent,
    OrderStatus,
    Phase,
)
from marketdata.trading.queues import BUY, Queues

Event = OrderEvent.Kind


@dataclass(frozen=True, slots=True)
class Request:
    """An order to be placed: units from 1, and a limit in euro cents from 1.

    `actor` is a partner's login or the e-mail address of staff. With `post_only` it is
    refused if it would trade at once.
    """

    account_id: UUID
    side: int
    quantity: int
    limit_price: int
    actor: str
    time_in_force: str = TimeInForce.DAY
    expires_at: datetime | None = None
    client_order_id: str | None = None
    post_only: bool = False


class Step(NamedTuple):
    """A decision: an order is taken, amended or ended, or a resting one is filled.

    A fill is of units for the order that was taken or amended last. The changes of the
    book by the steps of one message appear at once.
    """

    kind: str
    order_id: UUID
    message: int
    units: int | None
    limit_price: int | None
    reason: str | None
    actor: str


@dataclass
class Round:
    """A market and the holdings of possible traders, after the orders so far.

    `at` is the time of all checks and records; `moved` is that of ledger entries.
    `taken` knows the partners that have limits. `interrupted` is the message after
    which a call began.
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
    own: list[Order] = field(default_factory=list)
    levels: dict[tuple[int, int], int] = field(default_factory=dict)
    used_ids: dict[tuple[UUID, str], UUID] = field(default_factory=dict)
    open_counts: dict[UUID, int] = field(default_factory=dict)
    taken: dict[UUID, Taken] = field(default_factory=dict)
    tariffs: Mapping[UUID, Terms] = field(default_factory=dict)
    fees: dict[UUID, OrderFees] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.new: dict[UUID, Order] = {}
        self.executions: list[Execution] = []
        self.steps: list[Step] = []
        self.message = 1
        self.interrupted: int | None = None

    @property
    def ledger(self) -> LockedLedger:
        return self.writer.ledgers[self.book.token_id]

    def reserve(self, order: Order, units: int) -> None:
        """Reserve the cost of an order's open units, and show them in the book."""
        if taken := self.taken.get(order.partner_id):
            taken.open_value += order.limit_price * units
        if order.side == BUY:
            self.cash[order.cash_account_id].reserved += order.limit_price * units
        else:
            reserved, account = self.ledger.reserved, order.ledger_account_id
            reserved[account] = reserved.get(account, 0) + units
        key = (order.side, order.limit_price)
        self.levels[key] = self.levels.get(key, 0) + units

    def release(self, order: Order, units: int) -> None:
        self.reserve(order, -units)

    def reserve_fee(self, order: Order, units: int) -> None:
        """Reserve what fees a buy may still pay while so many of its units are open."""
        fees = self.fees.get(order.pk)
        if fees is None or order.side != BUY:
            return
        held = fees.held(order.limit_price * units)
        self.cash[order.cash_account_id].reserved += held - fees.reserved
        fees.reserved = held

    def charge(self, order: Order, value: int, takes: bool) -> Fee:
        """The fee that an order pays with a fill of this value, in euro cents."""
        fees = self.fees.get(order.pk)
        if fees is None:
            return NO_FEE
        fee = fees.fill(value, takes, order.side != BUY)
        self.cash[order.cash_account_id].balance -= fee.total
        return fee

    def decide(
        self,
        kind: str,
        order: Order,
        units: int | None = None,
        limit_price: int | None = None,
        reason: str | None = None,
    ) -> None:
        self.steps.append(
            Step(kind, order.pk, self.message, units, limit_price, reason, self.actor)
        )

    def tell(self, order: Order) -> int:
        """Number the next event of an order."""
        self.book.event += 1
        order.last_event, order.updated_at = self.book.event, self.at
        return self.book.event

    def end(self, order: Order, status: str, reason: str) -> None:
        """End an open order, in the current message."""
        self.release(order, order.remaining)
        self.reserve_fee(order, 0)
        if order.pk in self.queues.orders:
            self.queues.remove(order.pk)
        self.stop(order, status, reason)

    def stop(self, order: Order, status: str, reason: str) -> None:
        """End an order that reserves nothing."""
        order.status, order.status_reason = status, reason
        kind = (
            Event.ORDER_EXPIRED
            if status == OrderStatus.EXPIRED
            else Event.ORDER_CANCELLED
        )
        self.decide(kind, order, reason=reason)
        self.tell(order)

    def interrupt(self) -> None:
        """Begin a call after the present message."""
        self.interrupted = self.message
        self.book.phase = Phase.CALL
        self.book.event += 1

    def end_message(self) -> None:
        """Close a message of the book's log: the changes by one order."""
        self.message += 1
