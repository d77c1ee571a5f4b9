import re
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from partnerapi.core.backoffice import ReadOnlyAdmin
from partnerapi.gateway.models import IdempotencyRecord


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

    def get_queryset(self, request: HttpRequest) -> QuerySet[IdempotencyRecord]:
        return super().get_queryset(request).defer("body", "fingerprint")

    def get_search_results(
        self,
        request: HttpRequest,
        queryset: QuerySet[IdempotencyRecord],
        search_term: str,
    ) -> tuple[QuerySet[IdempotencyRecord], bool]:
        digits = search_term.strip(' "').replace("-", "").lower()
        if not digits:
            return queryset, False
        if not re.fullmatch("[0-9a-f]{1,32}", digits):
            return queryset.none(), False
        first, last = (UUID(digits.ljust(32, end)) for end in "0f")
        return queryset.filter(key__range=(first, last)), False
