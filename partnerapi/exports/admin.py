from django.contrib import admin

from partnerapi.core.backoffice import ReadOnlyAdmin
from partnerapi.exports.models import Export


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
        "id", "partner", "connection", "issuer_id", "token_id", "account_id", "date",
        "last_sequence", "status", "place", "rows", "size_bytes", "members", "cursor",
        "is_written", "charged", "attempts", "due_at", "reason", "created_at",
        "ended_at", "expires_at",
    ]  # fmt: skip
