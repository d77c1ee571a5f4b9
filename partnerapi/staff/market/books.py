"""An order book as staff watch it: a ladder that follows it, and the day's prices."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from issuers.models import Token
from marketdata.books.current_books import CurrentBook, read_books
from marketdata.books.orderbook import Level
from marketdata.models import Trade
from partnerapi.core.money import euros

DEPTH, TRADES = 10, 10
DAY = timedelta(days=1)
MOST_PRICES = 2_000
"""Points of a day's line; of more, the newest."""
QUIET_SECONDS = 60
"""So long a book may stand still before its page says so."""
WIDTH, HEIGHT = 640, 120


@dataclass(frozen=True, slots=True)
class Row:
    """A level of the ladder; `percent` of the largest quantity that is shown."""

    price: str
    quantity: int
    percent: str


@dataclass(frozen=True, slots=True)
class Ladder:
    """What the page shows of a book; asks with the best one last."""

    token: Token
    asks: list[Row]
    bids: list[Row]
    spread: str
    sequence: int
    age_seconds: float | None
    trades: list[tuple[datetime, str, int]]

    @property
    def is_quiet(self) -> bool:
        return self.age_seconds is not None and self.age_seconds > QUIET_SECONDS


@dataclass(frozen=True, slots=True)
class Line:
    """A day's prices as the points of a line of WIDTH × HEIGHT."""

    points: str
    low: str
    high: str
    is_whole: bool


def show_book(request: HttpRequest, pk: UUID) -> HttpResponse:
    token = token_for(request, pk)
    at = timezone.now()
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"Order book of {token.symbol}",
        "token": token,
        "ladder": read(token, at),
        "line": day_line(token, at),
        "width": WIDTH,
        "height": HEIGHT,
    }
    return TemplateResponse(request, "admin/book.html", context)


def poll_ladder(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The ladder alone; 304 if the page already has it."""
    token = token_for(request, pk)
    shown = read(token, timezone.now())
    if shown is None:
        return HttpResponse(status=204)
    last = shown.trades[0][0].timestamp() if shown.trades else 0
    tag = f'"{shown.sequence}-{last}-{shown.is_quiet}"'
    if request.headers.get("If-None-Match") == tag:
        return HttpResponseNotModified()
    answer = render(request, "admin/ladder.html", {"ladder": shown})
    answer["ETag"] = tag
    return answer


def token_for(request: HttpRequest, pk: UUID) -> Token:
    """
    Raises:
        PermissionDenied: the user may not view tokens.
    """
    if not request.user.has_perm("issuers.view_token"):
        raise PermissionDenied
    return get_object_or_404(Token.objects.select_related("issuer", "market"), pk=pk)


def read(token: Token, at: datetime) -> Ladder | None:
    """None: the token is on the primary market, where it has no book."""
    book = read_books([str(token.pk)], DEPTH).get(str(token.pk))
    if book is None:
        return None
    trades = Trade.objects.filter(token=token).order_by("-sequence")[:TRADES]
    columns = trades.values_list("at", "price_cents", "quantity")
    return ladder(token, book, [(t, euros(p), q) for t, p, q in columns], at)


def ladder(token: Token, book: CurrentBook, trades: list[Any], at: datetime) -> Ladder:
    most = max((level.quantity for level in [*book.bids, *book.asks]), default=1)
    spread = "one side only" if book.bids or book.asks else "empty"
    if book.bids and book.asks:
        spread = euros(book.asks[0].price - book.bids[0].price)
    last = parse_datetime(book.at) if book.at else None
    return Ladder(
        token,
        [*reversed(rows(book.asks, most))],
        rows(book.bids, most),
        spread,
        book.sequence,
        (at - last).total_seconds() if last else None,
        trades,
    )


def rows(levels: Sequence[Level], most: int) -> list[Row]:
    return [
        Row(euros(price), quantity, f"{100 * quantity / most:.2f}")
        for price, quantity in levels
    ]


def day_line(token: Token, at: datetime) -> Line | None:
    """The prices of the last 24 hours; None: there was none."""
    begin = at - DAY
    newest = token.prices.filter(effective_at__gte=begin)
    found = list(
        newest.order_by("-effective_at", "-number").values_list(
            "effective_at", "price_cents"
        )[: MOST_PRICES + 1]
    )
    if not found:
        return None
    is_whole = len(found) <= MOST_PRICES
    prices = found[:MOST_PRICES][::-1]
    low, high = (f(price for _, price in prices) for f in (min, max))
    span = max(high - low, 1)

    def place(time: datetime, price: int) -> str:
        x = WIDTH * ((time - begin) / DAY)
        return f"{x:.1f},{HEIGHT - 4 - (HEIGHT - 8) * (price - low) / span:.1f}"

    points = [place(*each) for each in prices]
    points.append(place(at, prices[-1][1]))
    return Line(" ".join(points), euros(low), euros(high), is_whole)
