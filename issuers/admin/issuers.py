"""Issuers, and which partners have a grant for them."""

from django.contrib import admin
from django.db.models.functions import Collate, Lower
from django.urls import reverse
from django.utils.html import format_html

from issuers.models import Issuer, IssuerGrant
from partnerapi.core.backoffice import (
    SECURE_ADDRESSES,
    OwnPage,
    ProtectedAdmin,
    ReadOnly,
)


@admin.register(Issuer)
class IssuerAdmin(OwnPage, ProtectedAdmin):
    own_page = "issuer"
    protection = (
        "An issuer that has tokens, legacy shareholders or imports of them, or grants "
        "cannot be deleted."
    )
    formfield_overrides = SECURE_ADDRESSES  # type: ignore[assignment]
    list_display = [
        "called", "slug", "country", "trading_location", "owner",
        "industry_classification_benchmark", "created_at",
    ]  # fmt: skip
    list_select_related = ["country", "owner", "industry_classification_benchmark"]
    list_filter = ["industry_classification_benchmark__industry"]
    search_fields = ["trading_name", "^slug", "=tokens__symbol", "=tokens__isin"]
    search_help_text = (
        "Part of the name, beginning of the slug, or a token's symbol or ISIN"
    )
    ordering = [Collate(Lower("trading_name"), "C"), "id"]
    autocomplete_fields = [
        "country", "owner", "company_logo", "industry_classification_benchmark"
    ]  # fmt: skip
    prepopulated_fields = {"slug": ["trading_name"]}
    fieldsets = [
        (None, {"fields": ["trading_name", "slug", "tag_line", "company_logo"]}),
        (
            "Profile",
            {
                "fields": [
                    "description", "market_description", "trading_location", "country",
                    "formation_date", "industry_classification_benchmark",
                    "initial_number_of_shares",
                ]
            },
        ),
        ("Owner", {"fields": ["owner"]}),
        (
            "Addresses",
            {
                "fields": [
                    "website", "twitter_url", "youtube_url", "linkedin_url",
                    "facebook_url", "discord_url", "instagram_url",
                ]
            },
        ),
    ]  # fmt: skip

    @admin.display(description="trading name", ordering="trading_name")
    def called(self, issuer):
        return str(issuer)


@admin.register(IssuerGrant)
class IssuerGrantAdmin(ReadOnly, admin.ModelAdmin):
    """Grants are requested and decided; a separate page ends one."""

    list_display = ["partner", "issuer_or_every", "created_at", "ended_at", "page"]
    list_select_related = ["partner", "issuer"]
    list_filter = [("ended_at", admin.EmptyFieldListFilter), "partner"]
    search_fields = ["^partner__login", "issuer__trading_name", "^issuer__slug"]
    ordering = ["partner__login", "-id"]
    fields = readonly_fields = (
        "id", "partner", "issuer", "created_at", "ended_at", "page",
    )  # fmt: skip

    def get_list_display(self, request):
        return self.columns(request, self.list_display)

    def get_fields(self, request, obj=None):
        return self.columns(request, self.fields)

    def columns(self, request, names):
        """The last one is for staff that end grants."""
        may_end = request.user.has_perm("issuers.change_issuergrant")
        return names if may_end else names[:-1]

    @admin.display(description="issuer")
    def issuer_or_every(self, grant):
        return grant.issuer or "every issuer"

    @admin.display(description="do")
    def page(self, grant):
        said = "request again" if grant.ended_at else "end grant"
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:grant", args=[grant.pk]), said
        )
