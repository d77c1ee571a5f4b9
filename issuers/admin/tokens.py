"""Tokens: their list, and the form that edits what no second person approves."""

from django.contrib import admin

from issuers.models import Token
from partnerapi.core.backoffice import OwnPage, ProtectedAdmin
from partnerapi.core.money import euros


@admin.register(Token)
class TokenAdmin(OwnPage, ProtectedAdmin):
    """Its page shows its register, and leads to the requests that change it."""

    own_page = "token"

    protection = "A token cannot be deleted: past capitalization tables list it."

    list_display = [
        "symbol", "name", "issuer", "isin", "market_type", "visibility", "supply",
        "price",
    ]  # fmt: skip
    list_select_related = ["issuer", "ledger_head"]
    list_filter = [
        "market_type", "visibility", "network",
        ("ledger_head__price_cents", admin.EmptyFieldListFilter),
    ]  # fmt: skip
    search_fields = ["^symbol", "=isin", "name", "issuer__trading_name"]
    ordering = ["symbol"]
    autocomplete_fields = ["issuer"]
    fields = [
        "issuer", "name", "symbol", "isin", "visibility", "market_type",
        "contract_address", "network", "authorized_units", "class_type",
        "votes_per_share", "seniority", "nominal_value", "nominal_currency",
    ]  # fmt: skip

    def get_readonly_fields(self, request, obj=None):
        if obj is None:
            return []
        fixed = ["market_type", "issuer"]
        return [*fixed, "symbol", "isin"] if obj.is_traded else fixed

    def has_delete_permission(self, request, obj=None):
        return False

    @admin.display(description="supply")
    def supply(self, token):
        return f"{token.ledger_head.supply:,}"

    @admin.display(description="price")
    def price(self, token):
        cents = token.ledger_head.price_cents
        return "none: valued at 0" if cents is None else euros(cents)
