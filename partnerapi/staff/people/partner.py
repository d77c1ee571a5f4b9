"""A partner on one page: keys, budget, grants, CompIDs, and what it asked for last."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils import timezone
from redis.exceptions import RedisError

from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.keys.models import Partner
from marketdata.models import ConformanceReport
from partnerapi.gateway import throttling
from partnerapi.gateway.bills import budget_of
from partnerapi.gateway.counts import RequestCount
from partnerapi.gateway.recent import MOST_KEPT, Recent, requests_of
from partnerapi.gateway.records import OK
from partnerapi.staff.lookup import typed_text
from partnerapi.staff.market.stops import read_stops
from partnerapi.staff.people.keys import state_of
from partnerapi.staff.people.usage import by_hour

KEYS, GRANTS, ENDED, ASKED, MEMBERS, REQUESTS, REPORTS = 50, 50, 10, 10, 50, 20, 6
"""The most of each that the page shows; links lead to all."""


def partner_for(request: HttpRequest, pk: UUID) -> Partner:
    """
    Raises:
        PermissionDenied: the user may not view partners.
    """
    if not request.user.has_perm("accounts.view_partner"):
        raise PermissionDenied
    return get_object_or_404(Partner, pk=pk)


def show_partner(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The partner as it stands now; of keys and grants also those that ended."""
    partner = partner_for(request, pk)
    may, at = request.user.has_perm, timezone.now()
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": partner.name,
        "partner": partner,
        "budget": budget_of(partner),
        "budget_is_shared": not throttling.outage.is_on,
        "kept": MOST_KEPT,
        "stops": read_stops(request, partner.pk),
        "chart": by_hour(RequestCount.objects.filter(key__partner=partner), at),
    }
    context |= last_requests(partner, REQUESTS)
    if may("accounts.view_apikey"):
        keys = partner.api_keys.select_related("partner")
        newest = keys.order_by(F("revoked_at").desc(nulls_first=True), "-created_at")
        context["keys"] = [(key, state_of(key, at)) for key in newest[:KEYS]]
    if may("accounts.view_deskmember"):
        active_first = F("ended_at").desc(nulls_first=True)
        members = partner.desk_members.order_by(active_first, "email")
        context["members"] = [(row, row.state(at)) for row in members[:MEMBERS]]
    if may("accounts.view_approvalrequest"):
        asked = ApprovalRequest.objects.open(at).filter(
            kind=ApprovalKind.KEY, content__partner=str(partner.pk)
        )
        context["asked"] = asked.order_by("-id")[:ASKED]
    if may("issuers.view_issuergrant"):
        grants = partner.grants.select_related("issuer")
        ended = grants.filter(ended_at__isnull=False).order_by("-ended_at")
        context["grants"] = grants.live().order_by("-created_at")[:GRANTS]
        context["ended_grants"] = ended[:ENDED]
    if may("marketdata.view_fixsession"):
        sessions = partner.fix_sessions.order_by("comp_id")
        context["sessions"] = [(row, row.health(at)) for row in sessions]
    if may("marketdata.view_conformancereport"):
        reports = ConformanceReport.objects.filter(partner=partner).order_by("-id")
        context["reports"] = reports.defer("rules")[:REPORTS]
    return TemplateResponse(request, "admin/partner.html", context)


def last_requests(partner: Partner, most: int) -> dict[str, Any]:
    try:
        found = requests_of(str(partner.pk), most)
    except RedisError:
        return {"requests": None}
    return {"requests": [(datetime.fromtimestamp(r.at, UTC), r) for r in found]}


def show_requests(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The last requests; with `code` or `id`, those that have it."""
    partner = partner_for(request, pk)
    told = last_requests(partner, MOST_KEPT)
    found: list[tuple[datetime, Recent]] = told["requests"] or []
    code, name = typed_text(request, "code"), typed_text(request, "id")
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"Requests of {partner}",
        "partner": partner,
        "kept": MOST_KEPT,
        "code": code,
        "request_id": name,
        "codes": sorted({row.code for _, row in found} - {OK}),
        "is_away": told["requests"] is None,
        "count": len(found),
        "requests": [
            row
            for row in found
            if code in ("", row[1].code) and name in ("", row[1].request_id)
        ],
    }
    return TemplateResponse(request, "admin/partner_requests.html", context)
