"""A request against a market, judged order by order; what follows is collected here.

Nothing here reads or writes the database: `market` reads what a round needs, under
locks, and `writing` writes what it has collected.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import uuid_utils.compat as uuid

from accounts.cash import Payment
from issuers.compliance.judge import Refusal, Side, refusals
from issuers.register.ledger import Entry, Kind
from issuers.register.writer import LockedLedger, Writer
from marketdata.books.log import MAX, Deal, Message
from marketdata.books.orderbook import Change
from marketdata.trading.errors import (
    AccountNotActive,
    DuplicateClientOrderID,
    InsufficientFunds,
    InsufficientUnits,
    LotSize,
    OrderValueTooLarge,
    PriceOutsideCollar,
    TickSize,
    TooManyOpenOrders,
    TransferRefused,
)
from marketdata.trading.locked import Book, Cash, Client
from marketdata.trading.models import Execution, Order, OrderEvent, OrderStatus
from marketdata.trading.queues import BUY, SELL, Match, Queues, Resting
from partnerapi.core.errors import BadUserInput

LONGEST = timedelta(days=90)
"""After so long an order that rests expires."""
MOST_OPEN = 1_000
"""Open orders of an account and a token."""
Event = OrderEvent.Kind
RESERVED = "UNITS_RESERVED"


@dataclass(frozen=True, slots=True)
class Request:
    """An order to be placed: units from 1, and a limit in euro cents from 1."""

    account_id: UUID
    side: int
    quantity: int
    limit_price: int
    time_in_force: str = "DAY"
    expires_at: datetime | None = None
    client_order_id: str | None = None


class Placed(NamedTuple):
    """An order that was taken, as it stands, and its executions."""

    order: Order
    executions: list[Execution]


@dataclass
class Round:
    """A market and the holdings of those who may trade, as the orders so far leave it.

    `at` judges and dates everything; `moved` is the time of the ledger's entries.
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

    def place(self, request: Request) -> Placed:
        """Judge an order, and let it trade and rest.

        Raises:
            PartnerAPIError: why it is not taken; nothing has changed.
            RanOut: it reaches orders that are not here; the round is of no more use.
        """
        client = self.clients[request.account_id]
        self.check_shape(request)
        self.check_active(client)
        self.check_once(request)
        order = Order(
            id=uuid.uuid7(),
            token_id=self.book.token_id,
            account_id=client.account_id,
            user_id=client.user_id,
            ledger_account_id=client.ledger_account,
            cash_account_id=client.cash_account,
            partner_id=client.partner_id,
            side=request.side,
            limit_price=request.limit_price,
            quantity=request.quantity,
            time_in_force=request.time_in_force,
            expires_at=self.expiry(request),
            status=OrderStatus.OPEN,
            priority=0,
            last_event=0,
            client_order_id=request.client_order_id,
            created_at=self.at,
            updated_at=self.at,
        )
        self.check_movement(order, order.quantity)
        taker, match = self.meet(order)
        self.close(match)
        self.orders[order.pk] = order
        self.new[order.pk] = order
        if request.client_order_id is not None:
            self.used_ids[order.account_id, request.client_order_id] = order.pk
        order.priority = self.tell(order, Event.ORDER_ACCEPTED)
        executions = self.settle(order, taker, match)
        self.open_counts[order.account_id] += order.status == OrderStatus.OPEN
        self.end_message()
        return Placed(order, executions)

    def amend(self, order: Order, quantity: int, limit_price: int) -> bool:
        """Give an order another quantity or limit; whether it has kept its place.

        Raises:
            PartnerAPIError: why not; the round is of no more use.
            RanOut: as `place`.
        """
        before = (order.limit_price, order.remaining)
        self.check_limit(quantity, limit_price)
        self.release(order, order.remaining)
        if order.pk in self.queues.orders:
            self.queues.remove(order.pk)
        remaining = quantity - order.filled
        self.check_level(order.side, limit_price, remaining)
        order.quantity, order.limit_price = quantity, limit_price
        self.check_movement(order, remaining)
        keeps = limit_price == before[0] and remaining <= before[1]
        match = Match(left=remaining)
        taker = Resting(order.pk, order.user_id, order.side, limit_price, remaining)
        if not keeps:
            taker, match = self.meet(order)
            order.priority = self.book.event + 1 + len(match.closed)
        self.close(match)
        order.version += 1
        self.amended.append(order)
        self.tell(order, Event.ORDER_AMENDED)
        self.settle(order, taker, match)
        self.end_message()
        return keeps

    def end(self, order: Order, status: str, reason: str) -> None:
        """End an open order, in the message that is begun."""
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

    # What an order must keep

    def check_active(self, client: Client) -> None:
        if client.status != "ACTIVE":
            raise AccountNotActive(
                f"The account is {client.status}.", status=client.status
            )

    def check_shape(self, request: Request) -> None:
        if not request.quantity >= 1 or not request.limit_price >= 1:
            raise BadUserInput("A quantity and a limit are 1 or more.")
        self.check_limit(request.quantity, request.limit_price)
        rests = request.time_in_force not in ("IOC", "FOK")
        if (request.time_in_force == "GTD") != (request.expires_at is not None):
            raise BadUserInput("expiresAt belongs to GTD, and GTD has one.")
        if request.expires_at is not None and not (
            self.at < request.expires_at <= self.at + LONGEST
        ):
            raise BadUserInput(
                f"expiresAt is after now and within {LONGEST.days} days."
            )
        if rests:
            self.check_level(request.side, request.limit_price, request.quantity)
            if self.open_counts[request.account_id] >= MOST_OPEN:
                raise TooManyOpenOrders(
                    f"The account has {MOST_OPEN:,} open orders of this token.",
                    maximum=MOST_OPEN,
                )

    def check_limit(self, quantity: int, limit_price: int) -> None:
        book = self.book
        if quantity * limit_price > MAX:
            raise too_large()
        if limit_price % book.tick:
            raise TickSize(
                f"The limit {limit_price} is no multiple of {book.tick} cents.",
                tickSize=book.tick,
            )
        if quantity % book.lot:
            raise LotSize(
                f"The quantity {quantity} is no multiple of {book.lot} units.",
                lotSize=book.lot,
            )
        floor, cap = collar(book.reference or 0, book.collar_bps)
        if not floor <= limit_price <= cap:
            raise PriceOutsideCollar(
                f"The limit {limit_price} is not within {floor} to {cap} cents.",
                floor=floor,
                cap=cap,
            )

    def check_level(self, side: int, price: int, units: int) -> None:
        if self.levels.get((side, price), 0) + units > MAX:
            raise too_large()

    def check_once(self, request: Request) -> None:
        if request.client_order_id is None:
            return
        used = self.used_ids.get((request.account_id, request.client_order_id))
        if used is not None:
            raise DuplicateClientOrderID(
                f"The account has an order {request.client_order_id} already.",
                orderID=used,
            )

    def check_movement(self, order: Order, units: int) -> None:
        """Whether rules let these units move, and what pays for them is free."""
        account = order.ledger_account_id
        own = self.ledger.side(account)
        if order.side == BUY:
            found = self.refused(units, Side(), own, 0)
            needed = order.limit_price * units
            available = self.cash[order.cash_account_id].available
            if not found and needed > available:
                raise InsufficientFunds(
                    f"The order may cost {needed} cents; {available} are available.",
                    available=available,
                    required=needed,
                )
        else:
            free = own.balance - own.reserved - own.standing.locked
            found = [
                refusal
                for refusal in self.refused(units, own, Side(), 0)
                if refusal.code != RESERVED
            ]
            if not found and units > free:
                available = max(free, 0)
                raise InsufficientUnits(
                    f"The order sells {units} units; {available} are available.",
                    available=available,
                    required=units,
                )
        if found:
            raise TransferRefused(
                " ".join(refusal.text for refusal in found),
                refusals=[{"code": r.code, **r.details} for r in found],
            )

    def refused(
        self, units: int, gives: Side, takes: Side, further: int
    ) -> list[Refusal]:
        """Why units may not go from one to another; `further`: holders since."""
        ledger = self.ledger
        if not ledger.standings and not gives.reserved:
            return []
        holders = ledger.holders + further
        after = holders + (takes.balance == 0) - (gives.balance == units)
        return refusals(Kind.TRADE, units, gives, takes, ledger.supply, holders, after)

    def expiry(self, request: Request) -> datetime | None:
        if request.time_in_force == "DAY":
            return self.book.session.next_close(self.at)
        if request.time_in_force == "GTC":
            return self.at + LONGEST
        return request.expires_at

    # What it meets

    def meet(self, order: Order) -> tuple[Resting, Match]:
        taker = Resting(
            order.pk, order.user_id, order.side, order.limit_price, order.remaining
        )
        may = Eligible(self, order)
        return taker, self.queues.match(taker, order.time_in_force, may)

    def close(self, match: Match) -> None:
        """End orders that a rule keeps from their fill."""
        for maker in match.closed:
            order = self.orders[maker.order]  # type: ignore[index]
            self.end(order, OrderStatus.CANCELLED, "NOT_ELIGIBLE")
        match.closed.clear()

    def settle(self, order: Order, taker: Resting, match: Match) -> list[Execution]:
        fills = [
            (self.orders[fill.maker.order], fill.quantity)  # type: ignore[index]
            for fill in match.fills
        ]
        self.queues.apply(taker, match)
        executions = [self.trade(order, maker, quantity) for maker, quantity in fills]
        if match.left and match.stop is None:
            self.reserve(order, match.left)
        elif match.left:
            order.status = OrderStatus.CANCELLED
            order.status_reason = match.stop.value if match.stop else None
            self.tell(order, Event.ORDER_CANCELLED)
        return executions

    def trade(self, taker: Order, maker: Order, quantity: int) -> Execution:
        price = maker.limit_price
        value = price * quantity
        buy, sell = (taker, maker) if taker.side == BUY else (maker, taker)
        self.release(maker, quantity)
        self.book.trade += 1
        entry = Entry(
            self.book.token_id,
            Kind.TRADE,
            quantity,
            sell.ledger_account_id,
            buy.ledger_account_id,
        )
        recorded = self.writer.enter(entry, self.moved)
        self.cash[buy.cash_account_id].balance -= value
        self.cash[sell.cash_account_id].balance += value
        self.payments.append(
            Payment(
                "TRADE", buy.cash_account_id, sell.cash_account_id, value, self.actor
            )
        )
        for order in (maker, taker):
            order.filled += quantity
            order.filled_value += value
            if not order.remaining:
                order.status = OrderStatus.FILLED
            self.tell(order, Event.ORDER_TRADED, price, quantity, self.book.trade)
        self.change(maker)
        self.deals.append(Deal(price, quantity))
        execution = Execution(
            token_id=self.book.token_id,
            sequence=self.book.trade,
            buy_order_id=buy.pk,
            sell_order_id=sell.pk,
            buyer_account_id=buy.account_id,
            seller_account_id=sell.account_id,
            price=price,
            quantity=quantity,
            aggressor=taker.side,
            ledger_seq=recorded.number,
            event=self.book.event,
            at=self.at,
        )
        self.executions.append(execution)
        return execution

    # What it holds, and where it shows

    def reserve(self, order: Order, units: int) -> None:
        """Hold what open units of an order may cost, and show them in the book."""
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
        """Note that an order that was there before the round is another now."""
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
        """Number an event of an order as it stands."""
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

    def end_message(self) -> None:
        """Close a message of the book's log: what one order has changed."""
        changes = [
            Change(*key, self.levels[key])
            for key, before in self.touched.items()
            if self.levels[key] != before
        ]
        if changes or self.deals:
            self.messages.append(Message(changes, tuple(self.deals)))
        self.touched.clear()
        self.deals.clear()


