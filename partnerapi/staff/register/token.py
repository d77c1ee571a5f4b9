"""A token on one page: its price, volume, supply and owners, and what changes them."""

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.approvals.models import ApprovalKind, ApprovalRequest
from issuers.compliance.models import TokenRule
from issuers.compliance.rules import text_of
from issuers.models import Token
from issuers.register.models import HolderBalance, TokenPrice
from issuers.register.proofs import stated_at
from issuers.register.publication import stated_is_true
from issuers.register.statement_models import RecordInstant
from marketdata.books.days import day_of
from marketdata.trading.models import Bust, OrderEvent, Phase
from partnerapi.core.database import rows_of
from partnerapi.core.money import euros
from partnerapi.staff.approvals.filing import address, may_file
from partnerapi.staff.charts import (
    MOST_MARKS,
    Bar,
    Chart,
    Mark,
    Part,
    Series,
    day_ticks,
    last_days,
    over_time,
    share_bar,
)

DAYS = 90
"""Of the charts; the supply's has as many steps for the whole life of the token."""
LAST = 10
LARGEST = 10
MOST_HOLDERS = 20_000
"""Holders among whom the page looks for the largest."""
REQUESTS = (
    (ApprovalKind.MINT, "Mint"),
    (ApprovalKind.BURN, "Burn"),
    (ApprovalKind.TRANSFER, "Transfer"),
    (ApprovalKind.FORCED_TRANSFER, "Forced transfer"),
    (ApprovalKind.PRICE, "Set price"),
    (ApprovalKind.RULE, "Set rule"),
)


def show_token(request: HttpRequest, pk: UUID) -> HttpResponse:
    if not request.user.has_perm("issuers.view_token"):
        raise PermissionDenied
    rows = Token.objects.select_related("issuer", "ledger_head", "market")
    token, at = get_object_or_404(rows, pk=pk), timezone.now()
    head = token.ledger_head
    entries = token.transactions.select_related(
        "source__holder", "source__issuer", "target__holder", "target__issuer"
    ).order_by("-seq")
    rules = TokenRule.objects.filter(token=token, ended_at=None).order_by("kind")
    sold = token.offerings.last_price()
    open_requests = ApprovalRequest.objects.open(at).filter(content__token=str(pk))
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"{token.symbol} · {token.name}",
        "token": token,
        "head": head,
        "proposed": sold and f"{sold / 100:.2f}",
        "price": "none" if head.price_cents is None else euros(head.price_cents),
        "value": euros((head.price_cents or 0) * int(head.supply)),
        "requests": [
            (label, address(kind, token=token.symbol))
            for kind, label in REQUESTS
            if may_file(request.user, kind)
        ],
        "ask_identity": token.is_traded
        and may_file(request.user, ApprovalKind.IDENTITY)
        and address(
            ApprovalKind.IDENTITY,
            token=token.symbol,
            symbol=token.symbol,
            isin=token.isin or "",
        ),
        "rules": [
            (
                rule,
                text_of(rule.kind, rule.parameters),
                address(ApprovalKind.RULE, token=token.symbol, rule=rule.kind),
            )
            for rule in rules
        ],
        "may_ask_rule": may_file(request.user, ApprovalKind.RULE),
        "entries": entries[:LAST],
        "prices": [
            (each, euros(each.price_cents))
            for each in token.prices.order_by("-number")[:LAST]
        ],
        "charts": prices_and_volume(token, at),
        "supply": supply(token, at),
        "owners": owners(token),
        "most_holders": MOST_HOLDERS,
        **last_statement(token, "verify" in request.GET),
        "instants": RecordInstant.objects.filter(at__gt=at).order_by("at")[:LAST],
        "asked": open_requests.order_by("-id")[:LAST]
        if request.user.has_perm("accounts.view_approvalrequest")
        else [],
    }
    return TemplateResponse(request, "admin/token.html", context)


def last_statement(token: Token, is_verified: bool) -> dict[str, Any]:
    """What the last statement says of a token, and whether that is still so."""
    stated = stated_at(token.pk, None)
    if stated is None:
        return {"stated": None}
    record, head = json.loads(stated.record), token.ledger_head
    found: dict[str, Any] = {
        "stated": stated,
        "witnesses": stated.statement.witnesses.select_related("key__partner"),
        "newer_entries": head.last_seq - int(record["entries"]),
        "newer_prices": head.last_price - int(record["prices"]),
    }
    if is_verified:
        with transaction.atomic():
            wrong = stated_is_true(stated)
        found["broken"] = wrong
        found["verified"] = wrong is None and (
            f"Verified: statement {stated.statement_id} is signed by its key, and "
            f"{record['entries']} entries and {record['prices']} prices are those that "
            "it states."
        )
    return found


def prices_and_volume(token: Token, at: datetime) -> list[Chart]:
    """The price in force at the end of each day, and what was traded on it."""
    days = last_days(day_of(at), DAYS)
    found = rows_of(PRICES, {"token": token.pk, "days": days})
    labels = [day.isoformat() for day in days]
    begin = datetime.combine(days[0], datetime.min.time(), UTC) - timedelta(days=1)
    price = over_time(
        "price",
        "Price of a unit",
        labels,
        day_ticks(days),
        [
            Series(
                "Price at the end of the day", "line-price", [row[0] for row in found]
            )
        ],
        marks=placed(days, events(token, begin)),
        number=euros,
        unit="euros",
        empty="No price has been set yet. Set one with a request.",
        from_zero=False,
    )
    if not token.is_traded:
        return [price]
    volume = over_time(
        "volume",
        "Units traded",
        labels,
        day_ticks(days),
        columns=[Series("Units", "column", [int(row[1]) for row in found])],
        empty=f"Nothing was traded in the last {DAYS} days.",
    )
    return [price, volume]


