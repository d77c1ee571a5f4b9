"""A grant of a partner: it ends, and may be given again; both for a reason."""

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
from django.utils import timezone

from accounts.models import ApprovalKind, User
from issuers.models import IssuerGrant
from partnerapi.staff.approvals.filing import address

NEEDS_TWO = (
    "A grant of every issuer needs a second person; request it. Nothing changed."
)


def page(request: HttpRequest, pk: UUID) -> HttpResponse:
    """End a grant that lives; give one again that has ended."""
    if not request.user.has_perm("issuers.change_issuergrant"):
        raise PermissionDenied
    rows = IssuerGrant.objects.select_related("partner", "issuer")
    grant = get_object_or_404(rows, pk=pk)
    reason = request.POST.get("reason", "").strip()
    needs_two = grant.issuer_id is None and request.POST.get("do") == "give"
    if request.method == "POST" and needs_two:
        messages.error(request, NEEDS_TWO)
        return HttpResponseRedirect(request.path)
    if request.method == "POST" and reason:
        change(request, grant, reason)
        return HttpResponseRedirect(reverse("admin:partner", args=[grant.partner_id]))
    every = grant.partner.grants.live().filter(issuer=None).exclude(pk=grant.pk)
    login = grant.partner.login
    is_asked_for = grant.issuer_id is None and grant.ended_at is not None
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "Give a grant again" if grant.ended_at else "End a grant",
        "grant": grant,
        "sees_all": every.exists(),
        "problem": request.method == "POST",
        "ask": is_asked_for and address(ApprovalKind.GRANT, partner=login),
    }
    return TemplateResponse(request, "admin/grant.html", context)


def change(request: HttpRequest, grant: IssuerGrant, reason: str) -> None:
    """Do what the page's button says, unless somebody else has done it meanwhile."""
    assert isinstance(request.user, User)
    asked, at = request.POST.get("do"), timezone.now()
    with transaction.atomic():
        if asked == "give":
            is_done, said = grant.give_again(at), "Given again"
        elif asked == "end":
            is_done, said = grant.end(at), "Ended"
        else:
            raise PermissionDenied
        if is_done:
            LogEntry.objects.log_actions(
                request.user.pk, [grant], CHANGE, f"{said}: {reason}"
            )
    if is_done:
        messages.success(request, f"{said}: {grant}. It counts within a second.")
    else:
        messages.warning(request, f"Somebody else did that to {grant} meanwhile.")
