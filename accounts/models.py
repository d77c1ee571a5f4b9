import hashlib
import hmac
import re
import secrets
import string
import zlib
from collections.abc import Iterable
from datetime import datetime, timedelta

import pycountry
import uuid_utils.compat as uuid
from django.conf import settings
from django.contrib.auth.models import (
    AbstractBaseUser,
    BaseUserManager,
    PermissionsMixin,
)
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import OpClass
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Upper
from stdnum import lei as stdnum_lei

from accounts.callers import Scope, Unauthenticated


class CountryQuerySet(models.QuerySet):
    def load_iso_3166(self):
        """Write ISO 3166-1 as pycountry knows it, and XK (Kosovo), which banks use."""
        kosovo = Country(code="XK", alpha3="XKX", name="Kosovo")
        countries = [
            Country(
                code=country.alpha_2,
                alpha3=country.alpha_3,
                name=getattr(country, "common_name", country.name),
            )
            for country in pycountry.countries
        ]
        return self.bulk_create(
            [*countries, kosovo],
            update_conflicts=True,
            unique_fields=["code"],
            update_fields=["alpha3", "name"],
        )


class Country(models.Model):
    code = models.CharField(
        max_length=2,
        primary_key=True,
        help_text="ISO 3166-1 alpha-2 code, such as FR; XK for Kosovo.",
    )
    alpha3 = models.CharField(
        max_length=3, unique=True, help_text="ISO 3166-1 alpha-3 code, such as FRA."
    )
    name = models.CharField(max_length=100, help_text="Short English name.")

    objects = CountryQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "countries"
        constraints = [
            models.CheckConstraint(
                condition=Q(code__regex=r"^[A-Z]{2}$"),
                name="country_code_is_two_capitals",
            ),
            models.CheckConstraint(
                condition=Q(alpha3__regex=r"^[A-Z]{3}$"),
                name="country_alpha3_is_three_capitals",
            ),
        ]

    def __str__(self):
        return self.name


def validate_lei(value: str) -> None:
    """ISO 17442: 18 capitals or digits, then check digits 02 to 98 (ISO 7064, MOD 97-10)."""
    if not re.fullmatch(r"[A-Z0-9]{18}[0-9]{2}", value):
        raise ValidationError(
            "An LEI has 18 capital letters or digits and 2 check digits."
        )
    if not "02" <= value[18:] <= "98" or not stdnum_lei.is_valid(value):
        raise ValidationError(
            "The check digits of this LEI are wrong; read it again at its source."
        )


class LEIIsValid(models.Func):
    """The database's own test of an LEI, made in the first migration."""

    function = "lei_is_valid"
    output_field = models.BooleanField()


