"""Integration accounts and their API keys."""

import re
import secrets
import string
import zlib
from collections.abc import Iterable
from datetime import datetime

import uuid_utils.compat as uuid
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q

from accounts.access import Unauthenticated
from accounts.keys import peppers
from accounts.keys.uses import uses
from partnerapi.core.constraints import check
from partnerapi.core.database import execute, rows_of


class Partner(models.Model):
    """An integration account, which has API keys, grants and a budget."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    login = models.CharField(
        max_length=50,
        unique=True,
        validators=[RegexValidator(r"^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$")],
        help_text="The <login> in service-apikey_<login>_<secret>; may hold "
        "underscores.",
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
    orders_per_second = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Orders that it may place in a second; empty: any number.",
    )
    open_value_limit = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="Value of its open orders, euro cents; empty: any value.",
    )
    is_active = models.BooleanField(
        default=True, help_text="Off: every key is refused."
    )
    may_attest = models.BooleanField(
        db_default=False,
        help_text="On: what it attests about investors takes effect at once.",
    )
    created_at = models.DateTimeField(db_default=models.functions.Now(), editable=False)

    class Meta:
        ordering = ["login"]
        constraints = [
            check(
                "partner_login_fits_in_a_key",
                Q(login__regex=r"^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$"),
            ),
            check("partner_has_a_name", ~Q(name="")),
            check(
                "partner_budget_points_positive",
                Q(budget_points__isnull=True) | Q(budget_points__gt=0),
            ),
            check(
                "partner_budget_refill_positive",
                Q(budget_refill__isnull=True) | Q(budget_refill__gt=0),
            ),
            check(
                "partner_limits_of_orders_positive",
                (Q(orders_per_second__isnull=True) | Q(orders_per_second__gt=0))
                & (Q(open_value_limit__isnull=True) | Q(open_value_limit__gt=0)),
            ),
        ]

    def __str__(self):
        return f"{self.name} ({self.login})"


REFUSED_KEY = (
    "This API key is malformed, unknown, revoked or expired. Send an active key "
    "in the X-Token-Auth header, or none."
)


BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


RANDOM_LENGTH, CHECKSUM_LENGTH = 43, 6


TOKEN = re.compile(
    r"service-apikey_([A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)_([0-9A-Za-z]{49})"
)


def checksum(random_part: str) -> str:
    """CRC32 in six base62 characters: it refuses a typo without the database."""
    rest, digits = zlib.crc32(random_part.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        rest, digit = divmod(rest, 62)
        digits = BASE62[digit] + digits
    return digits


def new_secret() -> str:
    random_part = "".join(secrets.choice(BASE62) for _ in range(RANDOM_LENGTH))
    return random_part + checksum(random_part)


class Pepper(models.Model):
    """A pepper of PARTNER_API_KEY_PEPPER; the database holds only a digest of it.

    The table is append-only: a process whose settings have no known pepper does not
    start.
    """

    digest = models.BinaryField(max_length=32, unique=True)
    is_bound = models.BooleanField(
        db_default=False, help_text="Used for digests of a login and a secret."
    )
    first_used_at = models.DateTimeField(db_default=models.functions.Now())

    def __str__(self):
        return f"{self.pk}, since {self.first_used_at}"


class KeyScope(models.Model):
    """A scope that keys may have. `migrate` makes the rows those of `Scope`.

    A key with any other scope is refused.
    """

    name = models.CharField(max_length=20, primary_key=True)

    def __str__(self):
        return self.name


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
        """Create a key; return it with its token, which is not stored."""
        key, token = self.prepare(partner, scopes, expires_at)
        execute(
            ISSUE,
            [
                key.pk,
                partner.pk,
                key.secret_digest,
                key.pepper_id,
                key.last_four,
                key.scopes,
                expires_at,
            ],
        )
        key.refresh_from_db()
        return key, token

    def prepare(
        self, partner: Partner, scopes: Iterable[str], expires_at: datetime | None
    ) -> tuple["ApiKey", str]:
        """A key that is not written yet, with its token."""
        secret = new_secret()
        position, pepper = peppers.current()
        if pepper is None:
            peppers.check_peppers()
            position, pepper = peppers.current()
        key = self.model(
            partner=partner,
            secret_digest=peppers.digests(partner.login, secret)[position].digest,
            pepper_id=pepper,
            last_four=secret[-4:],
            scopes=sorted(scopes),
            expires_at=expires_at,
        )
        return key, f"service-apikey_{partner.login}_{secret}"

    def authenticate(self, token: str, at: datetime) -> "ApiKey":
        """Return a token's active key, with its partner; note the time of its use.

        The last underscore ends the login. An unknown login and a wrong secret take the
        same single statement, so the response time does not distinguish them.

        Raises:
            Unauthenticated: malformed, unknown, wrong, revoked or expired; one text.
        """
        match = TOKEN.fullmatch(token)
        if match is None:
            raise Unauthenticated(REFUSED_KEY)
        login, secret = match.groups()
        if checksum(secret[:RANDOM_LENGTH]) != secret[RANDOM_LENGTH:]:
            raise Unauthenticated(REFUSED_KEY)
        digests = peppers.digests(login, secret)
        stored = [each.digest for each in digests]
        key = (
            self.live(at)
            .select_related("partner", "pepper")
            .filter(secret_digest__in=stored, partner__login=login)
            .first()
        )
        if key is None:
            raise Unauthenticated(REFUSED_KEY)
        position = stored.index(bytes(key.secret_digest))
        if not peppers.is_of(key.pepper and bytes(key.pepper.digest), position):
            raise Unauthenticated(REFUSED_KEY)
        uses.note(key.pk, at)
        if position > 0:
            uses.note_digests(key.pk, digests[position].opening, digests)
        return key


class ApiKey(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(Partner, models.PROTECT, related_name="api_keys")
    secret_digest = models.BinaryField(max_length=32, unique=True, editable=False)
    pepper = models.ForeignKey(
        Pepper,
        models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        help_text="The pepper of the digest; null: issued before it was recorded.",
    )
    last_four = models.CharField(max_length=4, editable=False)
    scopes = ArrayField(models.CharField(max_length=20))
    created_at = models.DateTimeField(db_default=models.functions.Now(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "API key"
        constraints = [
            check(
                "api_key_expires_after_creation",
                Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")),
            ),
        ]

    def __str__(self):
        return f"{self.partner.login} …{self.last_four}"

    def revoke(self, at: datetime) -> bool:
        """Refuse the key everywhere within a second; False if it was revoked before."""
        return self.narrow(revoked_at=at)

    def end_at(self, at: datetime) -> bool:
        """End the key at that time; False if it ends earlier anyway."""
        return self.narrow(expires_at=at)

    def narrow(
        self,
        scopes: Iterable[str] | None = None,
        expires_at: datetime | None = None,
        revoked_at: datetime | None = None,
    ) -> bool:
        """Make the key's scopes fewer, its end earlier, or revoke it; False if it was
        as narrow before.

        Raises:
            IntegrityError: it does not have one of these scopes.
        """
        kept = None if scopes is None else sorted(scopes)
        [(is_changed,)] = rows_of(NARROW, [self.pk, kept, expires_at, revoked_at])
        return bool(is_changed)


ISSUE = "SELECT keys_issue(%s, %s, %s, %s, %s, %s, %s)"
NARROW = "SELECT keys_narrow(%s, %s::text[], %s::timestamptz, %s::timestamptz)"
