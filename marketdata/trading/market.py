"""The only writer of our markets: orders, their trades, and the phases.

A request is one transaction: its orders are accepted, matched, settled against payment
and logged, or nothing changes. Locks are taken in the order of core/locks.md. A caller
inside a transaction may hold only the first of them.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from accounts.cash.writer import lock_heads
from issuers.register import ledger
from issuers.register.writer import Writer
from marketdata.trading import locked, moving, placing
from marketdata.trading.errors import MarketClosed, OrderChanged, OrderNotOpen
from marketdata.trading.fees import NO_FEE, Fee, OrderFees, parts_of
from marketdata.trading.in_force import Ending, OrderStatusReason, TimeInForce
from marketdata.trading.judging import MOST_OPEN
from marketdata.trading.limits import Limits, taken
from marketdata.trading.locked import Book, Cash, MissingHolders
from marketdata.trading.models import (
    Auction,
    Execution,
    Market,
    Order,
    OrderStatus,
    Phase,
    TradingModel,
)
from marketdata.trading.moving import CLOCK
from marketdata.trading.placing import Placed
from marketdata.trading.queues import BUY, RanOut
from marketdata.trading.round import Request, Round
from marketdata.trading.writing import write
from partnerapi.core.errors import BadUserInput, PartnerAPIError
from partnerapi.core.lock_waits import LockTimeout, name_locked_row

logger = logging.getLogger(__name__)

__all__ = ["Placed", "Request"]

FIRST_MAKERS = 16
MOST_TRIES = 16
MOST_EXPIRED = 500
Done = TypeVar("Done")


class Due(Exception):
    """The market has opened by the clock, and does not know it yet; its token."""


class Amended(NamedTuple):
    order: Order
    executions: list[Execution]
    kept_priority: bool


class Check(NamedTuple):
    """What would come of an order: why it would be refused, or what it would reserve,
    in euro cents or units, what would trade at once, and the highest fee at its limit.
    """

    refused: PartnerAPIError | None
    reserves: int
    would_fill_quantity: int
    would_fill_value: int
    at: datetime
    fee: Fee = NO_FEE


def place_each(
    token_id: UUID,
    requests: Sequence[Request],
    is_trial: bool = False,
    limits: Collection[Limits] = (),
) -> list[Placed | PartnerAPIError]:
    """Process orders in sequence, in a constant number of statements.

    Each answer is the order with its executions, or the reason for its refusal. The
    answers have the order of the requests. A trial locks and writes nothing. `limits`
    are those of the partners that have some, a statement more for each.

    Raises:
        NotTradable, MarketClosed: no order is accepted.
    """

    def attempt(makers: int) -> list[Placed | PartnerAPIError]:
        prepared = prepare(
            token_id, requests, makers, holds=not is_trial, limits=limits
        )
        results = [try_to_place(prepared, request) for request in requests]
        if not is_trial:
            write(prepared)
        return results

    return with_makers(attempt, len(requests))


def check(token_id: UUID, request: Request, limits: Collection[Limits] = ()) -> Check:
    """The outcome of an order now: a dry run, which locks and writes nothing.

    Raises:
        NotTradable, MarketClosed
    """

    def attempt(makers: int) -> Check:
        prepared = prepare(token_id, [request], makers, holds=False, limits=limits)
        result = try_to_place(prepared, request)
        if isinstance(result, PartnerAPIError):
            return Check(result, 0, 0, 0, prepared.at)
        order = result.order
        value, fee = order.limit_price * order.quantity, NO_FEE
        if fees := prepared.fees.get(order.pk):
            most = OrderFees(fees.terms).due(value)
            fee = parts_of(
                most if order.side == BUY else min(most, value), fees.terms.vat
            )
        reserves = value + fee.total if order.side == BUY else order.quantity
        return Check(None, reserves, order.filled, order.filled_value, prepared.at, fee)

    return with_makers(attempt, 1)


def amend(
    order_id: UUID,
    version: int,
    actor: str,
    quantity: int | None = None,
    limit_price: int | None = None,
    post_only: bool = False,
    is_trial: bool = False,
    limits: Collection[Limits] = (),
) -> Amended:
    """Change an open order's quantity, fills included, or its limit.

    A smaller quantity at the same limit keeps the order's place. Any other change takes
    a new place and may trade at once, unless it is `post_only`. A trial locks and
    writes nothing.

    Raises:
        OrderNotOpen, OrderChanged, MarketClosed, and all refusals of a new order: the
        order stays as it was.
    """
    found = Order.objects.get(pk=order_id)

    def attempt(makers: int) -> Amended:
        limit = found.limit_price if limit_price is None else limit_price
        wanted = found.quantity if quantity is None else quantity
        request = Request(found.account_id, found.side, wanted, limit, actor)
        prepared = prepare(
            found.token_id, [request], makers, [order_id], not is_trial, limits
        )
        at = prepared.at
        [order] = prepared.own
        is_over = order.status == OrderStatus.OPEN and order.is_over(at)
        if is_over or order.status != OrderStatus.OPEN:
            status = OrderStatus.EXPIRED if is_over else order.status
            raise OrderNotOpen(
                f"The order is {status}.",
                status=status,
                statusReason=over(order) if is_over else order.status_reason,
            )
        if order.version != version:
            raise OrderChanged(
                f"The order has version {order.version}.", version=order.version
            )
        if wanted <= order.filled:
            raise BadUserInput(
                f"{order.filled} units are filled; the quantity must be greater.",
                minimum=order.filled + 1,
            )
        before = len(prepared.executions)
        prepared.actor = prepared.writer.actor = actor
        kept = placing.amend(prepared, order, wanted, limit, post_only)
        if not is_trial:
            write(prepared)
        return Amended(order, prepared.executions[before:], kept)

    return with_makers(attempt, 1)


def cancel_each(
    token_id: UUID,
    order_ids: Collection[UUID],
    reason: OrderStatusReason | str,
    actor: str,
    is_trial: bool = False,
) -> list[Order]:
    """End a token's OPEN orders among these, in any phase; return them. A trial locks
    and writes nothing.

    Raises:
        NotTradable
    """
    with transaction.atomic():
        seen = locked.read(token_id, [], 0, 0, 0, [*order_ids], holds=not is_trial)
        orders = [order for order in seen.own if order.status == OrderStatus.OPEN]
        return end_each(
            seen.book, seen.writer, seen.at, actor, orders, str(reason), is_trial
        )


def cancel_all(
    orders: QuerySet[Order], reason: OrderStatusReason | str, actor: str
) -> int:
    """End the OPEN orders among these, on all markets; return their number."""
    found = orders.filter(status=OrderStatus.OPEN)
    with transaction.atomic():
        tokens = sorted(set(found.order_by().values_list("token", flat=True)))
        lock_books(tokens)
        lock_cash(found.filter(token__in=tokens))
        ended = 0
        for token in tokens:
            ids = [*found.filter(token=token).values_list("pk", flat=True)]
            ended += len(cancel_each(token, ids, reason, actor))
        return ended


def expire_due(at: datetime) -> int:
    """End expired orders, one market at a time; return their number."""
    due = Order.objects.filter(status=OrderStatus.OPEN, expires_at__lte=at)
    tokens = due.order_by().values_list("token_id", flat=True).distinct()
    ended = 0
    for token_id in sorted(tokens):
        try:
            with name_locked_row():
                ended += expire(token_id)
        except LockTimeout as error:
            logger.warning("Orders will be cancelled a little later: %s", error)
    return ended


def expire(token_id: UUID) -> int:
    """End a market's expired orders, a batch at a time."""
    ended = 0
    while True:
        with transaction.atomic():
            book, writer, at = hold(token_id)
            due = Order.objects.filter(
                token=token_id, status=OrderStatus.OPEN, expires_at__lte=at
            )
            orders = list(due.order_by("priority")[:MOST_EXPIRED])
            end_each(book, writer, at, CLOCK, orders, None)
        ended += len(orders)
        if len(orders) < MOST_EXPIRED:
            return ended


