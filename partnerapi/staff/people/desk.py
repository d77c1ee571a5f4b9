"""A membership of a partner's desk ends here; an invitation needs a second person."""

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

from accounts.desk.invitations import end_membership
from accounts.desk.models import DeskMember
from accounts.people.models import User


def end_member(request: HttpRequest, pk: UUID) -> HttpResponse:
    """End a membership for a reason, at once."""
    if not request.user.has_perm("accounts.change_deskmember"):
        raise PermissionDenied
    assert isinstance(request.user, User)
    member = get_object_or_404(DeskMember.objects.select_related("partner"), pk=pk)
    reason = request.POST.get("reason", "").strip()
    if request.method == "POST" and reason:
        with transaction.atomic():
            is_done = end_membership(member, request.user.email or "")
            if is_done:
                said = f"Ended: {reason}"
                LogEntry.objects.log_actions(request.user.pk, [member], CHANGE, said)
        if is_done:
            messages.success(request, f"Ended: {member}.")
        else:
            messages.warning(request, f"A colleague has already ended {member}.")
        return HttpResponseRedirect(reverse("admin:partner", args=[member.partner_id]))
    keys = member.keys.filter(key__revoked_at=None).select_related("key__partner")
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "End a membership",
        "member": member,
        "state": member.state(timezone.now()),
        "keys": [each.key for each in keys],
        "problem": request.method == "POST",
    }
    return TemplateResponse(request, "admin/desk_member.html", context)
