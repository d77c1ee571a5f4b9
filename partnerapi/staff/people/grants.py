"""A grant of a partner ends here, for a reason; giving one needs a second person."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.approvals.models import ApprovalKind
from accounts.people.models import User
from issuers import grants
from issuers.models import IssuerGrant
from partnerapi.staff.approvals.filing import address


def end_grant(request: HttpRequest, pk: UUID) -> HttpResponse:
    """End a grant that lives; of one that has ended, say where to request it again."""
    if not request.user.has_perm("issuers.change_issuergrant"):
        raise PermissionDenied
    rows = IssuerGrant.objects.select_related("partner", "issuer")
    grant = get_object_or_404(rows, pk=pk)
    reason = request.POST.get("reason", "").strip()
    if request.method == "POST" and reason:
        end(request, grant, reason)
        return HttpResponseRedirect(reverse("admin:partner", args=[grant.partner_id]))
    every = grant.partner.grants.live().filter(issuer=None).exclude(pk=grant.pk)
    of = {"partner": grant.partner.login}
    if grant.issuer:
        of["issuer"] = grant.issuer.slug
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "Ended grant" if grant.ended_at else "End a grant",
        "grant": grant,
        "sees_all": every.exists(),
        "problem": request.method == "POST",
        "ask": grant.ended_at and address(ApprovalKind.GRANT, **of),
    }
    return TemplateResponse(request, "admin/grant.html", context)


def end(request: HttpRequest, grant: IssuerGrant, reason: str) -> None:
    """End the grant, unless a colleague has done it meanwhile."""
    assert isinstance(request.user, User)
    with transaction.atomic():
        is_done = grants.end(grant, request.user.email or "")
        if is_done:
            LogEntry.objects.log_actions(
                request.user.pk, [grant], CHANGE, f"Ended: {reason}"
            )
    if is_done:
        messages.success(request, f"Ended: {grant}. This takes effect within a second.")
    else:
        messages.warning(request, f"A colleague has already ended {grant}.")