def lock_books(token_ids: Collection[UUID]) -> None:
    """Lock markets, books and then ledgers, until the end of the transaction."""
    if token_ids:
        locked.books(token_ids)
        Writer(token_ids, "")


def lock_cash(orders: QuerySet[Order]) -> None:
    """Lock what buy orders of several markets reserve, in the order of locks: one
    market after the other would take it in another one. The books are held."""
    buys = orders.order_by().filter(side=BUY)
    lock_heads(buys.values_list("cash_account", flat=True))


# Shared steps


def with_makers(attempt: Callable[[int], Done], orders: int) -> Done:
    """Try with few resting orders, and again with more if they do not suffice."""
    makers = FIRST_MAKERS + orders
    for _ in range(MOST_TRIES):
        try:
            with transaction.atomic():
                return attempt(makers)
        except RanOut:
            makers *= 2
        except Due as market:
            moving.catch_up(market.args[0])
        except MissingHolders as missing:
            # A profile's lock comes before any lock of the market.
            ledger.holder_accounts(missing.args[0])
    raise RanOut


def hold(token_id: UUID) -> tuple[Book, Writer, datetime]:
    """A market, its ledger, and the time of the following checks and records."""
    book = locked.books([token_id])[token_id]
    writer = Writer([token_id], CLOCK)
    return book, writer, max(writer.ledgers[token_id].now, book.last_at)


