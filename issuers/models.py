import hashlib
import re

import uuid_utils.compat as uuid
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Exists, F, Func, OuterRef, Q, Value
from django.db.models.functions import Collate, Length, Lower, Now
from stdnum import isin as stdnum_isin

from accounts.callers import Caller, Scope
from accounts.models import Country, Partner, User, UserHolder

SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
MAX_EXACT_INTEGER = 2**53 - 1
MAX_INT = 2**31 - 1


def validate_isin(value: str) -> None:
    """ISO 6166: country prefix, nine characters, a check digit."""
    if not re.fullmatch(r"[A-Z]{2}[A-Z0-9]{9}[0-9]", value):
        raise ValidationError(
            "An ISIN has 2 letters, 9 capital letters or digits and a check digit."
        )
    if not stdnum_isin.is_valid(value):
        raise ValidationError(
            "The check digit or the country prefix of this ISIN is wrong; read it again at its source."
        )


class ISINIsValid(Func):
    """The database's own test of an ISIN's check digit, made in the first migration."""

    function = "isin_is_valid"
    output_field = models.BooleanField()


class IndustryClassificationBenchmark(models.Model):
    """A subsector of the four-level taxonomy, with the levels above it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    industry_code = models.CharField(max_length=2)
    industry = models.CharField(max_length=100, help_text="Top-level industry name.")
    supersector_code = models.CharField(max_length=4)
    supersector = models.CharField(max_length=100, help_text="Second level.")
    sector_code = models.CharField(max_length=6)
    sector = models.CharField(max_length=100, help_text="Third level.")
    subsector_code = models.CharField(
        max_length=8,
        unique=True,
        help_text="Numeric code of the subsector, eight digits carried as a string.",
    )
    subsector = models.CharField(max_length=100, help_text="Fourth level.")
    description = models.TextField(help_text="What the subsector covers.")

    class Meta:
        ordering = ["subsector_code"]
        verbose_name = "industry classification (ICB)"
        verbose_name_plural = "industry classification (ICB)"
        constraints = [
            models.CheckConstraint(
                condition=Q(subsector_code__regex=r"^[0-9]{8}$"),
                name="icb_subsector_code_has_eight_digits",
            ),
            models.CheckConstraint(
                condition=Q(sector_code=models.functions.Left("subsector_code", 6))
                & Q(supersector_code=models.functions.Left("subsector_code", 4))
                & Q(industry_code=models.functions.Left("subsector_code", 2)),
                name="icb_codes_are_prefixes_of_the_subsector",
            ),
        ]

    def __str__(self):
        return f"{self.subsector_code} {self.subsector}"


def sniff_content_type(content: bytes) -> str | None:
    """The media type that the bytes themselves show; None for what is not stored here."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content.startswith(b"%PDF-"):
        return "application/pdf"
    return None


class DocumentQuerySet(models.QuerySet):
    def public(self):
        """What anybody may fetch: logos, and covers of published articles."""
        return self.filter(
            Exists(Issuer.objects.filter(company_logo=OuterRef("pk")))
            | Exists(Article.objects.published().filter(cover_image=OuterRef("pk")))
        )

    def unsaved(self, name: str, content: bytes) -> "Document":
        """A file under the type that its bytes show, not stored yet.

        Raises:
            ValidationError: not a PNG, JPEG, WebP or PDF, or over the size limit.
        """
        content_type = sniff_content_type(content)
        if content_type is None:
            raise ValidationError(
                f"{name} is not a PNG, JPEG, WebP or PDF file; convert it and try again."
            )
        if len(content) > Document.MAX_BYTES:
            raise ValidationError(
                f"{name} has {len(content)} bytes; at most {Document.MAX_BYTES} are stored."
            )
        return Document(
            name=name,
            content_type=content_type,
            content=content,
            size_bytes=len(content),
            checksum_sha256=hashlib.sha256(content).hexdigest(),
        )

    def store(self, name: str, content: bytes) -> "Document":
        """Keep a file; `unsaved` says what is refused."""
        document = self.unsaved(name, content)
        document.save(using=self.db, force_insert=True)
        return document


