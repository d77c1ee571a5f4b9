"""Rules of tokens, approved holders and restrictions, as staff read them."""

from urllib.parse import urlencode

from django.contrib import admin
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from accounts.people.admin import user_columns
from issuers.compliance.models import ApprovedHolder, Restriction, TokenRule
from issuers.compliance.rules import text_of
from partnerapi.core.backoffice import PrefixSearchAdmin, ReadOnlyAdmin

HOLDER = "ledger_account__user__"


class InForceFilter(admin.SimpleListFilter):
    """Rows in force, or ended ones on request."""

    title = "in force"
    parameter_name = "ended"

    def lookups(self, request, model_admin):
        return [("yes", "Ended"), ("all", "All")]

    def choices(self, changelist):
        [everything, *others] = super().choices(changelist)
        yield everything | {"display": "In force"}
        yield from others

    def queryset(self, request, queryset):
        if self.value() == "all":
            return queryset
        return queryset.filter(ended_at__isnull=self.value() != "yes")


@admin.register(TokenRule)
class TokenRuleAdmin(ReadOnlyAdmin):
    """One person requests a rule, another decides."""

    list_display = [
        "token", "kind", "says", "created_at", "created_by", "approved_by", "ended_at",
    ]  # fmt: skip
    list_select_related = ["token__issuer"]
    list_filter = [InForceFilter, "kind"]
    search_fields = ["^token__symbol"]
    search_help_text = "Beginning of a token's symbol"
    ordering = ["-id"]
    readonly_fields = (
        "id", "token", "kind", "says", "parameters", "reason", "replaces", "created_at",
        "created_by", "approved_by", "ended_at", "ended_by", "asks",
    )  # fmt: skip
    fields = readonly_fields

    @admin.display(description="rule")
    def says(self, rule):
        return text_of(rule.kind, rule.parameters)

    @admin.display(description="request")
    def asks(self, rule):
        given = urlencode({"token": rule.token.symbol, "rule": rule.kind})
        page = reverse("admin:ask", args=["rule"])
        return format_html('<a href="{}?{}">change or end</a>', page, given)


class OfHolderAdmin(PrefixSearchAdmin, ReadOnlyAdmin):
    """Finds rows by the beginning of the holder's email address or name."""

    search_fields = user_columns(HOLDER)
    person = "ledger_account__user_id"
    phrase_fields = (f"{HOLDER}company_name",)
    search_help_text = "Beginning of the holder's email address or name"
    list_select_related = ["ledger_account__holder", "token"]
    ordering = ["-id"]

    @admin.display(description="holder")
    def holder(self, row):
        page = reverse("admin:holder_compliance", args=[row.ledger_account.user_id])
        return format_html('<a href="{}">{}</a>', page, row.ledger_account)


@admin.register(Restriction)
class RestrictionAdmin(OfHolderAdmin):
    """A holder's own page restricts it; lifting a restriction needs a second person."""

    list_display = [
        "__str__", "token", "units", "until", "created_at", "created_by", "ended_at",
    ]  # fmt: skip
    list_filter = [InForceFilter, "kind"]
    readonly_fields = (
        "id", "kind", "ledger_account", "holder", "token", "units", "until",
        "beneficiary", "reason", "created_at", "created_by", "ended_at", "ended_by",
        "asks",
    )  # fmt: skip
    fields = readonly_fields

    @admin.display(description="request")
    def asks(self, restriction):
        if restriction.ended_at:
            return "-"
        page = reverse("admin:ask", args=["lifting"])
        given = urlencode({"restriction": restriction.pk})
        return format_html('<a href="{}?{}">lifting</a>', page, given)


@admin.register(ApprovedHolder)
class ApprovedHolderAdmin(OfHolderAdmin):
    """A holder's own page approves it for a token, and ends that."""

    list_display = ["__str__", "until", "created_at", "created_by", "ended_at"]
    list_filter = [InForceFilter]
    readonly_fields = (
        "id", "token", "ledger_account", "holder", "until", "created_at", "created_by",
        "ended_at", "ended_by", "is_in_force",
    )  # fmt: skip
    fields = readonly_fields

    @admin.display(description="in force", boolean=True)
    def is_in_force(self, approved):
        over = approved.until is not None and approved.until <= timezone.now()
        return approved.ended_at is None and not over
