"""An order: its terms, its activity and its executions."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse

from marketdata.trading.models import Bust, Execution, Order, OrderFee, OrderSide
from marketdata.trading.tariffs import text_of
from partnerapi.core.money import euros

EVENTS_OF_A_PAGE = 100
LAST_EVENT = 2**63 - 1
EXECUTIONS = 100
"""The most that the page shows, the newest."""


def show_order(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Events from the one that `before` names downwards."""
    if not request.user.has_perm("trading.view_order"):
        raise PermissionDenied
    rows = Order.objects.select_related("token", "account__user", "account__partner")
    order = get_object_or_404(rows, pk=pk)
    asked = request.GET.get("before", "")
    before = min(int(asked), LAST_EVENT) if asked.isdecimal() else LAST_EVENT
    found = order.events.filter(number__lt=before).order_by("-number")
    events = [*found[: EVENTS_OF_A_PAGE + 1]]
    shown = events[:EVENTS_OF_A_PAGE]
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"{order.get_side_display()} order of {order.token.symbol}",
        "order": order,
        "limit": euros(order.limit_price),
        "value": euros(order.filled_value),
        "events": [(e, None if e.price is None else euros(e.price)) for e in shown],
        "older": shown[-1].number if len(events) > len(shown) else None,
        "is_first": before == LAST_EVENT,
        "fee": fee_of(order),
        "executions": executions(order),
        "most": EXECUTIONS,
    }
    return TemplateResponse(request, "admin/order.html", context)


def fee_of(order: Order) -> dict[str, str] | None:
    """The tariff of its acceptance, what it paid, and what it reserves for fees."""
    fee = OrderFee.objects.select_related("tariff").filter(order=order).first()
    if fee is None:
        return None
    return {
        "tariff": text_of(fee.tariff.terms),
        "paid": euros(fee.paid),
        "reserved": euros(fee.reserved),
    }


def executions(order: Order) -> list[tuple[Execution, str, str, bool]]:
    """The newest, each with its price, its value, and whether it was busted."""
    side = "buy_order" if order.side == OrderSide.BUY else "sell_order"
    found = Execution.objects.filter(**{side: order}).order_by("-sequence")
    return shown_executions(order.token_id, [*found[:EXECUTIONS]])


def shown_executions(
    token_id: UUID, found: list[Execution]
) -> list[tuple[Execution, str, str, bool]]:
    busts = Bust.objects.filter(
        token=token_id, sequence__in=[e.sequence for e in found]
    )
    undone = {*busts.values_list("sequence", flat=True)}
    return [
        (e, euros(e.price), euros(e.price * e.quantity), e.sequence in undone)
        for e in found
    ]
