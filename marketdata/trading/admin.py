"""Markets and orders for lookup by staff; separate pages show each of them.

Django lists nothing whose primary key is composite: a market's page lists executions.
"""

from uuid import UUID

from django.contrib import admin

from accounts.accounts.admin import AccountSearchAdmin
from accounts.accounts.models import Account
from accounts.people.admin import user_columns
from marketdata.trading.models import (
    IssuedDocument,
    Market,
    MarketParameters,
    Order,
    OrderBlock,
    RefusedOrder,
    Tariff,
)
from partnerapi.core.backoffice import (
    ListWithActions,
    OwnPage,
    ReadOnly,
    ReadOnlyAdmin,
    money,
    rate,
)
from partnerapi.core.money import euros


@admin.register(Market)
class MarketAdmin(ListWithActions, OwnPage, ReadOnlyAdmin):
    """open_market opens markets. Staff who may change a market halt it on its page."""

    own_page = "market"

    list_display = [
        "token", "phase", "phase_since", "next_phase", "next_phase_at", "reference",
        "halt_reason",
    ]  # fmt: skip
    list_select_related = ["token"]
    list_filter = ["phase"]
    search_fields = ["^token__symbol"]
    search_help_text = "The beginning of a token's symbol"
    ordering = ["token__symbol"]
    reference = money("reference_price", "reference price")


@admin.register(Tariff)
class TariffAdmin(ReadOnlyAdmin):
    """What orders pay. Two people decide on a tariff, and on its end."""

    list_display = [
        "id", "token", "partner", "maker", "taker", "least", "most", "vat",
        "valid_from", "ended_at", "created_by", "approved_by",
    ]  # fmt: skip
    list_select_related = ["token", "partner"]
    list_filter = [("ended_at", admin.EmptyFieldListFilter)]
    search_fields = ["^token__symbol"]
    search_help_text = "The beginning of a token's symbol"
    ordering = ["-valid_from", "-id"]
    maker = rate("maker_bps", "maker")
    taker = rate("taker_bps", "taker")
    vat = rate("vat_bps", "VAT")
    least = money("minimum", "minimum")
    most = money("maximum", "maximum")
    readonly_fields = (
        "id", "token", "partner", "maker", "taker", "least", "most", "vat",
        "valid_from", "replaces", "reason", "created_by", "approved_by", "created_at",
        "ended_by", "ended_at",
    )  # fmt: skip
    fields = readonly_fields


@admin.register(MarketParameters)
class MarketParametersAdmin(ReadOnlyAdmin):
    """What orders of a market are judged by. Two people decide on new ones."""

    list_display = [
        "id", "token", "valid_from", "opens_at", "model", "tick", "lot_units",
        "static", "dynamic", "created_by", "approved_by",
    ]  # fmt: skip
    list_select_related = ["token"]
    list_filter = ["model"]
    search_fields = ["^token__symbol"]
    search_help_text = "The beginning of a token's symbol"
    ordering = ["-valid_from", "-id"]
    tick = money("tick_cents", "tick")
    static = rate("collar_bps", "static band")
    dynamic = rate("dynamic_band_bps", "dynamic band")
    most = money("most_value", "highest value of an order")
    readonly_fields = (
        "id", "token", "valid_from", "opens_at", "announced_at", "session_opens",
        "session_closes", "weekdays_only", "holidays", "tick", "tick_table",
        "lot_units", "static", "dynamic", "model", "fixings", "at_last_minutes",
        "most", "most_units",
        "replaces", "reason", "created_by", "approved_by", "created_at",
    )  # fmt: skip
    fields = readonly_fields

    @admin.display(description="tick table")
    def tick_table(self, parameters):
        rows = zip(parameters.tick_floors, parameters.tick_steps, strict=True)
        said = [f"{euros(step)} from {euros(floor)}" for floor, step in rows]
        return "; ".join(said) or "none"


