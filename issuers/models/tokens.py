"""Tokens, and how many units of them there may be."""

import re

import uuid_utils.compat as uuid
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now
from stdnum import isin as stdnum_isin

from accounts.access import Caller
from issuers.models.issuers import Issuer
from partnerapi.core.constraints import check

MAX_UNITS = 2**64 - 1
MAX_VALUE = 2**63 - 1
"""Euro cents: the bound of a token's supply times its price."""


class Units(models.DecimalField):
    """A number of indivisible units, 0 to 2⁶⁴−1, as an int."""

    def __init__(self, **options):
        super().__init__(**options | {"max_digits": 20, "decimal_places": 0})

    def from_db_value(self, value, expression, connection):
        return value if value is None else int(value)


def validate_isin(value: str) -> None:
    """ISO 6166: country prefix, nine characters, a check digit."""
    if not re.fullmatch(r"[A-Z]{2}[A-Z0-9]{9}[0-9]", value):
        raise ValidationError(
            "An ISIN has 2 letters, 9 capital letters or digits and a check digit."
        )
    if not stdnum_isin.is_valid(value):
        raise ValidationError(
            "The check digit or the country prefix of this ISIN is wrong; read it "
            "again at its source."
        )


class ISINIsValid(Func):
    """The database's own test of an ISIN's check digit, made in the first migration."""

    function = "isin_is_valid"
    output_field = models.BooleanField()


class TokenQuerySet(models.QuerySet):
    def visible_to(self, caller: Caller | None):
        """PUBLIC tokens for everyone; PRIVATE ones with a grant for their issuer."""
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

    class ClassType(models.TextChoices):
        COMMON = "COMMON", "Common"
        PREFERRED = "PREFERRED", "Preferred"

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
    authorized_units = Units(
        null=True,
        blank=True,
        help_text="Most units that may exist; empty: unlimited.",
    )
    class_type = models.CharField(
        "type of the share class",
        max_length=9,
        choices=ClassType,
        null=True,
        blank=True,
    )
    votes_per_share = models.PositiveIntegerField(null=True, blank=True)
    seniority = models.DecimalField(
        max_digits=20,
        decimal_places=10,
        null=True,
        blank=True,
        help_text="Rank in a liquidation: higher ranks are paid first.",
    )
    nominal_value = models.DecimalField(
        max_digits=20,
        decimal_places=10,
        null=True,
        blank=True,
        help_text="Nominal value of one share, in whole units of its currency.",
    )
    nominal_currency = models.CharField(
        max_length=3,
        null=True,
        blank=True,
        help_text="Currency of the nominal value (ISO 4217), such as EUR.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = TokenQuerySet.as_manager()

    class Meta:
        constraints = [
            check("token_has_a_name", ~Q(name="")),
            check(
                "token_symbol_is_upper_case", Q(symbol__regex=r"^[A-Z0-9][A-Z0-9.-]*$")
            ),
            check(
                "token_isin_follows_iso_6166",
                Q(isin__isnull=True) | Q(ISINIsValid("isin")),
            ),
            check(
                "token_market_type_is_known",
                Q(market_type__in=["PRIMARY_MARKET", "SECONDARY_MARKET"]),
            ),
            check("token_visibility_is_known", Q(visibility__in=["PUBLIC", "PRIVATE"])),
            check(
                "token_contract_address_has_a_network",
                Q(contract_address__isnull=True, network__isnull=True)
                | Q(
                    contract_address__regex=r"^0x[0-9a-fA-F]{40}$",
                    network__isnull=False,
                ),
            ),
            check(
                "token_authorized_units_are_uint64",
                Q(authorized_units__isnull=True)
                | Q(authorized_units__gte=0, authorized_units__lte=MAX_UNITS),
            ),
        ]
        indexes = [
            models.Index(fields=["issuer", "created_at", "id"], name="token_list_order")
        ]

    def __str__(self):
        return self.symbol

    @property
    def is_traded(self) -> bool:
        """Whether it has an order book, so that programs use its symbol and ISIN."""
        return self.market_type == Token.MarketType.SECONDARY_MARKET
