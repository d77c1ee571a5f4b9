"""What issuers publish: figures and articles."""

import uuid_utils.compat as uuid
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.access import Caller, Scope
from issuers.models.documents import Document
from issuers.models.issuers import SLUG, Issuer
from partnerapi.core.constraints import check
from partnerapi.core.numbers import MAX_EXACT_INTEGER


class IssuerFinancialDataQuerySet(models.QuerySet):
    def visible_to(self, caller: Caller | None):
        if caller is None or Scope.ISSUERS_READ not in caller.scopes:
            return self.none()
        return self


class IssuerFinancialData(models.Model):
    """Key figures of one period, euro cents; empty means not published."""

    class PeriodType(models.TextChoices):
        FIRST_SEMESTER = "FIRST_SEMESTER", "First semester (S1)"
        YEAR = "YEAR", "Full year"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    issuer = models.ForeignKey(Issuer, models.CASCADE, related_name="financial_data")
    period_type = models.CharField(max_length=14, choices=PeriodType)
    year = models.IntegerField(help_text="Calendar year.")
    revenue_cents = models.BigIntegerField(null=True, blank=True)
    ebitda_cents = models.BigIntegerField(null=True, blank=True)
    ebit_cents = models.BigIntegerField(null=True, blank=True)
    net_income_cents = models.BigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = IssuerFinancialDataQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "issuer financial data"
        constraints = [
            # Also the list's order, read backwards: YEAR before FIRST_SEMESTER.
            models.UniqueConstraint(
                fields=["issuer", "year", "period_type"],
                name="one_figure_set_per_issuer_and_period",
            ),
            check(
                "financial_data_period_type_is_known",
                Q(period_type__in=["FIRST_SEMESTER", "YEAR"]),
            ),
            check("financial_data_year_is_a_year", Q(year__gte=1900, year__lte=2200)),
            *(
                check(
                    f"financial_data_{field}_is_exact_in_json",
                    Q(**{f"{field}__isnull": True})
                    | Q(
                        **{
                            f"{field}__gte": -MAX_EXACT_INTEGER,
                            f"{field}__lte": MAX_EXACT_INTEGER,
                        }
                    ),
                )
                for field in (
                    "revenue_cents",
                    "ebitda_cents",
                    "ebit_cents",
                    "net_income_cents",
                )
            ),
        ]

    def __str__(self):
        return f"{self.issuer} {self.year} {self.get_period_type_display()}"


class ArticleQuerySet(models.QuerySet):
    def published(self):
        """Articles published by now, on the database's clock; drafts have no time."""
        return self.filter(published_at__lte=Now())


class Article(models.Model):
    """News from an issuer, from its time of publication on; a draft without one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    issuer = models.ForeignKey(
        Issuer, models.CASCADE, related_name="articles", db_index=False
    )
    title = models.CharField(max_length=200, help_text="Headline.")
    slug = models.SlugField(
        max_length=100,
        db_index=False,
        validators=[RegexValidator(SLUG)],
        help_text="URL-friendly identifier, unique within the issuer.",
    )
    summary = models.TextField(null=True, blank=True, help_text="One or two sentences.")
    body = models.TextField(help_text="Full text, Markdown.")
    url = models.URLField(
        null=True,
        blank=True,
        help_text="Where the article is published, if elsewhere.",
    )
    published_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When partners begin to see it. Empty: a draft, which partners never "
        "see.",
    )
    cover_image = models.ForeignKey(
        Document, models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = ArticleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["issuer", "slug"],
                name="article_slug_is_unique_within_the_issuer",
            ),
            check("article_has_a_title", ~Q(title="")),
            check("article_slug_is_url_friendly", Q(slug__regex=SLUG)),
        ]
        indexes = [
            models.Index(
                "issuer",
                "published_at",
                "id",
                name="article_list_order",
                condition=Q(published_at__isnull=False),
            ),
        ]

    def __str__(self):
        return self.title