class UserManager(BaseUserManager):
    def create_user(self, email, password=None, **fields):
        user = self.model(email=email.lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email, password=None, **fields):
        return self.create_user(
            email, password, is_staff=True, is_superuser=True, **fields
        )

    def get_by_natural_key(self, email):
        return self.get(email=email.lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person or a company: holder, owner of an issuer, or member of staff."""

    class Type(models.TextChoices):
        INDIVIDUAL = "INDIVIDUAL"
        COMPANY = "COMPANY"

    class LegalForm(models.TextChoices):
        SA = "SA", "SA"
        SAS = "SAS", "SAS"
        SASU = "SASU", "SASU"
        SARL = "SARL", "SARL"
        EURL = "EURL", "EURL"
        SCA = "SCA", "SCA"
        SNC = "SNC", "SNC"
        SE = "SE", "SE"
        AG = "AG", "AG"
        GMBH = "GMBH", "GmbH"
        KGAA = "KGAA", "KGaA"
        NV = "NV", "NV"
        BV = "BV", "BV"
        SPA = "SPA", "SpA"
        SRL = "SRL", "Srl"
        SL = "SL", "SL"
        PLC = "PLC", "plc"
        LTD = "LTD", "Ltd"
        LLC = "LLC", "LLC"
        INC = "INC", "Inc."
        COOPERATIVE = "COOPERATIVE", "Cooperative"
        ASSOCIATION = "ASSOCIATION", "Association"
        OTHER = "OTHER", "Other"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    type = models.CharField(max_length=10, choices=Type)
    email = models.EmailField(
        null=True,
        blank=True,
        unique=True,
        help_text="Signs staff in; how imports recognise a holder.",
    )
    first_name = models.CharField(max_length=100, blank=True)
    last_name = models.CharField(max_length=100, blank=True)
    company_name = models.CharField(max_length=200, null=True, blank=True)
    legal_form = models.CharField(
        max_length=12, choices=LegalForm, null=True, blank=True
    )
    lei = models.CharField(
        "LEI",
        max_length=20,
        null=True,
        blank=True,
        unique=True,
        validators=[validate_lei],
    )
    country = models.ForeignKey(
        Country, models.PROTECT, null=True, blank=True, related_name="+"
    )
    address = models.CharField(
        max_length=200, blank=True, help_text="Street and number."
    )
    postal_code = models.CharField(max_length=20, blank=True)
    city = models.CharField(max_length=100, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=models.functions.Now(), editable=False)

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = ["type", "first_name", "last_name"]

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(email__isnull=True) | Q(email=Lower("email")),
                name="user_email_is_lower_case",
            ),
            models.CheckConstraint(
                condition=Q(type__in=["INDIVIDUAL", "COMPANY"]),
                name="user_type_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(type="COMPANY")
                | Q(company_name__isnull=False)
                & ~Q(company_name="")
                & Q(first_name="", last_name=""),
                name="user_company_has_a_company_name_only",
            ),
            models.CheckConstraint(
                condition=~Q(type="INDIVIDUAL")
                | Q(
                    company_name__isnull=True, legal_form__isnull=True, lei__isnull=True
                )
                & ~Q(first_name="", last_name=""),
                name="user_individual_has_a_personal_name_only",
            ),
            models.CheckConstraint(
                condition=Q(lei__isnull=True) | Q(LEIIsValid("lei")),
                name="user_lei_follows_iso_17442",
            ),
        ]
        # Staff search these by how they begin, in any case.
        indexes = [
            models.Index(
                OpClass(Upper(field), "text_pattern_ops"), name=f"user_{field}_prefix"
            )
            for field in ("first_name", "last_name", "company_name")
        ]

    def __str__(self):
        return self.company_name or f"{self.first_name} {self.last_name}".strip()


class UserHolder(models.Model):
    """The profile under which a user holds tokens; one per user."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    user = models.OneToOneField(User, models.PROTECT, related_name="holder")
    name = models.CharField(max_length=200, help_text="Name in the register.")
    wallet_address = models.CharField(
        max_length=42,
        null=True,
        blank=True,
        unique=True,
        help_text="EVM address that receives the holder's tokens.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(name=""), name="user_holder_has_a_name"
            ),
            models.CheckConstraint(
                condition=Q(wallet_address__isnull=True)
                | Q(wallet_address__regex=r"^0x[0-9a-fA-F]{40}$"),
                name="user_holder_wallet_is_an_evm_address",
            ),
        ]

    def __str__(self):
        return self.name


