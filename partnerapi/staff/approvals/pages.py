"""The inbox of requests, and the page on which another person decides one."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
)
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.approvals.four_eyes import (
    Listing,
    NotApproved,
    Preview,
    Superseded,
    carry_out,
    overtake,
    take_back,
)
from accounts.approvals.models import ApprovalKind, ApprovalPolicy, ApprovalRequest
from accounts.people.models import User
from issuers.legacy.models import DeliveryJob
from marketdata.trading.models import Execution
from partnerapi.core import lock_waits
from partnerapi.core.backoffice import ReadOnlyAdmin
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.staff.approvals import inbox
from partnerapi.staff.approvals.deciding import (
    check_decider,
    has_passkey,
    options,
    settle,
    why_not_by_code,
    why_not_decided,
)
from partnerapi.staff.approvals.filing import FORMS, address, may_file
from partnerapi.staff.approvals.kinds import BY_ASKER, KINDS
from partnerapi.staff.approvals.together import MOST_TOGETHER, address_of_all
from partnerapi.staff.lookup import link, typed_text

Status = ApprovalRequest.Status
LINES_OF_A_PAGE = 100


class StatusFilter(admin.SimpleListFilter):
    """Requests that are open, unless another status is chosen, or one is searched."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request, model_admin):
        return [("ALL", "All"), *Status.choices]

    def choices(self, changelist):
        chosen = self.value()
        yield {
            "selected": chosen is None,
            "query_string": changelist.get_query_string(remove=[self.parameter_name]),
            "display": "Open",
        }
        for value, label in self.lookup_choices:
            query = changelist.get_query_string({self.parameter_name: value})
            yield {
                "selected": chosen == value,
                "query_string": query,
                "display": label,
            }

    def queryset(self, request, queryset):
        chosen = self.value()
        if chosen is None and not request.GET.get("q"):
            return queryset.open(timezone.now())
        if chosen is None:
            return queryset
        return queryset if chosen == "ALL" else queryset.filter(status=chosen)


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    list_display = ["title", "kind", "state", "filed_by", "filed_at", "expires_at"]
    list_filter = [StatusFilter, "kind"]
    actions = ["approve_together"]
    search_fields = ["^title", "^filed_by__email"]
    search_help_text = "Beginning of a request, or of its requester's email"
    ordering = ["-id"]
    show_full_result_count = False
    change_list_template = "admin/approval_requests.html"

    def changelist_view(self, request, extra_context=None):
        inbox.note_seen(request)
        asks = [
            (ApprovalKind(kind).label, address(kind))
            for kind in FORMS
            if may_file(request.user, kind)
        ]
        return super().changelist_view(request, {"asks": asks} | (extra_context or {}))

    def get_queryset(self, request):
        return super().get_queryset(request).with_status(timezone.now())

    @admin.action(
        permissions=["view"], description="Approve the selected requests together"
    )
    def approve_together(self, request, queryset):
        chosen = queryset.values_list("pk", flat=True)[: MOST_TOGETHER + 1]
        if len(chosen) > MOST_TOGETHER:
            said = f"Select at most {MOST_TOGETHER} requests."
            self.message_user(request, said, messages.ERROR)
            return None
        return HttpResponseRedirect(address_of_all(chosen))

    @admin.display(description="status")
    def state(self, asked):
        return Status(asked.status).label

    def change_view(
        self, request: HttpRequest, object_id: str, *arguments: Any, **options: Any
    ) -> HttpResponse:
        """Show what was asked for and what it would change; decide, carry out."""
        asked = self.get_object(request, unquote(object_id))
        if asked is None:
            raise Http404("There is no such request.")
        if not self.has_view_permission(request, asked):
            raise PermissionDenied
        if request.method == "POST":
            return self.act(request, asked)
        return self.render_request(request, asked)

    def render_request(
        self, request: HttpRequest, asked: ApprovalRequest, **more: Any
    ) -> HttpResponse:
        status = asked.status  # type: ignore[attr-defined]
        waits = status == Status.WAITING
        signs = waits and has_passkey(request)
        why_not = why_not_decided(request.user, asked) if waits else ""
        if waits and not why_not and not signs:
            why_not = why_not_by_code(request, asked)
        context = self.admin_site.each_context(request) | {
            "title": asked.title,
            "opts": self.opts,
            "asked": asked,
            "status": Status(status),
            "is_open": status in (Status.WAITING, Status.APPROVED),
            "may_decide": waits and not why_not,
            "signs": signs,
            "why_not": why_not,
            "may_take_back": waits and request.user.pk == asked.filed_by_id,
            "may_collect": status == Status.APPROVED and may_collect(request, asked),
            "by_asker": BY_ASKER.get(asked.kind),
            "reason_length": REASON_LENGTH,
        }
        if context["is_open"]:
            try:
                with lock_waits.name_locked_row():
                    preview = KINDS[asked.kind].preview(asked)
            except Superseded as error:
                context["superseded"] = str(error)
            except lock_waits.LockTimeout as error:
                context["held"] = str(error)
            else:
                context |= preview_context(request.user, preview)
                if preview.lines:
                    context |= page_of(preview.lines, typed_text(request, "page"))
        return TemplateResponse(request, "admin/approval_request.html", context | more)

    def act(self, request: HttpRequest, asked: ApprovalRequest) -> HttpResponse:
        try:
            with lock_waits.name_locked_row():
                done = self.do(request, asked)
        except Superseded as error:
            overtake(asked, str(error))
            self.message_user(request, f"Superseded: {error}", messages.ERROR)
        except (NoReason, NotApproved, lock_waits.LockTimeout) as error:
            if "options" in request.POST:
                return JsonResponse({"problem": str(error)})
            self.message_user(request, str(error), messages.ERROR)
            if isinstance(error, NoReason):
                reason = request.POST.get("reason", "")
                return self.render_request(request, asked, reason=reason)
        else:
            if isinstance(done, HttpResponse):
                return done
            self.message_user(request, done, messages.SUCCESS)
        return HttpResponseRedirect(link(asked))

    def do(self, request: HttpRequest, asked: ApprovalRequest) -> str | HttpResponse:
        """Decide or carry out; returns the message for staff, or the page of a key."""
        assert isinstance(request.user, User)
        kind, said = KINDS[asked.kind], request.POST.get("do")
        if said == "approve":
            check_decider(request.user, asked)
            if "options" in request.POST:
                return options(request, [asked], True, "")
            kind.preview(asked)
            settle(request, [asked], True, "")
            if asked.kind in BY_ASKER:
                return f"Approved. {BY_ASKER[asked.kind]}"
            carry_out(asked, kind)
            return "Approved and executed."
        if said == "refuse":
            check_decider(request.user, asked)
            reason = reason_typed(request)
            if "options" in request.POST:
                return options(request, [asked], False, reason)
            settle(request, [asked], False, reason)
            return "Rejected."
        if said == "take_back":
            if request.user.pk != asked.filed_by_id:
                raise NotApproved("Only the requester can take back a request.")
            take_back(asked)
            return "Request taken back."
        if said != "collect" or not may_collect(request, asked):
            raise PermissionDenied
        result = carry_out(asked, kind)
        if asked.kind != ApprovalKind.KEY:
            return "Executed."
        key, token = result
        ended = self.get_queryset(request).get(pk=asked.pk)
        return self.render_request(request, ended, issued=key, key_token=token)