class Document(models.Model):
    """A file kept with its bytes; served at /documents/<uuid>/<name>, never changed."""

    MAX_BYTES = 5 * 1024 * 1024
    CONTENT_TYPES = ("image/png", "image/jpeg", "image/webp", "application/pdf")

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    name = models.CharField(
        max_length=100,
        validators=[RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")],
        help_text="File name.",
    )
    content_type = models.CharField(
        max_length=50, help_text="Media type, checked against the bytes when stored."
    )
    content = models.BinaryField()
    size_bytes = models.PositiveBigIntegerField()
    checksum_sha256 = models.CharField(
        max_length=64, help_text="SHA-256 of the bytes, lower-case hexadecimal."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(name__regex=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"),
                name="document_name_is_safe_in_an_address",
            ),
            models.CheckConstraint(
                condition=Q(
                    content_type__in=[
                        "image/png",
                        "image/jpeg",
                        "image/webp",
                        "application/pdf",
                    ]
                ),
                name="document_type_is_served",
            ),
            models.CheckConstraint(
                condition=Q(
                    size_bytes=Length("content"), size_bytes__lte=5 * 1024 * 1024
                ),
                name="document_size_is_its_bytes",
            ),
            models.CheckConstraint(
                condition=Q(
                    checksum_sha256=Func(
                        Func(
                            F("content"),
                            function="sha256",
                            output_field=models.BinaryField(),
                        ),
                        Value("hex"),
                        function="encode",
                        output_field=models.CharField(),
                    )
                ),
                name="document_checksum_is_its_bytes",
            ),
        ]

    def __str__(self):
        return self.name


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
    initial_number_of_shares = models.BigIntegerField(
        null=True, blank=True, help_text="Initial number of shares to be issued."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(trading_name=""), name="issuer_has_a_trading_name"
            ),
            models.CheckConstraint(
                condition=Q(slug__regex=SLUG), name="issuer_slug_is_url_friendly"
            ),
            models.CheckConstraint(
                condition=~Q(trading_location=""), name="issuer_has_a_trading_location"
            ),
            models.CheckConstraint(
                condition=Q(initial_number_of_shares__isnull=True)
                | Q(
                    initial_number_of_shares__gt=0,
                    initial_number_of_shares__lte=MAX_EXACT_INTEGER,
                ),
                name="issuer_initial_shares_positive_and_exact",
            ),
        ]
        indexes = [
            models.Index(
                Collate(Lower("trading_name"), "C"), "id", name="issuer_list_order"
            )
        ]

    def __str__(self):
        return self.trading_name


