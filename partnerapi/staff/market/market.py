"""An internal market: its phase, its last trades, and the form that halts it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.keys.models import Partner
from accounts.people.models import User
from marketdata.books.collar import collar
from marketdata.books.current_books import read_books
from marketdata.books.days import day_of, midnight
from marketdata.trading.models import (
    Auction,
    Execution,
    Market,
    MarketParameters,
    Phase,
    TradingModel,
)
from marketdata.trading.parameters import FIXINGS, THIN, trades_of_a_year
from marketdata.trading.parameters import text_of as text_of_parameters
from marketdata.trading.phases import PhaseRefused, change_phase
from marketdata.trading.ratios import Activity, activity
from marketdata.trading.tariffs import text_of
from partnerapi.core import lock_waits
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.core.money import euros
from partnerapi.staff.approvals.filing import address, may_file
from partnerapi.staff.market.auction import figures_of, imbalance, state_of
from partnerapi.staff.market.order import shown_executions
from partnerapi.staff.register.token import prices_and_volume

TRADES_OF_A_PAGE, PHASES, TARIFFS, AUCTIONS = 20, 20, 20, 20
LAST_TRADE = 2**63 - 1


class HaltForm(forms.Form):
    reason = forms.CharField(
        max_length=REASON_LENGTH,
        error_messages={
            "required": "The reason is empty. Enter why the market is halted.",
            "max_length": (
                f"The reason is longer than {REASON_LENGTH} characters. Shorten it."
            ),
        },
    )


def show_market(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Trades from the one that `before` names downwards; who may halts the market."""
    if not request.user.has_perm("trading.view_market"):
        raise PermissionDenied
    markets = Market.objects.select_related("token__issuer")
    market = get_object_or_404(markets, pk=pk)
    may_halt = request.user.has_perm("trading.change_market")
    form = HaltForm(request.POST or None)
    problems: list[str] = []
    if request.method == "POST":
        if not may_halt:
            raise PermissionDenied
        if not form.is_valid():
            problems = [str(said) for errors in form.errors.values() for said in errors]
        elif problem := halt(request, market, form.cleaned_data["reason"]):
            problems = [problem]
        else:
            return HttpResponseRedirect(request.path)
    typed = request.GET.get("before", "")
    before = min(int(typed), LAST_TRADE) if typed.isdecimal() else LAST_TRADE
    rows = Execution.objects.filter(token=pk, sequence__lt=before).order_by("-sequence")
    found = [*rows[: TRADES_OF_A_PAGE + 1]]
    shown = found[:TRADES_OF_A_PAGE]
    tariffs = market.token.tariffs.select_related("partner").order_by("-valid_from")
    phases = market.token.order_events.filter(order=None).order_by("-number")
    asked = ApprovalRequest.objects.open(timezone.now()).filter(
        kind=ApprovalKind.REOPEN,
        content__token=str(pk),
        content__halted=market.last_phase_event,
    )
    decided = [*market.token.parameters.order_by("-valid_from", "-id")[:TARIFFS]]
    is_halted = market.phase == Phase.HALTED
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": str(market),
        "market": market,
        **prices(market),
        "charts": prices_and_volume(market.token, timezone.now()),
        "executions": shown_executions(pk, shown),
        "older": shown[-1].sequence if len(found) > len(shown) else None,
        "is_first": before == LAST_TRADE,
        "phases": phases[:PHASES],
        "auctions": auctions(
            market.token.auctions.defer("ends_at").order_by("-began")[:AUCTIONS]
        ),
        "activities": activities(pk),
        "tariffs": [(t, text_of(t.terms)) for t in tariffs[:TARIFFS]],
        "parameters": parameters(market, decided[0], timezone.now()),
        "decided": decided,
        "year": (year := trades_of_a_year(pk, day_of(timezone.now()))),
        "thin": THIN,
        "ask_parameters": may_file(request.user, ApprovalKind.PARAMETERS)
        and address(ApprovalKind.PARAMETERS, token=market.token.symbol),
        "ask_fixings": may_file(request.user, ApprovalKind.PARAMETERS)
        and year < THIN
        and market.model == TradingModel.CONTINUOUS
        and address(
            ApprovalKind.PARAMETERS,
            token=market.token.symbol,
            model=TradingModel.FIXING,
            fixings=" ".join(f"{one:%H:%M}" for one in FIXINGS),
        ),
        "ask_tariff": may_file(request.user, ApprovalKind.TARIFF)
        and address(ApprovalKind.TARIFF, token=market.token.symbol),
        "problems": problems,
        "reason": form["reason"].value() or "",
        "reason_length": REASON_LENGTH,
        "is_halted": is_halted,
        "may_halt": may_halt,
        "asked": [*asked[:1]] if is_halted else [],
        "ask_reopening": is_halted
        and may_file(request.user, ApprovalKind.REOPEN)
        and address(ApprovalKind.REOPEN, token=market.token.symbol),
    }
    return TemplateResponse(
        request, "admin/market.html", context, status=400 if problems else 200
    )


def parameters(
    market: Market, following: MarketParameters, at: datetime
) -> list[tuple[str, str, str]]:
    """Each parameter, with its value now and the one that follows, if it differs."""
    rows = text_of_parameters(market)
    if following.valid_from <= at:
        return [(name, now, "") for name, now in rows]
    return [
        (name, now, "" if now == then else then)
        for (name, now), (_, then) in zip(
            rows, text_of_parameters(following), strict=True
        )
    ]


def auctions(found: Iterable[Auction]) -> list[tuple[Auction, str, str, int, str]]:
    """Each with its state, its price and units, and what is left over."""
    rows = []
    for one in found:
        price, quantity, surplus = figures_of(one)
        rows.append(
            (
                one,
                state_of(one),
                "none" if price is None else euros(price),
                quantity or 0,
                imbalance(surplus or 0),
            )
        )
    return rows


def activities(token_id: UUID) -> list[tuple[Partner, Activity]]:
    """Partners with orders of today and what they sent, the highest ratio first."""
    partners = {partner.pk: partner for partner in Partner.objects.all()}
    found = activity([token_id], partners, midnight(day_of(timezone.now())))
    rows = [(partners[partner], sent) for (_, partner), sent in found.items()]
    return sorted(rows, key=lambda row: -(row[1].orders / max(row[1].trades, 0.5)))


def prices(market: Market) -> dict[str, str | None]:
    """The reference price with its collar, and the best of each side."""
    book = read_books([str(market.pk)], 1)[str(market.pk)]
    bid, ask = (
        f"{levels[0].quantity:,} at {euros(levels[0].price)}" if levels else None
        for levels in (book.bids, book.asks)
    )
    around = {"bid": bid, "ask": ask}
    if market.reference_price is None:
        return around
    floor, cap = collar(market.reference_price, market.collar_bps)
    reference = euros(market.reference_price)
    return around | {"reference": reference, "floor": euros(floor), "cap": euros(cap)}


def halt(request: HttpRequest, market: Market, reason: str) -> str:
    """Why the market was not halted; empty: it was."""
    assert isinstance(request.user, User)
    try:
        with lock_waits.name_locked_row():
            change_phase(market.pk, Phase.HALTED, request.user.email or "", reason)
    except (PhaseRefused, lock_waits.LockTimeout) as error:
        market.refresh_from_db()
        return f"Not halted: {error}"
    said = f"{market.phase} → {Phase.HALTED.value}."
    LogEntry.objects.log_actions(request.user.pk, [market], CHANGE, said)
    messages.success(request, "The market is halted. Orders can still be cancelled.")
    return ""