class Partner(models.Model):
    """An integration account: whom API keys, grants and budgets belong to."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    login = models.CharField(
        max_length=50,
        unique=True,
        validators=[RegexValidator(r"^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$")],
        help_text="The <login> in service-apikey_<login>_<secret>; may hold underscores.",
    )
    name = models.CharField(max_length=200)
    budget_points = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Points the budget holds; empty: PARTNER_API_BUDGET_POINTS.",
    )
    budget_refill = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Points regained per second; empty: PARTNER_API_BUDGET_REFILL.",
    )
    is_active = models.BooleanField(
        default=True, help_text="Off: every key is refused."
    )
    created_at = models.DateTimeField(db_default=models.functions.Now(), editable=False)

    class Meta:
        ordering = ["login"]
        constraints = [
            models.CheckConstraint(
                condition=Q(login__regex=r"^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$"),
                name="partner_login_fits_in_a_key",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="partner_has_a_name"),
            models.CheckConstraint(
                condition=Q(budget_points__isnull=True) | Q(budget_points__gt=0),
                name="partner_budget_points_positive",
            ),
            models.CheckConstraint(
                condition=Q(budget_refill__isnull=True) | Q(budget_refill__gt=0),
                name="partner_budget_refill_positive",
            ),
        ]

    def __str__(self):
        return f"{self.name} ({self.login})"


BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_LENGTH, CHECKSUM_LENGTH = 43, 6
REFUSED_KEY = (
    "This API key is refused: it is malformed, unknown, revoked or expired. "
    "Send a live key in the X-Token-Auth header, or none."
)
TOKEN = re.compile(
    r"service-apikey_([A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)_([0-9A-Za-z]{49})"
)


def checksum(random_part: str) -> str:
    """CRC32 in six base62 characters: refuses a typo before the database is asked."""
    rest, digits = zlib.crc32(random_part.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        rest, digit = divmod(rest, 62)
        digits = BASE62[digit] + digits
    return digits


def new_secret() -> str:
    random_part = "".join(secrets.choice(BASE62) for _ in range(RANDOM_LENGTH))
    return random_part + checksum(random_part)


def secret_digest(secret: str) -> bytes:
    return hmac.digest(
        settings.PARTNER_API_KEY_PEPPER.encode(), secret.encode(), hashlib.sha256
    )


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def live(self, at: datetime):
        return self.filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=at),
            revoked_at__isnull=True,
            partner__is_active=True,
        )

    def issue(
        self,
        partner: Partner,
        scopes: Iterable[str],
        expires_at: datetime | None = None,
    ) -> tuple["ApiKey", str]:
        """Make a key; return it with its token, which is stored nowhere and shown once."""
        secret = new_secret()
        key = self.create(
            partner=partner,
            secret_digest=secret_digest(secret),
            last_four=secret[-4:],
            scopes=sorted(scopes),
            expires_at=expires_at,
        )
        return key, f"service-apikey_{partner.login}_{secret}"

    def authenticate(self, token: str, at: datetime) -> "ApiKey":
        """The live key behind a token, its partner loaded and its use noted.

        The token is split at its last underscore. An unknown login and a wrong
        secret take the same one statement, so neither can be told by time.

        Raises:
            Unauthenticated: malformed, unknown, wrong, revoked or expired; one text.
        """
        match = TOKEN.fullmatch(token)
        if match is None:
            raise Unauthenticated(REFUSED_KEY)
        login, secret = match.groups()
        if checksum(secret[:RANDOM_LENGTH]) != secret[RANDOM_LENGTH:]:
            raise Unauthenticated(REFUSED_KEY)
        key = (
            self.live(at)
            .select_related("partner")
            .filter(secret_digest=secret_digest(secret), partner__login=login)
            .first()
        )
        if key is None:
            raise Unauthenticated(REFUSED_KEY)
        self.filter(
            Q(last_used_at__isnull=True)
            | Q(last_used_at__lt=at - timedelta(minutes=1)),
            pk=key.pk,
        ).update(last_used_at=at)
        return key


class ApiKey(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(Partner, models.PROTECT, related_name="api_keys")
    secret_digest = models.BinaryField(max_length=32, unique=True, editable=False)
    last_four = models.CharField(max_length=4, editable=False)
    scopes = ArrayField(models.CharField(max_length=20, choices=Scope))
    created_at = models.DateTimeField(db_default=models.functions.Now(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "API key"
        constraints = [
            models.CheckConstraint(
                condition=Q(scopes__contained_by=Scope.values),
                name="api_key_scopes_are_known",
            ),
            models.CheckConstraint(
                condition=Q(expires_at__isnull=True)
                | Q(expires_at__gt=F("created_at")),
                name="api_key_expires_after_creation",
            ),
        ]

    def __str__(self):
        return f"{self.partner.login} …{self.last_four}"

    def revoke(self, at: datetime) -> bool:
        """Refuse the key from now on, in every process within a second; False if it was already."""
        return bool(
            ApiKey.objects.filter(pk=self.pk, revoked_at__isnull=True).update(
                revoked_at=at
            )
        )