@admin.register(OrderBlock)
class OrderBlockAdmin(ReadOnlyAdmin):
    """`market block` stops orders. Two people release a block of staff's."""

    list_display = [
        "id", "partner", "account", "token", "is_staff", "reason", "blocked_by",
        "blocked_at", "released_by", "released_at",
    ]  # fmt: skip
    list_select_related = ["partner", "account__user", "account__partner", "token"]
    list_filter = ["is_staff", ("released_at", admin.EmptyFieldListFilter)]
    search_fields = ["^partner__login"]
    search_help_text = "The beginning of a partner's login"
    ordering = ["-blocked_at"]
    readonly_fields = (
        "id", "partner", "account", "token", "is_staff", "reason", "blocked_by",
        "blocked_at", "released_by", "released_at",
    )  # fmt: skip
    fields = readonly_fields


@admin.register(RefusedOrder)
class RefusedOrderAdmin(ReadOnlyAdmin):
    """Orders as partners sent them; of a partner with many, some are only counted."""

    list_display = [
        "at", "partner", "code", "number", "token", "account", "side", "quantity",
        "limit", "message",
    ]  # fmt: skip
    list_select_related = ["partner", "account__user", "account__partner", "token"]
    list_filter = ["code"]
    search_fields = ["^partner__login"]
    search_help_text = "The beginning of a partner's login"
    ordering = ["-at"]
    limit = money("limit_price", "limit")
    readonly_fields = (
        "id", "at", "partner", "code", "number", "message", "token", "account", "order",
        "side", "quantity", "limit", "time_in_force", "client_order_id",
    )  # fmt: skip
    fields = readonly_fields


@admin.register(IssuedDocument)
class IssuedDocumentAdmin(ReadOnly, OwnPage, AccountSearchAdmin):
    """Contract notes, statements and invoices, as `run documents` has issued them."""

    own_page = "document"
    empty_hint = "Each night the platform issues what is due."

    list_display = [
        "number", "kind", "partner", "account", "begins", "ends", "net", "vat",
        "issued_at",
    ]  # fmt: skip
    list_select_related = ["partner", "account__user", "account__partner"]
    list_filter = ["kind", "partner"]
    account_field = "account"
    search_fields = user_columns("account__user__")
    person = "account__user_id"
    phrase_fields = ("account__user__company_name",)
    net = money("fee_net", "fees, net")
    vat = money("fee_vat", "VAT")

    def get_queryset(self, request):
        return super().get_queryset(request).defer("content", "pdf")

    def lookup_allowed(self, lookup, value, request):
        """The page of an account leads to its documents."""
        is_own = lookup == "account__id__exact"
        return is_own or super().lookup_allowed(lookup, value, request)


@admin.register(Order)
class OrderAdmin(OwnPage, ReadOnlyAdmin):
    """Finds orders by identifiers, each by an index; the newest come first."""

    own_page = "order"

    list_display = [
        "id", "token", "side", "quantity", "limit", "filled", "status",
        "status_reason", "account", "created_at",
    ]  # fmt: skip
    list_select_related = ["token", "account__user", "account__partner"]
    list_filter = ["status"]
    # This shows the box; `get_search_results` compares the input.
    search_fields = ["pk"]
    search_help_text = (
        "An order's id or clientOrderID, an account's id, a holder's id or email"
    )
    ordering = ["-id"]
    limit = money("limit_price", "limit")

    def get_search_results(self, request, queryset, search_term):
        text = search_term.strip()
        if not text:
            return queryset, False
        found = queryset.filter(client_order_id=text)
        try:
            key = UUID(text.rpartition("|")[2])
        except ValueError:
            of_user = Account.objects.filter(user__email=text.lower())
        else:
            found |= queryset.filter(pk=key)
            of_user = Account.objects.filter(pk=key)
            of_user |= Account.objects.filter(user=key)
        accounts = [*of_user.values_list("pk", flat=True)]
        return found | queryset.filter(account__in=accounts), False