def check_phase(book: Book, at: datetime) -> None:
    """Refuse requests outside the session, even if the clock has not closed it yet.

    Raises:
        MarketClosed
    """
    if book.phase == Phase.CALL and not book.is_over:
        return
    if book.phase == Phase.CALL:
        raise MarketClosed(
            "The call has ended, and its auction is under way; orders are accepted in "
            "the next phase.",
            phase=Phase.CALL,
            nextPhaseAt=None,
        )
    if book.next_phase_at is not None and book.next_phase_at <= at:
        raise MarketClosed.of(Phase.CLOSED, book.session.begins(at))
    if book.phase not in (Phase.AT_LAST, Phase.CONTINUOUS):
        raise MarketClosed.of(book.phase, book.next_phase_at)


def prepare(
    token_id: UUID,
    requests: Sequence[Request],
    makers: int,
    own: Sequence[UUID] = (),
    holds: bool = True,
    limits: Collection[Limits] = (),
) -> Round:
    """Read the data in the requests' reach; `own` are orders to amend."""
    of_partners = taken(limits, holds)
    # The more are read, the more are in reach.
    reach = makers // (FIRST_MAKERS + len(requests))
    seen = locked.read(token_id, requests, makers, reach, MOST_OPEN, own, holds)
    if moving.is_due(seen.book, seen.at) and seen.book.session.is_open(seen.at):
        if holds:
            raise Due(token_id)
        seen.book.phase, seen.book.next_phase_at = follows(seen.book), None
        seen.book.reference = moving.reference(token_id) or seen.book.reference
        seen.book.last_price = seen.book.reference
    check_phase(seen.book, seen.at)
    prepared = Round(
        seen.book,
        seen.writer,
        seen.at,
        seen.writer.ledgers[token_id].now,
        CLOCK,
        seen.clients,
        seen.cash,
        seen.queues,
        {order.pk: order for order in seen.reached},
        seen.own,
        seen.levels,
        seen.used_ids,
        seen.open_counts,
        of_partners,
        seen.tariffs,
        seen.fees,
    )
    for order in seen.gone:
        prepared.end(order, OrderStatus.EXPIRED, over(order))
    prepared.end_message()
    return prepared


def follows(market: Book | Market) -> Phase:
    """The phase that is due in an open session, also after one that was missed."""
    if market.phase == Phase.AT_LAST and market.next_phase == Phase.CLOSED:
        return Phase.CLOSED
    is_call = market.next_phase == Phase.CALL or market.model == TradingModel.FIXING
    return Phase.CALL if is_call else Phase.CONTINUOUS


def try_to_place(prepared: Round, request: Request) -> Placed | PartnerAPIError:
    try:
        return placing.place(prepared, request)
    except PartnerAPIError as refusal:
        return refusal


def end_each(
    book: Book,
    writer: Writer,
    at: datetime,
    actor: str,
    orders: list[Order],
    reason: str | None,
    is_trial: bool = False,
) -> list[Order]:
    """End open orders under the locks; without a reason they have expired."""
    if orders and book.phase == Phase.CALL and is_bound([book.token_id]):
        raise LockTimeout(
            "The auction is under way: it binds the orders until it has settled."
        )
    # The writer releases their reservations, so these are not read here.
    prepared = Round(
        book,
        writer,
        at,
        at,
        actor,
        cash=defaultdict(Cash),
    )
    for order in orders:
        if reason is None:
            prepared.end(order, OrderStatus.EXPIRED, over(order))
        else:
            prepared.end(order, OrderStatus.CANCELLED, reason)
        prepared.end_message()
    if orders and not is_trial:
        write(prepared)
    return orders


def binding() -> QuerySet[Auction]:
    """The auctions that have listed fills and not settled all."""
    return Auction.objects.filter(ended=None, fills__isnull=False)


def is_bound(token_ids: Collection[UUID]) -> bool:
    """Whether an auction binds the orders of one of the markets."""
    return binding().filter(token__in=token_ids).exists()


def over(order: Order) -> str:
    """The reason for which an order expires."""
    if TimeInForce(order.time_in_force).ending is Ending.SESSION:
        return OrderStatusReason.END_OF_SESSION
    return OrderStatusReason.TIME_IN_FORCE
