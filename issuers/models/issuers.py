"""Issuers, and the grants of partners to see their private data."""

import uuid_utils.compat as uuid
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Collate, Left, Lower, Now

from accounts.keys.models import Partner
from accounts.people.models import TURNS_AROUND, Country, User
from issuers.models.classification import IndustryClassificationBenchmark
from issuers.models.documents import Document
from partnerapi.core.constraints import check
from partnerapi.core.numbers import MAX_EXACT_INTEGER

SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
INDUSTRY_LEVELS = {"industry": 2, "supersector": 4, "sector": 6, "subsector": 8}
"""Digits of the codes of the industry classification's levels."""


class Issuer(models.Model):
    """A company listed on the platform."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    trading_name = models.CharField(
        max_length=200, help_text="Commercial name for public display."
    )
    slug = models.SlugField(
        max_length=100,
        unique=True,
        validators=[RegexValidator(SLUG)],
        help_text="URL-friendly unique identifier.",
    )
    tag_line = models.CharField(
        max_length=200, null=True, blank=True, help_text="Short marketing phrase."
    )
    description = models.TextField(
        null=True, blank=True, help_text="What the company does."
    )
    market_description = models.TextField(
        null=True, blank=True, help_text="Market the issuer operates in."
    )
    website = models.URLField(
        null=True, blank=True, help_text="Address of the company's web site."
    )
    twitter_url = models.URLField(
        null=True, blank=True, help_text="Profile on X (Twitter)."
    )
    youtube_url = models.URLField(
        null=True, blank=True, help_text="Channel on YouTube."
    )
    linkedin_url = models.URLField(null=True, blank=True, help_text="Page on LinkedIn.")
    facebook_url = models.URLField(null=True, blank=True, help_text="Page on Facebook.")
    discord_url = models.URLField(
        null=True, blank=True, help_text="Invitation to the Discord server."
    )
    instagram_url = models.URLField(
        null=True, blank=True, help_text="Profile on Instagram."
    )
    country = models.ForeignKey(
        Country, models.PROTECT, null=True, blank=True, related_name="+"
    )
    formation_date = models.DateField(
        null=True,
        blank=True,
        help_text="Day on which the company was formed; an Open Cap Table package of "
        "the issuer states it.",
    )
    trading_location = models.CharField(
        max_length=100, help_text="City or region where the issuer mainly operates."
    )
    owner = models.ForeignKey(User, models.PROTECT, related_name="issuers")
    company_logo = models.ForeignKey(
        Document, models.PROTECT, null=True, blank=True, related_name="+"
    )
    industry_classification_benchmark = models.ForeignKey(
        IndustryClassificationBenchmark,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="issuers",
    )
    industry_code = models.CharField(
        max_length=8,
        null=True,
        editable=False,
        help_text="Code of its subsector, by whose first digits issuers are listed. "
        "Triggers keep it.",
    )
    initial_number_of_shares = models.BigIntegerField(
        null=True, blank=True, help_text="Initial number of shares to be issued."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(
        db_default=Now(),
        editable=False,
        help_text="When the row, or what it shows of its owner, last changed.",
    )
    recorded_in = models.BigIntegerField(
        null=True, editable=False, help_text="The database transaction that created it."
    )

    class Meta:
        constraints = [
            check("issuer_has_a_trading_name", ~Q(trading_name="")),
            check("issuer_slug_is_url_friendly", Q(slug__regex=SLUG)),
            check("issuer_has_a_trading_location", ~Q(trading_location="")),
            # The past stays past: a row that satisfies the rule always will.
            models.CheckConstraint(
                condition=Q(formation_date__isnull=True) | Q(formation_date__lte=Now()),
                name="issuer_was_formed_before_now",
                violation_error_message="The formation date is in the future.",
            ),
            check(
                "issuer_initial_shares_positive_and_exact",
                Q(initial_number_of_shares__isnull=True)
                | Q(
                    initial_number_of_shares__gt=0,
                    initial_number_of_shares__lte=MAX_EXACT_INTEGER,
                ),
            ),
        ]
        indexes = [
            models.Index(
                Collate(Lower("trading_name"), "C"), "id", name="issuer_list_order"
            ),
            models.Index(fields=["updated_at"], name="issuer_updated"),
            models.Index(
                "country",
                Collate(Lower("trading_name"), "C"),
                "id",
                name="issuer_by_country",
            ),
            *(
                models.Index(
                    Left("industry_code", digits),
                    Collate(Lower("trading_name"), "C"),
                    "id",
                    name=f"issuer_by_{level}",
                )
                for level, digits in INDUSTRY_LEVELS.items()
            ),
        ]

    def __str__(self):
        """The name, without characters that would reverse the text beside it."""
        return TURNS_AROUND.sub("", self.trading_name)


class IssuerGrantQuerySet(models.QuerySet["IssuerGrant"]):
    def live(self) -> "IssuerGrantQuerySet":
        return self.filter(ended_at=None)


class IssuerGrant(models.Model):
    """A partner may see an issuer's personal data and private tokens.

    Without an issuer it grants every issuer. A grant ends and may be given again; it is
    never deleted.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(Partner, models.PROTECT, related_name="grants")
    issuer = models.ForeignKey(
        Issuer,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="grants",
        help_text="Empty: every issuer.",
    )
    created_at = models.DateTimeField(
        db_default=Now(), editable=False, help_text="When it was given, or given again."
    )
    ended_at = models.DateTimeField(null=True, editable=False)

    objects = IssuerGrantQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["partner", "issuer"],
                nulls_distinct=False,
                name="one_grant_per_partner_and_issuer",
            ),
        ]

    def __str__(self):
        return f"{self.partner.login} → {self.issuer or 'every issuer'}"