def events(token: Token, begin: datetime) -> list[tuple[datetime, Mark]]:
    """Halts, busts, and prices that staff set, since an instant; the latest."""
    market = reverse("admin:market", args=[token.pk])
    halts = OrderEvent.objects.filter(
        token=token, order=None, phase=Phase.HALTED, at__gte=begin
    ).order_by("-number")[:MOST_MARKS]
    busts = Bust.objects.filter(token=token, at__gte=begin).order_by("-sequence")
    by_hand = TokenPrice.objects.filter(token=token, recorded_at__gte=begin)
    by_hand = by_hand.exclude(source=TokenPrice.Source.TRADE).order_by("-recorded_at")
    found = [(e.at, f"Halted: {e.reason}", f"{market}#phases") for e in halts]
    for bust in busts[:MOST_MARKS]:
        page = reverse("admin:execution", args=[token.pk, bust.sequence])
        found.append((bust.at, f"Trade {bust.sequence} busted", page))
    for each in by_hand[:MOST_MARKS]:
        said = f"{each.get_source_display()}: {euros(each.price_cents)}"
        found.append((each.effective_at, said, ""))
    return [
        (at, Mark(f"{at.day} {at:%b %H:%M}", text, link))
        for at, text, link in sorted(found)
    ]


def placed(
    days: list[date], events: Iterable[tuple[datetime, Mark]]
) -> list[tuple[int, Mark]]:
    """Each mark with the place of its day."""
    places = {day: place for place, day in enumerate(days)}
    return [(places[day], mark) for at, mark in events if (day := day_of(at)) in places]


def supply(token: Token, at: datetime) -> Chart:
    """The units that existed at the end of each step since the first entry."""
    first = token.transactions.order_by("effective_at").first()
    today = day_of(at)
    age = (today - day_of(first.effective_at)).days + 1 if first else 1
    step = -(-age // DAYS)
    days = [today - timedelta(days=step * n) for n in range(-(-age // step), -1, -1)]
    found = rows_of(SUPPLIES, {"token": token.pk, "days": days})
    supplies, held = (
        [None if row[column] is None else int(row[column]) for row in found]
        for column in (0, 1)
    )
    return over_time(
        "supply",
        "Supply",
        [day.isoformat() for day in days],
        day_ticks(days),
        [
            Series("Supply", "line-supply", supplies),
            Series("Held", "line-held", held),
        ],
        marks=changes(days, supplies),
        empty="No unit exists yet. Request a mint, or deliver legacy lines.",
    )


def changes(days: list[date], supplies: list[int | None]) -> list[tuple[int, Mark]]:
    """The steps within which units were created or destroyed."""
    found = []
    for place, (before, after) in enumerate(pairwise([0, *(n or 0 for n in supplies)])):
        if after != before:
            sign = "+" if after > before else "−"
            text = f"{sign}{abs(after - before):,} units"
            found.append((place, Mark(f"{days[place].day} {days[place]:%b %Y}", text)))
    return found


def owners(token: Token) -> Bar | None:
    """The largest holders, the others, the treasury; None: there are too many."""
    head = token.ledger_head
    if head.holder_count > MOST_HOLDERS:
        return None
    held = HolderBalance.objects.filter(token=token, user__isnull=False, balance__gt=0)
    largest = [
        *held.select_related("account__holder").order_by("-balance", "user")[:LARGEST]
    ]
    others = int(head.held) - sum(int(row.balance) for row in largest)
    count = head.holder_count - len(largest)
    parts = [
        Part(
            str(row.account),
            int(row.balance),
            reverse("admin:holder", args=[row.user_id]),
        )
        for row in largest
    ]
    treasury = Part("Treasury", int(head.supply - head.held), "", True)
    rest = Part(f"{count:,} other holders", others, "", True)
    return share_bar(
        "owners",
        "Ownership",
        [*parts, rest, treasury],
        empty="No one holds a unit yet.",
    )


PRICES = """
    SELECT price.price_cents, coalesce(traded.volume, 0)
    FROM unnest(%(days)s::date[]) WITH ORDINALITY AS d (day, place)
    LEFT JOIN LATERAL (
        SELECT p.price_cents FROM issuers_tokenprice p
        WHERE p.token_id = %(token)s AND p.effective_at
            < (d.day + 1)::timestamp AT TIME ZONE market_time_zone()
        ORDER BY p.effective_at DESC, p.number DESC LIMIT 1
    ) AS price ON TRUE
    LEFT JOIN marketdata_tradingday traded
        ON traded.token_id = %(token)s AND traded.day = d.day
    ORDER BY d.place
"""
SUPPLIES = """
    SELECT state.supply_after, state.held_after
    FROM unnest(%(days)s::date[]) WITH ORDINALITY AS d (day, place)
    LEFT JOIN LATERAL (
        SELECT e.supply_after, e.held_after FROM issuers_ledgertransaction e
        WHERE e.token_id = %(token)s AND e.effective_at
            < (d.day + 1)::timestamp AT TIME ZONE market_time_zone()
        ORDER BY e.effective_at DESC, e.seq DESC LIMIT 1
    ) AS state ON TRUE
    ORDER BY d.place
"""
