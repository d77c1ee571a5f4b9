"""Reports of conformance.py: how partners' programs keep the rules of engagement."""

import uuid_utils.compat as uuid
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.keys.models import Partner
from partnerapi.core.constraints import check


class ConformanceReport(models.Model):
    """What a partner's copy of conformance.py reported of one run; never changed."""

    class Part(models.TextChoices):
        BOOKS = "BOOKS", "Order books"
        DROP_COPY = "DROP_COPY", "Drop copy"
        ORDERS = "ORDERS", "Orders and events"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="conformance_reports", db_index=False
    )
    at = models.DateTimeField(db_default=Now())
    part = models.CharField(max_length=20, choices=Part)
    version = models.CharField(
        max_length=60, help_text="Of the rules of engagement that it applied."
    )
    seconds = models.PositiveIntegerField(help_text="How long the run took.")
    passed = models.BooleanField(help_text="Whether each rule was tried and kept.")
    rules = models.JSONField(
        help_text="By rule its verdict, and what was done against it."
    )

    class Meta:
        constraints = [
            check(
                "conformance_report_is_of_a_part",
                Q(part__in=["BOOKS", "DROP_COPY", "ORDERS"]),
            ),
        ]
        indexes = [
            models.Index(fields=["partner", "-id"], name="conformance_of_partner"),
        ]

    def __str__(self) -> str:
        return f"{self.get_part_display()}, {'passed' if self.passed else 'failed'}"
