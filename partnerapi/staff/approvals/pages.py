"""The inbox of requests, and the page on which another person decides one."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.four_eyes import (
    NotApproved,
    Overtaken,
    carry_out,
    decide,
    overtake,
)
from accounts.models import (
    ApprovalKind,
    ApprovalPolicy,
    ApprovalRequest,
    User,
)
from accounts.models.approvals import REASON_LENGTH
from partnerapi.core import lock_waits
from partnerapi.core.backoffice import ReadOnlyAdmin
from partnerapi.staff.approvals.filing import FORMS, address, may_file
from partnerapi.staff.approvals.kinds import KINDS
from partnerapi.staff.find import link

Status = ApprovalRequest.Status


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
    search_fields = ["^title", "^filed_by__email"]
    search_help_text = "The beginning of a request, or of who filed it"
    ordering = ["-id"]
    show_full_result_count = False
    change_list_template = "admin/approval_requests.html"

    def changelist_view(self, request, extra_context=None):
        asks = [
            (ApprovalKind(kind).label, address(kind))
            for kind in FORMS
            if may_file(request.user, kind)
        ]
        return super().changelist_view(request, {"asks": asks} | (extra_context or {}))

    def get_queryset(self, request):
        return super().get_queryset(request).with_status(timezone.now())

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
        return self.shown(request, asked)

    def shown(
        self, request: HttpRequest, asked: ApprovalRequest, **more: Any
    ) -> HttpResponse:
        status = asked.status  # type: ignore[attr-defined]
        context = self.admin_site.each_context(request) | {
            "title": asked.title,
            "opts": self.opts,
            "asked": asked,
            "status": Status(status),
            "may_decide": status == Status.WAITING and may_decide(request.user, asked),
            "may_collect": status == Status.APPROVED and may_collect(request, asked),
        }
        if status in (Status.WAITING, Status.APPROVED):
            try:
                with lock_waits.named():
                    context["preview"] = KINDS[asked.kind].preview(asked)
            except Overtaken as error:
                context["overtaken"] = str(error)
            except lock_waits.LockTimeout as error:
                context["held"] = str(error)
        return TemplateResponse(request, "admin/approval_request.html", context | more)

    def act(self, request: HttpRequest, asked: ApprovalRequest) -> HttpResponse:
        try:
            with lock_waits.named():
                done = self.do(request, asked)
        except Overtaken as error:
            overtake(asked, str(error))
            self.message_user(request, f"Overtaken: {error}", messages.ERROR)
        except (NotApproved, lock_waits.LockTimeout) as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            if isinstance(done, HttpResponse):
                return done
            self.message_user(request, done, messages.SUCCESS)
        return HttpResponseRedirect(link(asked))

    def do(self, request: HttpRequest, asked: ApprovalRequest) -> str | HttpResponse:
        """Decide or carry out; what staff are told then, or the page of a key."""
        assert isinstance(request.user, User)
        kind, said = KINDS[asked.kind], request.POST.get("do")
        reason = request.POST.get("reason", "").strip()[:REASON_LENGTH]
        if said == "approve":
            self.check_decider(request, asked)
            kind.preview(asked)
            decide(asked, request.user, True, reason)
            if asked.kind == ApprovalKind.KEY:
                return "Approved. Who asked for the key issues it on this page."
            carry_out(asked, kind)
            return "Approved and executed."
        if said == "refuse":
            self.check_decider(request, asked)
            if not reason:
                raise NotApproved("Say why you refuse it.")
            decide(asked, request.user, False, reason)
            return "Refused."
        if said != "collect" or not may_collect(request, asked):
            raise PermissionDenied
        result = carry_out(asked, kind)
        if asked.kind != ApprovalKind.KEY:
            return "Executed."
        key, token = result
        ended = self.get_queryset(request).get(pk=asked.pk)
        return self.shown(request, ended, issued=key, key_token=token)

    def check_decider(self, request: HttpRequest, asked: ApprovalRequest) -> None:
        if not may_decide(request.user, asked):
            raise NotApproved(
                "You can not decide this: you filed it, or lack the right."
            )


def may_decide(user: Any, asked: ApprovalRequest) -> bool:
    """The database asks the same when the decision is written."""
    right = f"accounts.decide_{asked.kind.lower()}"
    return user.pk != asked.filed_by_id and user.has_perm(right)


def may_collect(request: HttpRequest, asked: ApprovalRequest) -> bool:
    """Who asked for it may; of a key nobody else, because it is shown then.

    Anything else was to follow at once on its approval: who decides it tries again.
    """
    if request.user.pk == asked.filed_by_id:
        return True
    return asked.kind != ApprovalKind.KEY and may_decide(request.user, asked)


@admin.register(ApprovalPolicy)
class ApprovalPolicyAdmin(ReadOnlyAdmin):
    """Only the owner of the tables changes what needs a second person."""

    list_display = ["kind", "is_required", "from_amount"]
    fields = ["kind", "is_required", "from_amount"]
    ordering = ["kind"]
    search_fields = ["^kind"]
