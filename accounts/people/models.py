"""Countries, users, and the profiles under which users hold tokens."""

import re

import pycountry
import uuid_utils.compat as uuid
from django.contrib.auth.models import (
    AbstractBaseUser,
    BaseUserManager,
    PermissionsMixin,
)
from django.contrib.postgres.indexes import OpClass
from django.core.exceptions import ValidationError
from django.db import connections, models, transaction
from django.db.models import Q
from django.db.models.functions import Lower, Upper
from stdnum import lei as stdnum_lei

from partnerapi.core.authors import written_by
from partnerapi.core.constraints import check


class CountryQuerySet(models.QuerySet):
    def load_iso_3166(self):
        """Write pycountry's ISO 3166-1, and XK (Kosovo), which banks use."""
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
            check("country_code_is_two_capitals", Q(code__regex=r"^[A-Z]{2}$")),
            check("country_alpha3_is_three_capitals", Q(alpha3__regex=r"^[A-Z]{3}$")),
        ]

    def __str__(self):
        return self.name


def validate_lei(value: str) -> None:
    """ISO 17442: 18 capitals or digits, then check digits 02 to 98 (ISO 7064)."""
    if not re.fullmatch(r"[A-Z0-9]{18}[0-9]{2}", value):
        raise ValidationError(
            "An LEI has 18 capital letters or digits and 2 check digits."
        )
    if not "02" <= value[18:] <= "98" or not stdnum_lei.is_valid(value):
        raise ValidationError(
            "The check digits of this LEI are wrong; check it against its source."
        )


class LEIIsValid(models.Func):
    """The database's own test of an LEI, made in the first migration."""

    function = "lei_is_valid"
    output_field = models.BooleanField()


class Folded(models.Transform):
    """A text in lower case, without accents, with ss for ß, as in the issuer search.

    Both sides of a comparison are folded. A migration of the issuers creates it.
    """

    lookup_name = "folded"
    function = "search_fold"
    bilateral = True


models.CharField.register_lookup(Folded)


# A person without a password cannot sign in.
APPOINT_FIRST = """
    SELECT accounts_appoint(%s) WHERE 2 > (
        SELECT count(*) FROM approvals_deciders() d
        WHERE d.id <> %s AND d.password NOT LIKE '!%%'
            AND approvals_rests_until(d.id, clock_timestamp()) IS NULL)
"""


class UserManager(BaseUserManager):
    def create_user(self, email, password=None, **fields):
        user = self.model(email=email.lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email, password=None, **fields):
        """Only the owner role can create one. The first two may decide at once."""
        with transaction.atomic(using=self.db):
            user = self.create_user(
                email, password, is_staff=True, is_superuser=True, **fields
            )
            with connections[self.db].cursor() as cursor:
                cursor.execute(APPOINT_FIRST, [user.pk, user.pk])
        return user

    def appoint(self, user):
        """Allow a member of staff to decide at once, despite recent changes of access.

        Only the owner role can; every decider is notified.
        """
        with connections[self.db].cursor() as cursor:
            cursor.execute("SELECT accounts_appoint(%s)", [user.pk])

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
        help_text="Staff sign in with it; imports recognise a holder by it.",
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
            check(
                "user_email_is_lower_case",
                Q(email__isnull=True) | Q(email=Lower("email")),
            ),
            check("user_type_is_known", Q(type__in=["INDIVIDUAL", "COMPANY"])),
            check(
                "user_company_has_a_company_name_only",
                ~Q(type="COMPANY")
                | Q(company_name__isnull=False)
                & ~Q(company_name="")
                & Q(first_name="", last_name=""),
            ),
            check(
                "user_individual_has_a_personal_name_only",
                ~Q(type="INDIVIDUAL")
                | Q(
                    company_name__isnull=True, legal_form__isnull=True, lei__isnull=True
                )
                & ~Q(first_name="", last_name=""),
            ),
            check(
                "user_lei_follows_iso_17442", Q(lei__isnull=True) | Q(LEIIsValid("lei"))
            ),
        ]
        # Staff search these from the beginning, ignoring case and accents. The
        # previous release searches by the upper case.
        indexes = [
            *(
                models.Index(
                    OpClass(function(field), "text_pattern_ops"),
                    name=f"user_{field}_{end}",
                )
                for function, end in ((Upper, "prefix"), (Folded, "folded"))
                for field in ("first_name", "last_name", "company_name")
            ),
            # Of a list of users, filtered: there are few of each.
            *(
                models.Index(fields=["id"], condition=condition, name=f"user_{name}")
                for name, condition in (
                    ("staff", Q(is_staff=True)),
                    ("inactive", Q(is_active=False)),
                    ("company", Q(type="COMPANY")),
                )
            ),
        ]

    def __str__(self):
        """The name, without characters that would reverse the text beside it."""
        name = self.company_name or f"{self.first_name} {self.last_name}".strip()
        return TURNS_AROUND.sub("", name)

    def check_password(self, raw_password):
        # A correct password may be hashed again: that is the user's own change.
        with written_by(self.email or "", "sign-in"):
            return super().check_password(raw_password)


TURNS_AROUND = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Unicode's bidirectional formatting characters, which are invisible."""
WALLET = re.compile(r"0x[0-9a-fA-F]{40}")
"""An EVM address; letters of either case name the same one."""


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
            check("user_holder_has_a_name", ~Q(name="")),
            check(
                "user_holder_wallet_is_an_evm_address",
                Q(wallet_address__isnull=True)
                | Q(wallet_address__regex=r"^0x[0-9a-fA-F]{40}$"),
            ),
        ]

    def __str__(self):
        return self.name


class UserHolderName(models.Model):
    """A name that a holder had, until it was replaced; written by a trigger."""

    id = models.BigAutoField(primary_key=True)
    holder = models.ForeignKey(
        UserHolder, models.PROTECT, related_name="former_names", db_index=False
    )
    name = models.CharField(max_length=200)
    replaced_at = models.DateTimeField(help_text="When the holder's name changed.")

    class Meta:
        indexes = [
            models.Index(
                fields=["holder", "replaced_at", "id"], name="user_holder_name_at"
            )
        ]

    def __str__(self):
        return f"{self.name} until {self.replaced_at}"


class HolderImport(models.Model):
    """A file of holders that was imported; the same file once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    file_name = models.CharField(max_length=255)
    checksum_sha256 = models.CharField(max_length=64, unique=True)
    imported_by = models.CharField(max_length=254)
    line_count = models.PositiveIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=models.functions.Now(), editable=False)

    def __str__(self):
        return self.file_name
