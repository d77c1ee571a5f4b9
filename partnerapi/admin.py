import re
from uuid import UUID

from django.contrib import admin

from partnerapi.core.backoffice import ReadOnlyAdmin
from partnerapi.models import Export, FailedSignIn, IdempotencyRecord, JobRun
from partnerapi.staff.approvals import pages as approvals

__all__ = ["approvals"]


@admin.register(IdempotencyRecord)
class IdempotencyRecordAdmin(ReadOnlyAdmin):
    """Which mutations were answered lately; the answers are the partners' own."""

    list_display = ["key", "partner", "operation_name", "created_at", "expires_at"]
    list_select_related = ["partner"]
    list_filter = ["partner"]
    search_fields = ["key"]
    search_help_text = "The beginning of an Idempotency-Key"
    ordering = ["-id"]
    show_full_result_count = False
    fields = [
        "key", "partner", "operation_name", "scopes", "created_at", "expires_at",
    ]  # fmt: skip

    def get_queryset(self, request):
        return super().get_queryset(request).defer("body", "fingerprint")

    def get_search_results(self, request, queryset, search_term):
        digits = search_term.strip(' "').replace("-", "").lower()
        if not digits:
            return queryset, False
        if not re.fullmatch("[0-9a-f]{1,32}", digits):
            return queryset.none(), False
        first, last = (UUID(digits.ljust(32, end)) for end in "0f")
        return queryset.filter(key__range=(first, last)), False


@admin.register(JobRun)
class JobRunAdmin(ReadOnlyAdmin):
    """When scheduled jobs ran, and what came of them."""

    list_display = ["job", "started_at", "seconds", "result", "detail"]
    list_filter = ["result", "job"]
    search_fields = ["job"]
    ordering = ["-started_at", "-id"]
    show_full_result_count = False
    fields = ["job", "started_at", "seconds", "result", "detail"]


@admin.register(Export)
class ExportAdmin(ReadOnlyAdmin):
    """Which exports partners have asked for, and how far they are."""

    list_display = [
        "id", "partner", "connection", "status", "rows", "size_bytes", "created_at",
    ]  # fmt: skip
    list_select_related = ["partner"]
    list_filter = ["status", "connection", "partner"]
    search_fields = ["id"]
    search_help_text = "An export's id"
    ordering = ["-id"]
    show_full_result_count = False
    fields = [
        "id", "partner", "connection", "issuer_id", "token_id", "date",
        "last_sequence", "status", "place", "rows", "size_bytes", "members", "cursor",
        "is_written", "charged", "attempts", "due_at", "reason", "created_at",
        "ended_at", "expires_at",
    ]  # fmt: skip


@admin.register(FailedSignIn)
class FailedSignInAdmin(ReadOnlyAdmin):
    """Who failed to sign in, from where; rows stay for 90 days."""

    list_display = ["at", "login", "address", "is_locked"]
    list_filter = ["is_locked"]
    search_fields = ["=login", "=address"]
    search_help_text = "A login or an address, whole"
    ordering = ["-id"]
    show_full_result_count = False
    fields = ["at", "login", "address", "is_locked"]
