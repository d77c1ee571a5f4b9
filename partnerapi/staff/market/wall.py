"""The wall of markets: phase, last price, spread, volume, the day's line, alerts.

Staff halt all markets from it at once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.people.models import User
from issuers.models import Token
from marketdata.books.collar import collar
from marketdata.books.current_books import CurrentBook, read_books
from marketdata.books.days import DayFigures, day_of, read_last_days
from marketdata.trading.models import Market, Phase
from marketdata.trading.phases import PhaseRefused, change_phase
from partnerapi.core import lock_waits
from partnerapi.core.database import rows_of
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.core.money import euros, plural
from partnerapi.staff.charts import spark
from partnerapi.staff.lookup import typed_text
from partnerapi.staff.market.stops import read_stops

BOOKS_OF_A_PAGE = 60
STEP = timedelta(minutes=30)
"""Between two prices of a day's line."""
DAY = timedelta(days=1)
LATE = timedelta(seconds=10)
"""So long after its time a phase has not begun."""
WIDE_BPS = 500
"""A spread beyond it, of the middle of bid and ask, is an alert."""
NEAR_BPS = 9_000
"""A last price beyond it, of the way from the reference to the collar, is an alert."""


@dataclass(frozen=True, slots=True)
class Card:
    """A market, or a book that is fed from outside; prices as text."""

    token: Token
    market: Market | None
    last: str
    change: str
    bid: str
    ask: str
    spread: str
    volume: int
    value: str
    line: str
    low: str
    high: str
    alerts: list[str]


def alerts_of(
    market: Market | None, book: CurrentBook, last: int | None, at: datetime
) -> list[str]:
    """What someone should look at, the gravest first."""
    if market is None:
        return []
    found = []
    if market.phase == Phase.HALTED:
        found.append(f"Halted: {market.halt_reason}")
    if market.next_phase_at and market.next_phase_at < at - LATE:
        found.append(f"Phase is late since {market.next_phase_at:%H:%M:%S} UTC")
    if market.phase != Phase.CONTINUOUS:
        return found
    if not book.bids and not book.asks:
        found.append("No orders")
    elif not book.bids or not book.asks:
        found.append("No bids" if not book.bids else "No asks")
    else:
        bid, ask = book.bids[0].price, book.asks[0].price
        if 20_000 * (ask - bid) > WIDE_BPS * (ask + bid):
            found.append(f"Wide spread: {200 * (ask - bid) / (ask + bid):.1f} %")
    if last is not None and market.reference_price:
        floor, cap = collar(market.reference_price, market.collar_bps)
        bound = cap if last > market.reference_price else floor
        way = abs(bound - market.reference_price)
        if way and 10_000 * abs(last - market.reference_price) >= NEAR_BPS * way:
            found.append(f"Last price is near the limit of {euros(bound)}")
    return found


def card(
    token: Token,
    book: CurrentBook,
    day: DayFigures | None,
    prices: list[int],
    at: datetime,
) -> Card:
    market = getattr(token, "market", None)
    last = prices[-1] if prices else None
    before = prices[0] if prices else None
    change = ""
    if last is not None and before:
        percent = round(100 * (last - before) / before, 2)
        change = f"{percent:+.2f} %".replace("-", "−") if percent else "0.00 %"
    bid = book.bids[0].price if book.bids else None
    ask = book.asks[0].price if book.asks else None
    is_today = day is not None and day.day == day_of(at)
    return Card(
        token,
        market,
        "—" if last is None else euros(last),
        change,
        "—" if bid is None else euros(bid),
        "—" if ask is None else euros(ask),
        "—" if bid is None or ask is None else euros(ask - bid),
        day.volume if day and is_today else 0,
        euros(day.value if day and is_today else 0),
        spark(prices),
        euros(min(prices)) if prices else "",
        euros(max(prices)) if prices else "",
        alerts_of(market, book, last, at),
    )


