"""Ends open orders that a new rule, a freeze or a lock now forbids."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from uuid import UUID

from django.db import transaction

from accounts.accounts.models import AccountStatus
from issuers.compliance.judge import Side, refusals
from issuers.register.ledger import Kind
from issuers.register.writer import LockedLedger
from marketdata.trading import locked
from marketdata.trading.in_force import OrderStatusReason
from marketdata.trading.market import end_each, hold
from marketdata.trading.models import Order, OrderStatus
from marketdata.trading.queues import BUY, SELL


def end_refused(
    token_id: UUID, users: Collection[UUID] | None, reason: str, actor: str
) -> list[Order]:
    """End those open orders of users (None: of all) that the reason forbids.

    Other obstacles end no order: an account that left ACTIVE ends its own orders. It
    does not affect other accounts of its user, which may belong to another partner.
    Returns the ended orders.
    """
    with transaction.atomic():
        book, writer, at = hold(token_id)
        orders = Order.objects.filter(token=token_id, status=OrderStatus.OPEN)
        if users is not None:
            orders = orders.filter(user__in=users)
        found = list(orders.select_related("account").order_by("priority"))
        accounts = {order.ledger_account_id for order in found}
        locked.load_holders(writer, token_id, accounts)
        ended = forbidden(found, writer.ledgers[token_id], reason)
        return end_each(book, writer, at, actor, ended, reason)


def forbidden(
    orders: Sequence[Order], ledger: LockedLedger, reason: str
) -> list[Order]:
    """The orders that must end, of orders sorted by priority."""
    if reason == OrderStatusReason.ACCOUNT_NOT_ACTIVE:
        return [o for o in orders if o.account.status != AccountStatus.ACTIVE]
    if reason == OrderStatusReason.UNITS_LOCKED:
        return newest_beyond(orders, ledger)
    is_forbidden = breaks_rules
    if reason in (OrderStatusReason.HOLDER_FROZEN, OrderStatusReason.NOT_ELIGIBLE):
        is_forbidden = is_barred
    return [order for order in orders if is_forbidden(order, ledger)]


def newest_beyond(orders: Sequence[Order], ledger: LockedLedger) -> list[Order]:
    """Sell orders beyond the free units: the newest, until the rest may trade."""
    selling: dict[int, int] = defaultdict(int)
    ended = []
    for order in orders:
        if order.side == SELL:
            own = ledger.side(order.ledger_account_id)
            selling[order.ledger_account_id] += order.remaining
            if selling[order.ledger_account_id] > own.balance - own.standing.locked:
                ended.append(order)
    return ended


def is_barred(order: Order, ledger: LockedLedger) -> bool:
    """Whether the holder may not acquire units, or may not dispose of any."""
    standing = ledger.side(order.ledger_account_id).standing
    return bool(standing.receiving if order.side == BUY else standing.sending)


def breaks_rules(order: Order, ledger: LockedLedger) -> bool:
    own = ledger.side(order.ledger_account_id)
    own = Side(own.balance, 0, own.standing)
    gives, takes = (Side(), own) if order.side == BUY else (own, Side())
    after = ledger.holders + (order.side == BUY and own.balance == 0)
    units, supply = order.remaining, ledger.supply
    found = refusals(Kind.TRADE, units, gives, takes, supply, ledger.holders, after)
    return bool(found)
