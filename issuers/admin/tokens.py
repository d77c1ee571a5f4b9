"""Tokens, each with its supply, prices and last entries of its ledger."""

from urllib.parse import urlencode

from django.contrib import admin
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join

from issuers.models import Token
from partnerapi.core.backoffice import ProtectedAdmin
from partnerapi.core.money import euros

LAST = 20
ASKS = (
    ("mint", "a mint"),
    ("burn", "a burn"),
    ("forced_transfer", "a forced transfer"),
    ("price", "a price"),
    ("rule", "a rule"),
)
OF_TRADED = ("identity", "symbol or ISIN")


@admin.register(Token)
class TokenAdmin(ProtectedAdmin):
    """Commands record units and prices, because they ask for a person and a reason."""

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
        "id", "issuer", "name", "symbol", "isin", "visibility", "market_type",
        "contract_address", "network", "authorized_units", "class_type",
        "votes_per_share", "seniority", "nominal_value", "nominal_currency",
        "created_at",
    ]  # fmt: skip
    readonly_fields = ["id", "created_at"]
    register_fields = ["supply", "held", "price", "asks", "entries", "prices"]

    def get_fieldsets(self, request, obj=None):
        fieldsets = super().get_fieldsets(request, obj)
        if obj is not None:
            said = (
                "Requests from this page need the approval of another member of staff. "
                "manage.py market open-secondary does not."
            )
            if obj.is_traded:
                said += (
                    " The token is traded, so changes of its symbol and ISIN also need "
                    "a request."
                )
            register = {"fields": self.register_fields, "description": said}
            fieldsets.append(("Register", register))
        return fieldsets

    def get_readonly_fields(self, request, obj=None):
        if obj is None:
            return self.readonly_fields
        fixed = ["market_type", "issuer", *self.register_fields]
        if obj.is_traded:
            fixed += ["symbol", "isin"]
        return [*self.readonly_fields, *fixed]

    def has_delete_permission(self, request, obj=None):
        return False

    @admin.display(description="supply")
    def supply(self, token):
        return f"{token.ledger_head.supply:,}"

    @admin.display(description="held")
    def held(self, token):
        head = token.ledger_head
        return (
            f"{head.held:,}, by {head.holder_count:,} holders; the treasury holds the "
            "rest"
        )

    @admin.display(description="price")
    def price(self, token):
        cents = token.ledger_head.price_cents
        return "none: valued at 0" if cents is None else euros(cents)

    @admin.display(description="request")
    def asks(self, token):
        asks = [(f"?token={token.symbol}", *ask) for ask in ASKS]
        if token.is_traded:
            given = {"token": token.symbol, "symbol": token.symbol}
            query = urlencode(given | {"isin": token.isin or ""})
            asks.append((f"?{query}", *OF_TRADED))
        return format_html_join(
            ", ",
            '<a href="{}{}">{}</a>',
            (
                (reverse("admin:ask", args=[kind]), query, label)
                for query, kind, label in asks
            ),
        )

    @admin.display(description="last entries")
    def entries(self, token):
        last = token.transactions.select_related(
            "source__holder", "source__issuer", "target__holder", "target__issuer"
        ).order_by("-seq")[:LAST]
        return table(
            ["Entry", "Time", "Kind", "Units", "From", "To", "Supply", "By", "Reason"],
            [
                (
                    e.seq, at(e.effective_at), e.get_kind_display(), f"{e.amount:,}",
                    e.source or "-", e.target or "-", f"{e.supply_after:,}", e.actor,
                    e.reason,
                )
                for e in last
            ],
        )  # fmt: skip

    @admin.display(description="last prices")
    def prices(self, token):
        last = token.prices.order_by("-number")[:LAST]
        return table(
            ["Time", "Price", "Source", "By"],
            [
                (
                    at(p.effective_at), euros(p.price_cents), p.get_source_display(),
                    p.recorded_by,
                )
                for p in last
            ],
        )  # fmt: skip


def at(time):
    return date_format(time, "DATETIME_FORMAT")


def table(names, rows):
    if not rows:
        return "none"
    head = format_html_join("", '<th scope="col">{}</th>', ((name,) for name in names))
    cells = (
        (format_html_join("", "<td>{}</td>", ((cell,) for cell in row)),)
        for row in rows
    )
    body = format_html_join("", "<tr>{}</tr>", cells)
    return format_html(
        '<div role="region" aria-label="{}" tabindex="0">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        ", ".join(names),
        head,
        body,
    )
