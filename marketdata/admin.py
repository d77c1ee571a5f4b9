from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html_join

from marketdata.models import ConformanceReport, FixSession
from partnerapi.core.backoffice import ReadOnlyAdmin


@admin.register(FixSession)
class FixSessionAdmin(admin.ModelAdmin):
    """fix_session issue binds CompIDs, and prints how to log on with them."""

    list_display = [
        "comp_id", "partner", "is_drop_copy", "health", "sources", "connected_since",
        "last_heartbeat_at", "last_logout_reason", "messages_sent",
    ]  # fmt: skip
    list_select_related = ["partner"]
    list_filter = [
        "enabled", "is_drop_copy", ("connected_since", admin.EmptyFieldListFilter),
        "partner",
    ]  # fmt: skip
    search_fields = ["^comp_id", "^partner__login", "partner__name"]
    ordering = ["comp_id"]
    fields = [
        "comp_id", "partner", "is_drop_copy", "enabled", "sources", "book_sequence",
        "created_at", "connected_since", "last_heartbeat_at", "last_logout_reason",
        "messages_sent",
    ]  # fmt: skip
    readonly_fields = [
        "comp_id", "partner", "is_drop_copy", "created_at", "connected_since",
        "last_heartbeat_at", "last_logout_reason", "messages_sent",
    ]  # fmt: skip

    @admin.display(description="health")
    def health(self, session):
        return session.health(timezone.now())

    def has_add_permission(self, request):
        return False

    def has_delete_permission(self, request, obj=None):
        # Its CompID would go to the next partner, who has another engine.
        return False

    def save_model(self, request, obj, form, change):
        # The acceptor writes the other columns at the same time.
        obj.save(update_fields=form.changed_data)


@admin.register(ConformanceReport)
class ConformanceReportAdmin(ReadOnlyAdmin):
    """What conformance.py found of partners' programs, as it reported it."""

    list_display = ["at", "partner", "part", "passed", "version", "seconds"]
    list_select_related = ["partner"]
    list_filter = ["passed", "part", "partner"]
    search_fields = ["^partner__login", "partner__name"]
    search_help_text = "Login or name of a partner"
    ordering = ["-id"]
    empty_hint = "A partner runs conformance.py with --api against the sandbox."
    fields = ["partner", "at", "part", "passed", "version", "seconds", "verdicts"]

    @admin.display(description="rules")
    def verdicts(self, report):
        return format_html_join(
            "",
            "<div><strong>{}</strong> {}{}</div>",
            (
                (one["rule"], one["verdict"], "".join(f"; {f}" for f in one["faults"]))
                for one in report.rules
            ),
        )
