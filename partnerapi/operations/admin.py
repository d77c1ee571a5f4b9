from django.contrib import admin

from partnerapi.core.backoffice import ReadOnlyAdmin
from partnerapi.operations.models import JobRun


@admin.register(JobRun)
class JobRunAdmin(ReadOnlyAdmin):
    """When scheduled jobs ran, and what came of them."""

    list_display = ["job", "started_at", "seconds", "result", "detail"]
    list_filter = ["result", "job"]
    search_fields = ["job"]
    ordering = ["-started_at", "-id"]
    show_full_result_count = False
    fields = ["job", "started_at", "seconds", "result", "detail"]
