"""Legacy shareholders: the lines of capitalization tables from before the platform."""

from collections.abc import Iterator

import uuid_utils.compat as uuid
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.access import Caller, Scope
from accounts.people.models import User
from issuers.models.issuers import Issuer
from issuers.models.tokens import Token
from partnerapi.core.constraints import check

MAX_INT = 2**31 - 1


class LegacyImport(models.Model):
    """An imported file of legacy shareholders; an issuer gets the same file once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    issuer = models.ForeignKey(
        Issuer, models.PROTECT, related_name="legacy_imports", db_index=False
    )
    file_name = models.CharField(max_length=255)
    checksum_sha256 = models.CharField(max_length=64)
    imported_by = models.CharField(max_length=254)
    line_count = models.PositiveIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["issuer", "checksum_sha256"],
                name="legacy_file_is_imported_once_per_issuer",
            )
        ]

    def __str__(self):
        return f"{self.file_name} of {self.issuer}"


class LegacyShareholderQuerySet(models.QuerySet):
    def visible_to(self, caller: Caller | None):
        """Lines of issuers for which the caller has a grant; none without the scope."""
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
    token = models.ForeignKey(
        Token,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="legacy_shareholders",
        help_text="The token that the shares become on delivery.",
    )
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    number_of_shares = models.BigIntegerField()
    price_cents = models.BigIntegerField(
        help_text="Price of one share at import time, euro cents."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    reference = models.CharField(
        max_length=100,
        null=True,
        blank=True,
        help_text="The line's name in the issuer's own records.",
    )
    batch = models.ForeignKey(
        LegacyImport, models.PROTECT, null=True, editable=False, related_name="rows"
    )
    batch_row = models.PositiveIntegerField(null=True, editable=False)
    replaces = models.OneToOneField(
        "self",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="replaced_by",
        help_text="The wrong line, delivered and reversed, that this one replaces.",
    )
    makers = ArrayField(
        models.CharField(max_length=254),
        db_default=[],
        editable=False,
        help_text="People who created the line or changed its holder, token or number "
        "of shares, as limits count people. A trigger writes it. Empty: a line from "
        "before.",
    )
    delivered_at = models.DateTimeField(null=True, editable=False)
    delivered_by = models.CharField(max_length=254, null=True, editable=False)
    ledger_seq = models.BigIntegerField(
        null=True,
        editable=False,
        help_text="The entry of the delivery in the token's ledger.",
    )

    objects = LegacyShareholderQuerySet.as_manager()

    class Meta:
        constraints = [
            check(
                "legacy_shareholder_status_is_known",
                Q(status__in=["PENDING", "DELIVERED"]),
            ),
            check(
                "legacy_shares_positive_and_int",
                Q(number_of_shares__gte=1, number_of_shares__lte=MAX_INT),
            ),
            check(
                "legacy_price_not_negative_and_int",
                Q(price_cents__gte=0, price_cents__lte=MAX_INT),
            ),
            check(
                "legacy_shares_delivered_with_when_who_and_entry",
                Q(
                    status="DELIVERED",
                    token__isnull=False,
                    delivered_at__isnull=False,
                    delivered_by__isnull=False,
                    ledger_seq__isnull=False,
                )
                | Q(
                    status="PENDING",
                    delivered_at__isnull=True,
                    delivered_by__isnull=True,
                    ledger_seq__isnull=True,
                ),
            ),
            models.UniqueConstraint(
                fields=["issuer", "reference"],
                name="legacy_reference_unique_per_issuer",
            ),
        ]
        indexes = [
            models.Index(
                fields=["issuer", "status", "created_at", "id"],
                name="legacy_shareholder_by_status",
            ),
            models.Index(
                fields=["issuer", "created_at", "id"],
                name="legacy_shareholder_list_order",
            ),
            models.Index(
                fields=["issuer", "updated_at"], name="legacy_shareholder_updated"
            ),
            # For the list of staff.
            models.Index(fields=["status", "id"], name="legacy_shareholder_of_status"),
        ]

    def __str__(self):
        return f"{self.user}: {self.number_of_shares} shares of {self.issuer}"

    def clean(self):
        if self.token and self.token.issuer_id != self.issuer_id:
            raise ValidationError(
                {"token": f"{self.token} is a token of another issuer."}
            )


class LegacyShareholderChange(models.Model):
    """The content of a line before a later file corrected it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    shareholder = models.ForeignKey(
        LegacyShareholder, models.CASCADE, related_name="changes"
    )
    batch = models.ForeignKey(
        LegacyImport, models.PROTECT, related_name="changes", db_index=False
    )
    before = models.JSONField(help_text="The columns that changed, as they were.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self):
        return f"until {self.created_at}"


class DeliveryJob(models.Model):
    """Lines that staff chose to deliver, frozen in steps, with the progress.

    Each line ends delivered, skipped (already delivered) or refused; its step holds the
    reason.
    """

    class Source(models.TextChoices):
        TREASURY = "TREASURY", "From the treasury"
        MINT = "MINT", "Newly issued"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    source = models.CharField(max_length=8, choices=Source)
    line_count = models.PositiveIntegerField()
    position = models.PositiveIntegerField(default=0)
    delivered = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    created_by = models.CharField(max_length=254)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    released_at = models.DateTimeField(
        null=True,
        help_text="When delivery of its lines may begin; the release requires the "
        "approval.",
    )
    finished_at = models.DateTimeField(null=True)
    handed_over_at = models.DateTimeField(
        null=True, help_text="When its lines were handed to a worker."
    )
    resumed_by = models.CharField(
        max_length=254,
        null=True,
        help_text="The person that last resumed it, in whose name it continues.",
    )
    tried_at = models.DateTimeField(
        null=True, help_text="When a step was last delivered or tried."
    )
    held = models.CharField(
        max_length=500,
        default="",
        db_default="",
        help_text="What another process held when a step was last tried.",
    )

    class Meta:
        constraints = [
            check("delivery_source_is_known", Q(source__in=["TREASURY", "MINT"])),
            check(
                "delivery_counts_every_line_once",
                Q(
                    position=models.F("delivered")
                    + models.F("skipped")
                    + models.F("refused")
                ),
            ),
        ]

    def __str__(self):
        return f"Delivery of {self.line_count} lines by {self.created_by}"

    @property
    def remaining(self) -> int:
        return self.line_count - self.position

    @property
    def is_open(self) -> bool:
        """Whether the job is released, not closed, and has lines to deliver."""
        return (
            self.released_at is not None
            and self.finished_at is None
            and self.remaining > 0
        )

    def refusals(self) -> Iterator[tuple[str, str]]:
        """The refused lines' ids, each with the reason, in the order of the steps."""
        steps = self.steps.exclude(refusals={}).order_by("position")
        for refusals in steps.values_list("refusals", flat=True).iterator(100):
            yield from refusals.items()

    def summary(self) -> str:
        return (
            f"{self.delivered} delivered, {self.skipped} skipped (already delivered), "
            f"{self.refused} refused"
        )


class DeliveryStep(models.Model):
    """Lines that are delivered together; as a row, a step costs only its own lines."""

    job = models.ForeignKey(
        DeliveryJob, models.CASCADE, related_name="steps", db_index=False
    )
    position = models.PositiveIntegerField(
        help_text="Number of lines of the delivery before these."
    )
    shareholder_ids = ArrayField(models.UUIDField())
    # The content of the lines when the delivery began, in order.
    units = ArrayField(models.BigIntegerField(), db_default=[])
    token_ids = ArrayField(models.UUIDField(null=True), db_default=[])
    user_ids = ArrayField(models.UUIDField(null=True), db_default=[])
    refusals = models.JSONField(default=dict, help_text="Reasons, by line id.")
    skipped_ids = ArrayField(
        models.UUIDField(),
        db_default=[],
        help_text="Lines that were delivered before.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["job", "position"], name="delivery_has_one_step_at_a_position"
            )
        ]

    def __str__(self):
        return f"Lines from {self.position} of {self.job}"