def read_cards(after: str, at: datetime) -> tuple[list[Card], str | None]:
    """A page by symbol, and after which symbol the next one begins; four statements."""
    traded = Token.objects.filter(
        market_type=Token.MarketType.SECONDARY_MARKET, symbol__gt=after
    )
    tokens = [
        *traded.select_related("market").order_by("symbol")[: BOOKS_OF_A_PAGE + 1]
    ]
    shown = tokens[:BOOKS_OF_A_PAGE]
    ids = [token.pk for token in shown]
    books = read_books({str(pk) for pk in ids}, 1)
    days = read_last_days(ids, 1)
    asked = {"tokens": ids, "begin": at - DAY, "end": at, "step": STEP}
    lines = dict(rows_of(LINES, asked))
    cards = [
        card(
            token,
            books[str(token.pk)],
            next(iter(days.get(token.pk, [])), None),
            [price for price in lines[token.pk] if price is not None],
            at,
        )
        for token in shown
        if str(token.pk) in books
    ]
    return cards, shown[-1].symbol if len(tokens) > len(shown) else None


def context_of(request: HttpRequest) -> dict[str, Any]:
    at, after = timezone.now(), typed_text(request, "after")
    cards, following = read_cards(after, at)
    return {
        "at": at,
        "after": after,
        "markets": sorted(
            (each for each in cards if each.market),
            key=lambda each: (not each.alerts, each.token.symbol),
        ),
        "fed": [each for each in cards if not each.market],
        "following": following,
    }


def poll_rows(request: HttpRequest) -> HttpResponse:
    """The cards alone."""
    if not request.user.has_perm("issuers.view_token"):
        raise PermissionDenied
    return render(request, "admin/wall_cards.html", context_of(request))


def show_wall(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("issuers.view_token"):
        raise PermissionDenied
    may_act = request.user.has_perm("trading.change_market")
    problem = ""
    if request.method == "POST":
        if not may_act:
            raise PermissionDenied
        problem = halt_all(request)
        if not problem:
            return HttpResponseRedirect(reverse("admin:books"))
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "Markets",
        **context_of(request),
        "stops": read_stops(request),
        "may_act": may_act,
        "problem": problem,
        "reason_length": REASON_LENGTH,
    }
    return TemplateResponse(
        request, "admin/wall.html", context, status=400 if problem else 200
    )


def halt_all(request: HttpRequest) -> str:
    """Halt each market that is not; why none was, or which were not."""
    assert isinstance(request.user, User)
    reason = request.POST.get("reason", "").strip()[:REASON_LENGTH]
    if not reason:
        return "Nothing was halted: enter the reason."
    halted, failed = [], []
    open_markets = Market.objects.exclude(phase=Phase.HALTED)
    for market in open_markets.select_related("token").order_by("token"):
        try:
            with lock_waits.name_locked_row():
                change_phase(market.pk, Phase.HALTED, request.user.email or "", reason)
            halted.append(market)
        except (PhaseRefused, lock_waits.LockTimeout) as error:
            failed.append(f"{market.token.symbol}: {error}")
    said = f"Halted with all markets: {reason}"
    for market in halted:
        LogEntry.objects.log_actions(request.user.pk, [market], CHANGE, said)
    if failed:
        return f"{plural(len(halted), 'market')} halted. Not halted: " + "; ".join(
            failed
        )
    messages.success(
        request,
        f"{plural(len(halted), 'market')} halted. Orders can still be cancelled.",
    )
    return ""


LINES = """
    SELECT w.token_id, array_agg(price.price_cents ORDER BY g.at)
    FROM unnest(%(tokens)s::uuid[]) AS w (token_id)
    CROSS JOIN generate_series(%(begin)s, %(end)s, %(step)s) AS g (at)
    LEFT JOIN LATERAL (
        SELECT p.price_cents FROM issuers_tokenprice p
        WHERE p.token_id = w.token_id AND p.effective_at <= g.at
        ORDER BY p.effective_at DESC, p.number DESC LIMIT 1
    ) AS price ON TRUE
    GROUP BY w.token_id
"""