class IssuerGrant(models.Model):
    """A partner may see an issuer's personal data and private tokens; without issuer: every issuer's."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(Partner, models.CASCADE, related_name="grants")
    issuer = models.ForeignKey(
        Issuer,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="grants",
        help_text="Empty: every issuer.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

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
            # Also the list's order, read backwards: year, then YEAR before FIRST_SEMESTER.
            models.UniqueConstraint(
                fields=["issuer", "year", "period_type"],
                name="one_figure_set_per_issuer_and_period",
            ),
            models.CheckConstraint(
                condition=Q(period_type__in=["FIRST_SEMESTER", "YEAR"]),
                name="financial_data_period_type_is_known",
            ),
            models.CheckConstraint(
                condition=Q(year__gte=1900, year__lte=2200),
                name="financial_data_year_is_a_year",
            ),
            *(
                models.CheckConstraint(
                    condition=Q(**{f"{field}__isnull": True})
                    | Q(
                        **{
                            f"{field}__gte": -MAX_EXACT_INTEGER,
                            f"{field}__lte": MAX_EXACT_INTEGER,
                        }
                    ),
                    name=f"financial_data_{field}_is_exact_in_json",
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


class LegacyShareholderQuerySet(models.QuerySet):
    def visible_to(self, caller: Caller | None):
        """With the scope: the rows of issuers that the caller has a grant for."""
        if caller is None or Scope.SHAREHOLDERS_READ not in caller.scopes:
            return self.none()
        if caller.granted_issuers is None:
            return self
        return self.filter(issuer_id__in=caller.granted_issuers)


class LegacyShareholder(models.Model):
    """A line of a capitalization table from before the platform."""

    class Status(models.TextChoices):
        PENDING = "PENDING", "Pending"
        DELIVERED = "DELIVERED", "Delivered"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    issuer = models.ForeignKey(
        Issuer, models.PROTECT, related_name="legacy_shareholders", db_index=False
    )
    user = models.ForeignKey(User, models.PROTECT, related_name="legacy_shareholdings")
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    number_of_shares = models.BigIntegerField()
    price_cents = models.BigIntegerField(
        help_text="Price of one share at import time, euro cents."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = LegacyShareholderQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["PENDING", "DELIVERED"]),
                name="legacy_shareholder_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(number_of_shares__gte=1, number_of_shares__lte=MAX_INT),
                name="legacy_shares_positive_and_int",
            ),
            models.CheckConstraint(
                condition=Q(price_cents__gte=0, price_cents__lte=MAX_INT),
                name="legacy_price_not_negative_and_int",
            ),
        ]
        indexes = [
            models.Index(
                fields=["issuer", "created_at", "id"],
                name="legacy_shareholder_list_order",
            )
        ]

    def __str__(self):
        return f"{self.user}: {self.number_of_shares} shares of {self.issuer}"


class TokenQuerySet(models.QuerySet):
    def visible_to(self, caller: Caller | None):
        """PUBLIC tokens for everybody; PRIVATE ones with a grant for their issuer."""
        if caller is not None and caller.granted_issuers is None:
            return self
        public = Q(visibility=Token.Visibility.PUBLIC)
        if caller is None or not caller.granted_issuers:
            return self.filter(public)
        return self.filter(public | Q(issuer_id__in=caller.granted_issuers))


class Token(models.Model):
    """A tokenised share class of an issuer."""

    class MarketType(models.TextChoices):
        PRIMARY_MARKET = "PRIMARY_MARKET", "Primary market"
        SECONDARY_MARKET = "SECONDARY_MARKET", "Secondary market"

    class Visibility(models.TextChoices):
        PUBLIC = "PUBLIC", "Public"
        PRIVATE = "PRIVATE", "Private"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    issuer = models.ForeignKey(
        Issuer, models.PROTECT, related_name="tokens", db_index=False
    )
    name = models.CharField(max_length=200, help_text="Name of the share class.")
    symbol = models.CharField(
        max_length=20,
        unique=True,
        help_text="Unique upper-case symbol, as on the FIX feed.",
    )
    isin = models.CharField(
        "ISIN",
        max_length=12,
        null=True,
        blank=True,
        unique=True,
        validators=[validate_isin],
        help_text="ISIN (ISO 6166).",
    )
    market_type = models.CharField(
        max_length=16, choices=MarketType, default=MarketType.PRIMARY_MARKET
    )
    visibility = models.CharField(
        max_length=7, choices=Visibility, default=Visibility.PUBLIC
    )
    contract_address = models.CharField(
        max_length=42,
        null=True,
        blank=True,
        help_text="Address of the token's contract.",
    )
    network = models.CharField(
        max_length=50,
        null=True,
        blank=True,
        help_text="Network that the contract is deployed on.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = TokenQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="token_has_a_name"),
            models.CheckConstraint(
                condition=Q(symbol__regex=r"^[A-Z0-9][A-Z0-9.-]*$"),
                name="token_symbol_is_upper_case",
            ),
            models.CheckConstraint(
                condition=Q(isin__isnull=True) | Q(ISINIsValid("isin")),
                name="token_isin_follows_iso_6166",
            ),
            models.CheckConstraint(
                condition=Q(market_type__in=["PRIMARY_MARKET", "SECONDARY_MARKET"]),
                name="token_market_type_is_known",
            ),
            models.CheckConstraint(
                condition=Q(visibility__in=["PUBLIC", "PRIVATE"]),
                name="token_visibility_is_known",
            ),
            models.CheckConstraint(
                condition=Q(contract_address__isnull=True, network__isnull=True)
                | Q(
                    contract_address__regex=r"^0x[0-9a-fA-F]{40}$",
                    network__isnull=False,
                ),
                name="token_contract_address_has_a_network",
            ),
        ]
        indexes = [
            models.Index(fields=["issuer", "created_at", "id"], name="token_list_order")
        ]

    def __str__(self):
        return self.symbol


class ArticleQuerySet(models.QuerySet):
    def published(self):
        """Everything but drafts."""
        return self.filter(published_at__isnull=False)


class Article(models.Model):
    """News from an issuer; a draft until it has a time of publication."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    issuer = models.ForeignKey(
        Issuer, models.CASCADE, related_name="articles", db_index=False
    )
    title = models.CharField(max_length=200, help_text="Headline.")
    slug = models.SlugField(
        max_length=100,
        validators=[RegexValidator(SLUG)],
        help_text="URL-friendly identifier, unique within the issuer.",
    )
    summary = models.TextField(null=True, blank=True, help_text="One or two sentences.")
    body = models.TextField(help_text="Full text, Markdown.")
    url = models.URLField(
        null=True,
        blank=True,
        help_text="Where the article is published, when elsewhere.",
    )
    published_at = models.DateTimeField(
        null=True, blank=True, help_text="Empty: a draft, which partners never see."
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
            models.CheckConstraint(condition=~Q(title=""), name="article_has_a_title"),
            models.CheckConstraint(
                condition=Q(slug__regex=SLUG), name="article_slug_is_url_friendly"
            ),
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


def users_visible_to(caller: Caller | None) -> models.QuerySet[User]:
    """Users whom some field shows the caller: owners, and shareholders granted."""
    if caller is None:
        return User.objects.none()
    shareholdings = LegacyShareholder.objects.visible_to(caller)
    reached = Q(Exists(shareholdings.filter(user=OuterRef("pk"))))
    if Scope.ISSUERS_READ in caller.scopes:
        reached |= Q(Exists(Issuer.objects.filter(owner=OuterRef("pk"))))
    return User.objects.filter(reached)


def holders_visible_to(caller: Caller | None) -> models.QuerySet[UserHolder]:
    """The holder profiles of the users whom the caller may see."""
    return UserHolder.objects.filter(user__in=users_visible_to(caller))
