from django.contrib import admin

from partnerapi.core.backoffice import ReadOnlyAdmin
from partnerapi.webhooks.models import WebhookDelivery, WebhookEndpoint


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ReadOnlyAdmin):
    """Where partners receive events, and whether they do."""

    list_display = [
        "url", "key", "state", "position", "failing_since", "delivered_at",
    ]  # fmt: skip
    list_select_related = ["key__partner"]
    list_filter = [("ended_at", admin.EmptyFieldListFilter), "key__partner"]
    search_fields = ["url"]
    search_help_text = "Part of an address"
    ordering = ["-id"]
    empty_hint = "A partner creates an endpoint with a key, by createWebhookEndpoint."
    show_full_result_count = False
    fields = [
        "id", "url", "key", "types", "state", "reason", "position", "attempts",
        "failing_since", "due_at", "test_at", "delivered_at", "rolled_at",
        "created_at", "ended_at",
    ]  # fmt: skip

    @admin.display(description="status")
    def state(self, endpoint):
        return endpoint.status.label


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Attempts of the last week, without what was sent."""

    list_display = [
        "at", "endpoint", "sequence", "attempt", "status", "milliseconds", "error",
    ]  # fmt: skip
    list_select_related = ["endpoint"]
    list_filter = ["status"]
    search_fields = ["endpoint__url"]
    search_help_text = "Part of an address"
    empty_hint = "No event was sent to an endpoint within a week."
    ordering = ["-id"]
    show_full_result_count = False
    fields = [
        "endpoint", "sequence", "attempt", "at", "milliseconds", "status", "error",
    ]  # fmt: skip
