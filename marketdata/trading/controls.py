"""Blocks orders until they are released, and cancels those that rest.

A block is committed on its own, before any market's lock is taken: it does not stand in
the line of orders. What rests is cancelled after it, market by market.
"""

import logging
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from marketdata.trading import market
from marketdata.trading.in_force import OrderStatusReason
from marketdata.trading.models import CancelTimer, Order, OrderBlock, OrderStatus
from marketdata.trading.moving import CLOCK
from partnerapi.core.database import value_of
from partnerapi.core.lock_waits import LockTimeout, name_locked_row

logger = logging.getLogger(__name__)

MOST_BLOCKS = 100
"""Blocks that a partner may have set at a time."""


def standing_of(partner_id: UUID | str) -> QuerySet[OrderBlock]:
    """The blocks that stand for a partner: its own, and staff's of it or of all."""
    of = Q(partner=partner_id) | Q(partner=None)
    return OrderBlock.objects.filter(of, released_at=None).order_by("blocked_at")


def block(
    partner_id: UUID | str | None,
    account_id: UUID | None,
    token_id: UUID | None,
    actor: str,
    reason: str = "",
) -> UUID:
    """Block orders, and return the block. `actor` is the partner, or of staff.

    Orders under way end before; no order that began before rests afterwards unless it
    rested already.
    """
    with transaction.atomic():
        made: UUID = value_of(BLOCK, [partner_id, account_id, token_id, reason, actor])
    return made


def would_be(
    partner_id: UUID | str, account_id: UUID | None, token_id: UUID | None, actor: str
) -> OrderBlock:
    """The block that would stand after a partner's `block`; nothing is locked."""
    stands = OrderBlock.objects.filter(
        partner_id=partner_id, account=account_id, token=token_id, is_staff=False,
        released_at=None,
    ).first()  # fmt: skip
    return stands or OrderBlock(
        partner_id=partner_id, account_id=account_id, token_id=token_id,
        is_staff=False, reason="", blocked_by=actor, blocked_at=timezone.now(),
    )  # fmt: skip


def release(block_id: UUID, actor: str) -> bool:
    """Release a block; whether it stood. One of staff's needs an approved request."""
    with transaction.atomic():
        stood: bool = value_of(RELEASE, [block_id, actor])
    return stood


def cancel_after(partner_id: UUID | str, seconds: int, actor: str) -> datetime | None:
    """Cancel all orders of a partner in so many seconds, unless it calls this before.

    0 seconds stop the timer. Returns when it fires.
    """
    at: datetime | None = value_of(CANCEL_AFTER, [partner_id, seconds, actor])
    return at


def fire_due() -> int:
    """Cancel the orders of partners whose timer has run out; return their number.

    Those that an auction binds are cancelled by another call, once it has settled.
    """
    ended = 0
    due = CancelTimer.objects.filter(fires_at__lte=value_of("SELECT clock_timestamp()"))
    for timer in [*due]:
        orders = Order.objects.filter(partner=timer.partner_id)
        try:
            with name_locked_row(), transaction.atomic():
                if value_of(FIRE, [timer.partner_id]):
                    timer.refresh_from_db()
                    if timer.fires_at is not None:
                        bound = market.binding().values("token")
                        orders = orders.exclude(token__in=bound)
                    ended += market.cancel_all(
                        orders, OrderStatusReason.CANCEL_TIMER, CLOCK
                    )
        except LockTimeout as error:
            logger.warning("The orders of a timer wait: %s", error)
    return ended


def sweep(orders: QuerySet[Order], reason: OrderStatusReason | str, actor: str) -> int:
    """End the OPEN orders among these, a market and a transaction at a time.

    Raises:
        LockTimeout: an auction that settles holds some; those of other markets ended.
    """
    found = orders.order_by().filter(status=OrderStatus.OPEN)
    ended, held = 0, None
    for token in sorted(set(found.values_list("token", flat=True))):
        ids = [*found.filter(token=token).values_list("pk", flat=True)]
        try:
            ended += len(market.cancel_each(token, ids, reason, actor))
        except LockTimeout as error:
            held = error
    if held is not None:
        raise held
    return ended


def release_content(of: OrderBlock) -> dict[str, str]:
    return {"block": str(of.pk)}


def release_title(of: OrderBlock) -> str:
    return f"Release of the {str(of).lower()}"


class ReleaseOrders:
    """A request to release a block of staff's."""

    def preview(self, request: ApprovalRequest) -> Preview:
        of = self.standing(request)
        rows = [
            ("Partner", "", str(of.partner or "All partners")),
            ("Account", "", str(of.account or "All accounts")),
            ("Reason of the block", "", of.reason),
            ("Blocked by", "", of.blocked_by),
            ("Blocked since", "", f"{of.blocked_at:%Y-%m-%d %H:%M} UTC"),
            ("New orders", "refused", "accepted, unless another block stands"),
        ]
        return Preview(rows, links={"Partner": of.partner} if of.partner else {})

    def execute(self, request: ApprovalRequest) -> None:
        release(self.standing(request).pk, request.filed_by.email or "")

    def standing(self, request: ApprovalRequest) -> OrderBlock:
        blocks = OrderBlock.objects.select_related("partner", "account__user")
        of = blocks.filter(pk=request.content["block"], released_at=None).first()
        if of is None:
            raise Superseded("The block was released.")
        return of


CANCEL_AFTER = "SELECT trading_cancel_after(%s, %s, %s)"
FIRE = "SELECT trading_fire(%s)"
BLOCK = "SELECT trading_block(%s, %s, %s, %s, %s)"
RELEASE = "SELECT trading_release(%s, %s)"