class NoReason(Exception):
    """A rejection without a reason, or with one that is too long; with a sentence."""


def reason_typed(request: HttpRequest) -> str:
    """
    Raises:
        NoReason
    """
    reason = request.POST.get("reason", "").replace("\r\n", "\n").strip()
    if not reason:
        raise NoReason("Not rejected: a reason is required.")
    if len(reason) > REASON_LENGTH:
        raise NoReason(
            f"Not rejected: the reason has {len(reason):,} characters; the limit is "
            f"{REASON_LENGTH}."
        )
    return reason


def preview_context(user: Any, preview: Preview) -> dict[str, Any]:
    """A preview's rows, each with the page of what it is about, if the user sees it."""
    places = {
        name: place(row) for name, row in preview.links.items() if may_view(user, row)
    }
    return {
        "preview": preview,
        "facts": [(what, said, places.get(what)) for what, _, said in preview.facts],
        "changes": [(*row, places.get(row[0])) for row in preview.changes],
    }


def page_of(lines: Listing, asked: str) -> dict[str, Any]:
    """A page of the lines, the first one where the address names none that exists."""
    pages = max(1, -(-lines.count // LINES_OF_A_PAGE))
    number = int(asked) if asked.isdecimal() and 1 <= int(asked[:9]) <= pages else 1
    start = (number - 1) * LINES_OF_A_PAGE
    stop = min(start + LINES_OF_A_PAGE, lines.count)
    numbers = [is_number for _, is_number in lines.columns]
    return {
        "lines": lines,
        "line_rows": [
            list(zip(row, numbers, strict=True)) for row in lines.rows(start, stop)
        ],
        "first_line": start + 1,
        "last_line": stop,
        "page_before": number - 1,
        "page_after": number + 1 if number < pages else 0,
    }


def place(row: Model) -> str:
    """Where staff look at a row."""
    if isinstance(row, Execution):
        return reverse("admin:execution", args=[row.token_id, row.sequence])
    if isinstance(row, DeliveryJob):
        return reverse("admin:delivery_job", args=[row.pk])
    return link(row)


def may_view(user: Any, row: Model) -> bool:
    meta = row._meta
    model = "legacyshareholder" if isinstance(row, DeliveryJob) else meta.model_name
    return bool(user.has_perm(f"{meta.app_label}.view_{model}"))


ELSEWHERE = (ApprovalKind.REGISTER, ApprovalKind.ERASURE, ApprovalKind.SETTLEMENT)


def may_collect(request: HttpRequest, asked: ApprovalRequest) -> bool:
    """Whether this user may carry out an approved request.

    The requester may. No one else may collect a key, because the page shows it. A
    register needs its package, which no page has, an erasure takes long, and a
    settlement has its minute. Any other action follows its approval at once: where that
    failed, an approver may try again.
    """
    if asked.kind in ELSEWHERE:
        return False
    if request.user.pk == asked.filed_by_id:
        return True
    return asked.kind != ApprovalKind.KEY and not why_not_decided(request.user, asked)


@admin.register(ApprovalPolicy)
class ApprovalPolicyAdmin(ReadOnlyAdmin):
    """Only the owner of the tables changes what needs a second person."""

    list_display = ["kind", "is_required", "from_amount", "from_total", "allows_code"]
    fields = ["kind", "is_required", "from_amount", "from_total", "allows_code"]
    ordering = ["kind"]
    search_fields = ["^kind"]