class Eligible:
    """Whether rules let resting orders have the fills that one order brings them."""

    def __init__(self, of: Round, taker: Order) -> None:
        self.round, self.taker = of, taker
        self.moved: dict[int, int] = {}
        self.further = 0

    def __call__(self, maker: Resting, quantity: int) -> bool:
        ledger = self.round.ledger
        if not ledger.standings:
            return True
        order = self.round.orders[maker.order]  # type: ignore[index]
        accounts = (order.ledger_account_id, self.taker.ledger_account_id)
        seller, buyer = accounts if maker.side == SELL else reversed(accounts)
        gives, takes = self.side(seller), self.side(buyer)
        if self.round.refused(quantity, gives, takes, self.further):
            return False
        self.further += (takes.balance == 0) - (gives.balance == quantity)
        for account, delta in ((seller, -quantity), (buyer, quantity)):
            self.moved[account] = self.moved.get(account, 0) + delta
        return True

    def side(self, account: int) -> Side:
        """An account's units after the fills so far; the matched ones are not held."""
        own = self.round.ledger.side(account)
        return Side(own.balance + self.moved.get(account, 0), 0, own.standing)


def collar(reference: int, bps: int) -> tuple[int, int]:
    """The lowest and the highest limit around a reference price, cents."""
    away = reference * bps // 10_000
    return max(reference - away, 1), reference + away


def too_large() -> OrderValueTooLarge:
    return OrderValueTooLarge(
        f"An order's value, and the units at a limit, are {MAX} at most.", maximum=MAX
    )
