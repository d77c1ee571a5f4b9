"""Ends open orders that a new rule, a freeze or a lock now forbids."""

from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from django.db import transaction

from issuers.compliance.judge import Side, refusals
from issuers.register.ledger import Kind
from issuers.register.writer import LockedLedger
from marketdata.trading import locked
from marketdata.trading.market import end_each, hold
from marketdata.trading.models import Order, OrderStatus
from marketdata.trading.queues import BUY


def end_refused(
    token_id: UUID, users: Collection[UUID] | None, reason: str, actor: str
) -> list[Order]:
    """End those open orders of users (None: of all) that would be refused now.

    Of a holder's sell orders the newest go, until the rest are units that may leave.
    Orders of accounts that are not ACTIVE go, too. Returns those that have ended.
    """
    with transaction.atomic():
        book, writer, at = hold(token_id, actor, holds=True)
        orders = Order.objects.filter(token=token_id, status=OrderStatus.OPEN)
        if users is not None:
            orders = orders.filter(user__in=users)
        found = list(orders.select_related("account").order_by("priority"))
        accounts = {order.ledger_account_id for order in found}
        locked.load_holders(writer, token_id, accounts)
        ledger = writer.ledgers[token_id]
        sold: dict[int, int] = defaultdict(int)
        refused = [order for order in found if is_refused(order, ledger, sold)]
        return end_each(book, writer, at, actor, refused, reason)


def is_refused(order: Order, ledger: LockedLedger, sold: dict[int, int]) -> bool:
    """`sold` are units that older orders sell, which stay; by ledger account."""
    if order.account.status != "ACTIVE":
        return True
    account = order.ledger_account_id
    own = ledger.side(account)
    if order.side == BUY:
        units, gives, takes = order.remaining, Side(), own
        after = ledger.holders + (own.balance == 0)
    else:
        units = sold[account] + order.remaining
        gives, takes = Side(own.balance, 0, own.standing), Side()
        after = ledger.holders
        if units > own.balance - own.standing.locked:
            return True
    if refusals(Kind.TRADE, units, gives, takes, ledger.supply, ledger.holders, after):
        return True
    if order.side != BUY:
        sold[account] = units
    return False
