"""Investor profiles in force, and their sources."""

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from accounts.investors.models import InvestorAttestation, InvestorProfile
from accounts.people.admin import user_columns
from partnerapi.core.backoffice import OwnPage, PrefixSearchAdmin, ReadOnlyAdmin


class OfUserAdmin(PrefixSearchAdmin, ReadOnlyAdmin):
    """Finds rows by the beginning of the investor's email address or name."""

    search_fields = user_columns("user__")
    person = "user_id"
    phrase_fields = ("user__company_name",)
    search_help_text = "Beginning of the investor's email address or name"
    list_select_related = ["user", "tax_country", "partner"]

    @admin.display(description="decide")
    def page(self, row):
        page = reverse("admin:holder_compliance", args=[row.user_id])
        return format_html('<a href="{}">view on the holder\'s page</a>', page)


@admin.register(InvestorProfile)
class InvestorProfileAdmin(OwnPage, OfUserAdmin):
    own_page, part_of_page = "holder_compliance", "investor"
    list_display = [
        "user", "verification", "verified_until", "tax_country", "investor_class",
        "partner", "updated_at",
    ]  # fmt: skip
    list_filter = ["verification", "investor_class"]
    ordering = ["-updated_at", "user"]


class WaitingFilter(admin.SimpleListFilter):
    """Attestations that wait for staff, or all of them on request."""

    title = "waiting"
    parameter_name = "all"

    def lookups(self, request, model_admin):
        return [("yes", "All")]

    def choices(self, changelist):
        [everything, *others] = super().choices(changelist)
        yield everything | {"display": "Waiting for staff"}
        yield from others

    def queryset(self, request, queryset):
        return queryset if self.value() else queryset.waiting()


@admin.register(InvestorAttestation)
class InvestorAttestationAdmin(OfUserAdmin):
    list_display = [
        "user", "partner", "verification", "tax_country", "investor_class",
        "created_at",
    ]  # fmt: skip
    list_filter = [WaitingFilter, "verification"]
    ordering = ["-id"]
    readonly_fields = (
        "id", "user", "account", "partner", "verification", "verified_until",
        "tax_country", "investor_class", "evidence", "created_at", "page",
    )  # fmt: skip
    fields = readonly_fields
