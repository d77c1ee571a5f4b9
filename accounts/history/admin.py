"""The history of access to the back office; every decider may read it."""

from django.contrib import admin

from accounts.approvals.models import ApprovalKind
from accounts.history.models import StaffChange
from partnerapi.core.backoffice import ReadOnlyAdmin


@admin.register(StaffChange)
class StaffChangeAdmin(ReadOnlyAdmin):
    list_display = ["person_email", "what", "detail", "who", "source", "at"]
    fields = ["id", "person", "what", "detail", "at", "change"]
    list_select_related = ["person", "change"]
    list_filter = ["what", "at"]
    search_fields = ["person__email__startswith", "change__who__startswith"]
    search_help_text = "Beginning of an email address of either person"
    ordering = ["-id"]

    @admin.display(description="person")
    def person_email(self, row):
        return row.person.email or str(row.person)

    @admin.display(description="by")
    def who(self, row):
        return row.change.who

    @admin.display(description="from")
    def source(self, row):
        return row.change.source

    def has_view_permission(self, request, obj=None):
        return super().has_view_permission(request, obj) or may_decide(request.user)

    def has_module_permission(self, request):
        return self.has_view_permission(request)


def may_decide(user):
    """Whether a user may decide a kind of request."""
    rights = (f"accounts.decide_{kind.lower()}" for kind in ApprovalKind)
    return any(map(user.has_perm, rights))
