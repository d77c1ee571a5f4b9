"""An auction: the book of its call, how it would end, and how it ended."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.utils import timezone

from marketdata.trading.models import (
    Auction,
    Execution,
    Order,
    OrderEvent,
    OrderSide,
    OrderStatus,
)
from marketdata.trading.moving import CLOCK
from partnerapi.core.money import euros, plural
from partnerapi.staff.charts import Chart, Mark, Series, over_time, ticks_of
from partnerapi.staff.market.order import shown_executions

LEVELS, FILLS, REMOVED = 20, 50, 50
"""The most that a page shows: limits, nearest the price, fills, and orders removed."""
CALL, SETTLING, HALTED, TRADED, NO_TRADE = (
    "Call", "Settling", "Halted", "Traded", "No trade",
)  # fmt: skip
ENDED = (OrderEvent.Kind.ORDER_CANCELLED, OrderEvent.Kind.ORDER_EXPIRED)


@dataclass(frozen=True, slots=True)
class Level:
    """Units at a limit; `bid` and `offered` are those that would trade there."""

    price: int
    buys: int
    sells: int
    bid: int
    offered: int
    is_price: bool

    @property
    def limit(self) -> str:
        return euros(self.price)

    @property
    def volume(self) -> int:
        return min(self.bid, self.offered)

    @property
    def imbalance(self) -> str:
        return imbalance(self.bid - self.offered)


def show_auction(request: HttpRequest, pk: UUID, began: int) -> HttpResponse:
    auction = auction_for(request, pk, began)
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"Auction of {auction.token.symbol}",
        **context_of(auction, timezone.now()),
    }
    return TemplateResponse(request, "admin/auction.html", context)


def poll_auction(request: HttpRequest, pk: UUID, began: int) -> HttpResponse:
    """The figures alone."""
    auction = auction_for(request, pk, began)
    context = context_of(auction, timezone.now())
    return render(request, "admin/auction_figures.html", context)


def auction_for(request: HttpRequest, pk: UUID, began: int) -> Auction:
    """Without the end that was drawn, which stays secret until the auction.

    Raises:
        PermissionDenied: the user may not view markets.
    """
    if not request.user.has_perm("trading.view_market"):
        raise PermissionDenied
    rows = Auction.objects.select_related("token").defer("ends_at")
    return get_object_or_404(rows, token=pk, began=began)


def context_of(auction: Auction, at: datetime) -> dict[str, Any]:
    state = state_of(auction)
    price, quantity, surplus = figures_of(auction)
    numbers = [n for n in (auction.began, auction.ended) if n is not None]
    events = OrderEvent.objects.filter(token=auction.token_id, number__in=numbers)
    of_number = {event.number: event for event in events}
    levels = levels_of(auction, price) if state == CALL else []
    return {
        "auction": auction,
        "at": at,
        "state": state,
        "began": of_number[auction.began],
        "ended": of_number.get(auction.ended or 0),
        "time_to_go": time_to_go(auction.earliest_at - at) if state == CALL else "",
        "drawn": auction.ends_at if auction.fills is not None else None,
        "reference": euros(auction.reference_price),
        "bands": auction.lowest is not None
        and f"{euros(auction.lowest)} to {euros(auction.highest or 0)}",
        "price": "none" if price is None else euros(price),
        "quantity": quantity or 0,
        "imbalance": imbalance(surplus or 0),
        "levels": levels[::-1],
        "chart": chart(levels) if state == CALL else None,
        "executions": shown_executions(auction.token_id, trades_of(auction)),
        "removed": removed(auction),
        "most_fills": FILLS,
        "most_removed": REMOVED,
    }


def state_of(auction: Auction) -> str:
    if auction.ended is None:
        return CALL if auction.fills is None else SETTLING
    if auction.fills is None:
        return HALTED
    return NO_TRADE if auction.price is None else TRADED


def figures_of(auction: Auction) -> tuple[int | None, int | None, int | None]:
    """Price, units and surplus: of its result, or as it would end."""
    if auction.fills is not None:
        return auction.price, auction.quantity, auction.surplus
    return (
        auction.indicative_price,
        auction.indicative_quantity,
        auction.indicative_surplus,
    )


def imbalance(surplus: int) -> str:
    side = "to buy" if surplus > 0 else "to sell"
    return f"{abs(surplus):,} {side}" if surplus else "none"


def time_to_go(left: timedelta) -> str:
    """Until the end that is announced; the drawn one comes within a minute after it."""
    seconds = int(left.total_seconds())
    if seconds <= 0:
        return "less than a minute"
    hours, minutes = divmod(seconds // 60, 60)
    parts = [plural(hours, "hour")] if hours else []
    if not hours:
        parts = [f"{minutes} min"] if minutes else []
        parts.append(f"{seconds % 60} s")
    elif minutes:
        parts.append(f"{minutes} min")
    return " ".join(parts) + ", and up to a minute more"


def levels_of(auction: Auction, price: int | None) -> list[Level]:
    """The limits of open orders nearest the price, or the reference; lowest first."""
    left = F("quantity") - F("filled")
    rows = [
        *Order.objects.filter(token=auction.token_id, status=OrderStatus.OPEN)
        .values_list("limit_price")
        .annotate(
            buys=Sum(left, filter=Q(side=OrderSide.BUY), default=0),
            sells=Sum(left, filter=Q(side=OrderSide.SELL), default=0),
        )
        .order_by("limit_price")
    ]
    bid, offered, levels = sum(buys for _, buys, _ in rows), 0, []
    for limit, buys, sells in rows:
        offered += sells
        levels.append(Level(limit, buys, sells, bid, offered, limit == price))
        bid -= buys
    middle = auction.reference_price if price is None else price
    nearest = sorted(levels, key=lambda level: abs(level.price - middle))[:LEVELS]
    return sorted(nearest, key=lambda level: level.price)


def chart(levels: list[Level]) -> Chart:
    """What is bid and offered at each limit: the price is where both lines cross."""
    labels = [level.limit for level in levels]
    return over_time(
        "curve",
        "Bid and offered at each limit",
        labels,
        ticks_of(labels),
        [
            Series("Bid", "line-bid", [level.bid for level in levels]),
            Series("Offered", "line-ask", [level.offered for level in levels]),
        ],
        marks=[
            (place, Mark(level.limit, "indicative price"))
            for place, level in enumerate(levels)
            if level.is_price
        ],
        head="Limit",
        empty="No orders rest in this call.",
    )


def trades_of(auction: Auction) -> list[Execution]:
    if not auction.settled or auction.first_trade is None:
        return []
    last = auction.first_trade + auction.settled
    found = Execution.objects.filter(token=auction.token_id, sequence__lte=last)
    first = found.filter(sequence__gt=auction.first_trade).order_by("sequence")
    return [*first[:FILLS]]


def removed(auction: Auction) -> list[tuple[OrderEvent, str]]:
    """The orders that the auction ended, each with its limit."""
    if auction.fills is None:
        return []
    events = OrderEvent.objects.filter(
        token=auction.token_id,
        number__gt=auction.began,
        number__lte=auction.first_event,
        kind__in=ENDED,
        actor=CLOCK,
        at__gte=auction.ends_at,
    )
    found = events.select_related("order").order_by("number")[:REMOVED]
    return [(event, euros(event.order.limit_price)) for event in found if event.order]
