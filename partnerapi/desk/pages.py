"""What members of a partner's desk read: usage, requests, access, exports."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q, Sum
from django.db.models.functions import TruncDay
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from accounts.access import Scope
from accounts.desk.models import DeskMember
from accounts.keys.models import Partner
from partnerapi.desk.sessions import for_members
from partnerapi.exports import download
from partnerapi.exports.access import reader_of
from partnerapi.exports.connections import CONNECTIONS
from partnerapi.exports.models import Export
from partnerapi.gateway import throttling
from partnerapi.gateway.bills import budget_of
from partnerapi.gateway.counts import RequestCount
from partnerapi.gateway.recent import MOST_KEPT, Recent, requests_of
from partnerapi.gateway.records import OK
from partnerapi.webhooks.models import WebhookDelivery, WebhookEndpoint

HOURS, DAYS = 24, 30
GRANTS, EXPORTS = 200, 50
ENDPOINTS, DELIVERIES = 100, 100
"""The most of each that a page shows."""
REFUSED = Sum("number", filter=~Q(code=OK), default=0)


def page(
    request: HttpRequest, name: str, member: DeskMember, context: dict[str, Any]
) -> HttpResponse:
    context |= {"member": member, "partner": member.partner}
    return render(request, f"desk/{name}.html", context)


@require_safe
@for_members
def show_usage(request: HttpRequest, member: DeskMember) -> HttpResponse:
    at = timezone.now()
    kept = RequestCount.objects.filter(
        key__partner=member.partner_id, hour__gt=at - timedelta(DAYS)
    )
    last = kept.filter(hour__gt=at - timedelta(hours=HOURS))
    context = {
        "budget": budget_of(member.partner),
        "budget_is_shared": not throttling.outage.is_on,
        "hours": last.values("hour")
        .order_by("-hour")
        .annotate(requests=Sum("number"), failed=REFUSED),
        "days": kept.annotate(day=TruncDay("hour", tzinfo=UTC))
        .values("day")
        .order_by("-day")
        .annotate(requests=Sum("number"), failed=REFUSED),
        "counts": kept.values("key__last_four", "key", "code")
        .annotate(requests=Sum("number"))
        .order_by("key", "-requests"),
        "kept_days": DAYS,
    }
    return page(request, "usage", member, context)


@require_safe
@for_members
def show_requests(request: HttpRequest, member: DeskMember) -> HttpResponse:
    """The last requests; with `code` or `id`, those that have it."""
    code = request.GET.get("code", "").strip()
    name = request.GET.get("id", "").strip()
    found = last_requests(member.partner)
    context = {
        "kept": MOST_KEPT,
        "code": code,
        "request_id": name,
        "is_away": found is None,
        "codes": sorted({row.code for _, row in found or []} - {OK}),
        "requests": [
            row
            for row in found or []
            if code in ("", row[1].code) and name in ("", row[1].request_id)
        ],
    }
    return page(request, "requests", member, context)


def last_requests(partner: Partner) -> list[tuple[datetime, Recent]] | None:
    """None: Redis, which keeps them, does not answer."""
    try:
        found = requests_of(str(partner.pk))
    except RedisError:
        return None
    return [(datetime.fromtimestamp(row.at, UTC), row) for row in found]


@require_safe
@for_members
def show_access(request: HttpRequest, member: DeskMember) -> HttpResponse:
    """What keys of the partner may do, for which issuers, and who uses the desk."""
    at = timezone.now()
    live = member.partner.api_keys.live(at)  # type: ignore[attr-defined]
    of_keys = {scope for key in live for scope in key.scopes}
    grants = member.partner.grants.live().select_related("issuer")
    members = member.partner.desk_members.filter(ended_at=None).order_by("email")
    context = {
        "scopes": [
            (scope, scope.value in of_keys, scope.value in member.scopes)
            for scope in Scope
        ],
        "grants": grants.order_by("-created_at")[:GRANTS],
        "members": [(each, each.state(at)) for each in members],
    }
    return page(request, "access", member, context)


@require_safe
@for_members
def show_exports(request: HttpRequest, member: DeskMember) -> HttpResponse:
    """The last exports; files whose scopes were approved for the member have a link."""
    exports = Export.objects.filter(partner=member.partner_id)
    context = {
        "exports": [
            (export, link_of(export, member))
            for export in exports.order_by("-created_at")[:EXPORTS]
        ]
    }
    return page(request, "exports", member, context)


@require_safe
@for_members
def show_webhooks(request: HttpRequest, member: DeskMember) -> HttpResponse:
    """The endpoints of the partner's keys, and the last attempts to send to them."""
    endpoints = WebhookEndpoint.objects.filter(key__partner=member.partner_id)
    deliveries = WebhookDelivery.objects.filter(
        endpoint__key__partner=member.partner_id
    )
    context = {
        "endpoints": endpoints.select_related("key").order_by("-id")[:ENDPOINTS],
        "deliveries": deliveries.select_related("endpoint").order_by("-id")[
            :DELIVERIES
        ],
    }
    return page(request, "webhooks", member, context)


def link_of(export: Export, member: DeskMember) -> str:
    """Where the member may download the file within the next hour; empty: nowhere."""
    is_there = (
        export.status == Export.Status.READY
        and export.expires_at is not None
        and export.expires_at > timezone.now()
    )
    scopes = {str(scope) for scope in CONNECTIONS[export.connection].scopes}
    if not is_there or not scopes <= {*member.scopes} or reader_of(export) is None:
        return ""
    return download.address(str(export.pk), str(member.pk))
