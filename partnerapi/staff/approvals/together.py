"""The page on which one confirmation, and one signature, approves several requests."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.approvals.four_eyes import (
    NotApproved,
    Preview,
    Superseded,
    carry_out,
)
from accounts.approvals.models import ApprovalRequest
from accounts.people.models import User
from partnerapi.core import lock_waits
from partnerapi.staff.approvals.deciding import (
    has_passkey,
    options,
    settle,
    why_not_by_code,
    why_not_decided,
)
from partnerapi.staff.approvals.kinds import BY_ASKER, KINDS
from partnerapi.staff.lookup import as_uuid

MOST_TOGETHER = 20


def address_of_all(keys: Iterable[UUID]) -> str:
    chosen = urlencode([("id", key) for key in keys])
    return f"{reverse('admin:approve_together')}?{chosen}"


def approve_together(request: HttpRequest) -> HttpResponse:
    """Show what the chosen requests would change, and approve them all."""
    assert isinstance(request.user, User)
    keys = [as_uuid(text) for text in request.GET.getlist("id")[:MOST_TOGETHER]]
    found = ApprovalRequest.objects.open(timezone.now()).filter(
        pk__in=[key for key in keys if key], decision=None
    )
    chosen = list(found.select_related("filed_by").order_by("pk"))
    signs = has_passkey(request)
    previews, problems = look(request, chosen, signs)
    if request.method == "POST":
        if problems or not chosen:
            said = " ".join(problems) or "None of these requests waits."
            if "options" in request.POST:
                return JsonResponse({"problem": said})
            messages.error(request, said)
            return HttpResponseRedirect(request.get_full_path())
        if "options" in request.POST:
            return options(request, chosen, True, "")
        return approve(request, chosen)
    context = admin.site.each_context(request) | {
        "title": "Approve requests together",
        "previews": previews,
        "problems": problems,
        "signs": signs,
        "opts": ApprovalRequest._meta,
    }
    return TemplateResponse(request, "admin/approve_together.html", context)


def look(
    request: HttpRequest, chosen: Sequence[ApprovalRequest], signs: bool
) -> tuple[list[tuple[ApprovalRequest, Preview]], list[str]]:
    """What each request would change, and why some cannot be approved."""
    previews, problems = [], []
    for asked in chosen:
        why_not = why_not_decided(request.user, asked)
        if not why_not and not signs:
            why_not = why_not_by_code(request, asked)
        try:
            with lock_waits.name_locked_row():
                previews.append((asked, KINDS[asked.kind].preview(asked)))
        except (Superseded, lock_waits.LockTimeout) as error:
            why_not = why_not or str(error)
        if why_not:
            problems.append(f"{asked}: {why_not}")
    return previews, problems


def approve(request: HttpRequest, chosen: Sequence[ApprovalRequest]) -> HttpResponse:
    """Approve all, then execute one after the other, each in its own transaction."""
    back = HttpResponseRedirect(reverse("admin:accounts_approvalrequest_changelist"))
    try:
        settle(request, chosen, True, "")
    except NotApproved as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(request.get_full_path())
    for asked in chosen:
        if asked.kind in BY_ASKER:
            messages.success(request, f"{asked}: approved. {BY_ASKER[asked.kind]}")
            continue
        try:
            with lock_waits.name_locked_row():
                carry_out(asked, KINDS[asked.kind])
        except Superseded as error:
            messages.error(request, f"{asked}: superseded. {error}")
        except (NotApproved, lock_waits.LockTimeout) as error:
            messages.error(request, f"{asked}: approved, not executed. {error}")
        else:
            messages.success(request, f"{asked}: approved and executed.")
    return back
