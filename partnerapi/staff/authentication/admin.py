from django.contrib import admin

from partnerapi.core.backoffice import ReadOnlyAdmin
from partnerapi.staff.authentication.models import FailedSignIn


@admin.register(FailedSignIn)
class FailedSignInAdmin(ReadOnlyAdmin):
    """Failed sign-ins, by login and address; rows stay for 90 days."""

    list_display = ["at", "login", "address", "is_locked"]
    list_filter = ["is_locked"]
    search_fields = ["=login", "=address"]
    search_help_text = "Exact login or IP address"
    ordering = ["-id"]
    show_full_result_count = False
    fields = ["at", "login", "address", "is_locked"]
