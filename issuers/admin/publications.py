"""What issuers publish: financial data and articles."""

from django.contrib import admin
from django.utils import timezone

from issuers.models import Article, IssuerFinancialData
from partnerapi.core.backoffice import SECURE_ADDRESSES, InEuros, KnownLater, money


@admin.register(IssuerFinancialData)
class IssuerFinancialDataAdmin(InEuros, KnownLater):
    in_euros = {
        f"{name}_cents": name for name in ("revenue", "ebitda", "ebit", "net_income")
    }
    list_display = [
        "issuer", "year", "period_type", "revenue", "ebitda", "ebit", "net_income"
    ]  # fmt: skip
    revenue = money("revenue_cents", "revenue")
    ebitda = money("ebitda_cents", "EBITDA")
    ebit = money("ebit_cents", "EBIT")
    net_income = money("net_income_cents", "net income")
    list_select_related = ["issuer"]
    list_filter = ["period_type", "year"]
    search_fields = ["issuer__trading_name", "^issuer__slug"]
    ordering = ["-year", "-id"]
    autocomplete_fields = ["issuer"]
    readonly_fields = ["id", "created_at"]


@admin.register(Article)
class ArticleAdmin(KnownLater):
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
