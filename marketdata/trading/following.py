"""Removes orders from the books once their account or holder may not trade."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import QuerySet

from accounts.people.followers import Ids
from marketdata.trading import market
from marketdata.trading.in_force import OrderStatusReason
from marketdata.trading.models import Order, OrderStatus
from marketdata.trading.refusing import end_refused
from partnerapi.core.lock_waits import LockTimeout

STAFF = "staff"
"""The actor of these cancellations in the market's log."""


def open_orders(users: Ids, tokens: Ids) -> QuerySet[Order]:
    orders = Order.objects.filter(status=OrderStatus.OPEN)
    if users is not None:
        orders = orders.filter(user__in=users)
    return orders if tokens is None else orders.filter(token__in=tokens)


class OpenOrders:
    """Makes open orders follow changes of accounts and holders."""

    def affected_tokens(self, users: Ids, tokens: Ids) -> set[UUID]:
        return set(
            open_orders(users, tokens).values_list("token", flat=True).distinct()
        )

    def hold(self, tokens: Collection[UUID]) -> None:
        if tokens:
            market.lock_books(sorted(tokens))
            if market.is_bound(tokens):
                raise LockTimeout("An auction of their orders has not settled yet.")

    def follow(self, users: Ids, tokens: Collection[UUID], reason: str) -> None:
        if len(tokens) > 1:
            market.lock_cash(open_orders(users, tokens))
        for token in sorted(tokens):
            end_refused(token, users, OrderStatusReason(reason), STAFF)
