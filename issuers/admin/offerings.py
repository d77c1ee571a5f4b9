"""Offerings: their terms and what became of them."""

from django.contrib import admin

from issuers.offerings.models import Offering
from partnerapi.core.backoffice import ListWithActions, OwnPage, ReadOnlyAdmin, money


@admin.register(Offering)
class OfferingAdmin(ListWithActions, OwnPage, ReadOnlyAdmin):
    """Staff draft them from the page of a token. Two people decide on each step."""

    own_page = "offering"
    empty_hint = "Draft one from the page of a token."

    list_display = [
        "token", "status", "rule", "each", "minimum_units", "maximum_units",
        "opens_at", "closes_at",
    ]  # fmt: skip
    list_select_related = ["token"]
    list_filter = ["status", "rule"]
    search_fields = ["^token__symbol"]
    search_help_text = "The beginning of a token's symbol"
    ordering = ["-opens_at", "-id"]
    each = money("price", "price")
