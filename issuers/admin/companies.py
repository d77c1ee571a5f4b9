from django import forms
from django.contrib import admin
from django.db import models
from django.db.models.functions import Collate, Lower
from django.utils import timezone
from django.utils.html import format_html

from issuers.models import (
    Article,
    Document,
    IndustryClassificationBenchmark,
    Issuer,
    IssuerFinancialData,
    IssuerGrant,
)
from partnerapi.core.backoffice import KeptWhileReferredTo

# What staff type without a scheme is taken for HTTPS.
SECURE_ADDRESSES = {models.URLField: {"assume_scheme": "https"}}


@admin.register(IndustryClassificationBenchmark)
class IndustryClassificationBenchmarkAdmin(admin.ModelAdmin):
    """The classification is imported whole, by import_industry_classification."""

    list_display = [
        "subsector_code", "subsector", "sector", "supersector", "industry"
    ]  # fmt: skip
    list_filter = ["industry", "supersector"]
    search_fields = ["^subsector_code", "subsector", "sector", "supersector"]
    ordering = ["subsector_code"]

    def has_add_permission(self, request):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        return False


class DocumentForm(forms.ModelForm):
    file = forms.FileField(help_text="PNG, JPEG, WebP or PDF, at most 5 MiB.")

    class Meta:
        model = Document
        fields: list[str] = []

    def clean_file(self):
        file = self.cleaned_data["file"]
        # Refuses before an oversized file is read into memory.
        if file.size > Document.MAX_BYTES:
            raise forms.ValidationError(
                f"{file.name} has {file.size} bytes; "
                f"at most {Document.MAX_BYTES} are stored."
            )
        document = Document.objects.unsaved(file.name, file.read())
        try:
            document.clean_fields(exclude=["content"])
        except forms.ValidationError as error:
            raise forms.ValidationError(
                f"{file.name}: {' '.join(error.messages)} Rename the file: letters, "
                "digits, dots, hyphens and underscores, at most 100."
            ) from None
        self.instance = document
        return file


@admin.register(Document)
class DocumentAdmin(admin.ModelAdmin):
    """Documents are never changed: a new file is a new document."""

    form = DocumentForm
    list_display = ["name", "content_type", "size_bytes", "created_at"]
    list_filter = ["content_type"]
    search_fields = ["^name", "=checksum_sha256"]
    ordering = ["-id"]
    readonly_fields = [
        "id", "name", "content_type", "size_bytes", "checksum_sha256", "created_at",
        "address",
    ]  # fmt: skip

    def get_queryset(self, request):
        return super().get_queryset(request).defer("content")

    def get_fields(self, request, obj=None):
        return ["file"] if obj is None else self.readonly_fields

    def has_change_permission(self, request, obj=None):
        return False

    @admin.display(description="address")
    def address(self, document):
        path = f"/documents/{document.pk}/{document.name}"
        return format_html('<a href="{0}">{0}</a>', path)


@admin.register(Issuer)
class IssuerAdmin(KeptWhileReferredTo):
    # Nobody would be told that they are taken back.
    kept_by_too = ("grants",)
    kept = (
        "An issuer that has tokens, legacy shareholders or imports of them, or grants "
        "can not be deleted."
    )
    formfield_overrides = SECURE_ADDRESSES  # type: ignore[assignment]
    list_display = [
        "trading_name", "slug", "country", "trading_location", "owner",
        "industry_classification_benchmark", "created_at",
    ]  # fmt: skip
    list_select_related = ["country", "owner", "industry_classification_benchmark"]
    list_filter = ["industry_classification_benchmark__industry"]
    search_fields = ["trading_name", "^slug", "=tokens__symbol", "=tokens__isin"]
    search_help_text = "Part of the name, start of the slug, a token's symbol or ISIN"
    ordering = [Collate(Lower("trading_name"), "C"), "id"]
    autocomplete_fields = [
        "country", "owner", "company_logo", "industry_classification_benchmark"
    ]  # fmt: skip
    prepopulated_fields = {"slug": ["trading_name"]}
    readonly_fields = ["id", "created_at"]
    fieldsets = [
        (None, {"fields": ["id", "trading_name", "slug", "tag_line", "company_logo"]}),
        (
            "Profile",
            {
                "fields": [
                    "description", "market_description", "trading_location", "country",
                    "industry_classification_benchmark", "initial_number_of_shares",
                ]
            },
        ),
        ("Owner", {"fields": ["owner", "created_at"]}),
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


@admin.register(IssuerGrant)
class IssuerGrantAdmin(admin.ModelAdmin):
    list_display = ["partner", "issuer_or_every", "created_at"]
    list_select_related = ["partner", "issuer"]
    list_filter = ["partner"]
    search_fields = ["^partner__login", "issuer__trading_name", "^issuer__slug"]
    ordering = ["partner__login", "-id"]
    autocomplete_fields = ["partner", "issuer"]
    readonly_fields = ["id", "created_at"]

    @admin.display(description="issuer")
    def issuer_or_every(self, grant):
        return grant.issuer or "every issuer"


@admin.register(IssuerFinancialData)
class IssuerFinancialDataAdmin(admin.ModelAdmin):
    list_display = [
        "issuer", "year", "period_type", "revenue_cents", "ebitda_cents", "ebit_cents",
        "net_income_cents",
    ]  # fmt: skip
    list_select_related = ["issuer"]
    list_filter = ["period_type", "year"]
    search_fields = ["issuer__trading_name", "^issuer__slug"]
    ordering = ["-year", "-id"]
    autocomplete_fields = ["issuer"]
    readonly_fields = ["id", "created_at"]


@admin.register(Article)
class ArticleAdmin(admin.ModelAdmin):
    formfield_overrides = SECURE_ADDRESSES  # type: ignore[assignment]
    list_display = ["title", "issuer", "published_at", "state"]
    list_select_related = ["issuer"]
    list_filter = [("published_at", admin.EmptyFieldListFilter)]
    search_fields = ["title", "issuer__trading_name", "^issuer__slug"]
    ordering = ["-id"]
    autocomplete_fields = ["issuer", "cover_image"]
    prepopulated_fields = {"slug": ["title"]}
    readonly_fields = ["id", "created_at"]

    @admin.display(description="state")
    def state(self, article):
        if article.published_at is None:
            return "draft"
        return "scheduled" if article.published_at > timezone.now() else "published"
