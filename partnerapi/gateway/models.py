"""The answers of mutations, which are repeated where a request is."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.keys.models import Partner
from partnerapi.core.constraints import check
from partnerapi.core.database import delete_in_batches

RETENTION = timedelta(hours=24)
PRUNED_AT_ONCE = 1000
NAME_LENGTH = 200
"""Characters of an operation's name that are stored, for people."""


class IdempotencyRecordQuerySet(models.QuerySet["IdempotencyRecord"]):
    def expired(self, at: datetime) -> "IdempotencyRecordQuerySet":
        return self.filter(expires_at__lte=at)

    def prune(self, advance: Callable[[int], object] = lambda done: None) -> int:
        """Delete the expired records in batches, each committed; return how many.

        A record that another transaction holds, because a request claims its key
        again, stays: no transaction waits. `advance` gets the size of each batch.
        """
        return delete_in_batches(PRUNE, [PRUNED_AT_ONCE], advance)


PRUNE = "SELECT partnerapi_prune_idempotency_records(%s)"


class IdempotencyRecord(models.Model):
    """The Idempotency-Key of a mutation and its answer, stored for 24 hours.

    One transaction writes claim, effect and answer: others see only complete records.
    """

    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="+", db_index=False
    )
    key = models.UUIDField()
    fingerprint = models.BinaryField(max_length=32)
    operation_name = models.CharField(max_length=NAME_LENGTH, null=True)
    # Those of the first key without which the answer would have been another.
    scopes = ArrayField(models.CharField(max_length=50), db_default=[])
    body = models.BinaryField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, db_index=True)

    objects = IdempotencyRecordQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["partner", "key"], name="one_answer_per_partner_and_key"
            ),
            check(
                "idempotency_record_expires_when_it_is_answered",
                Q(body__isnull=True, expires_at__isnull=True)
                | Q(body__isnull=False, expires_at__isnull=False),
            ),
            # An hour more, for the clocks of the processes that write it.
            check(
                "idempotency_record_expires_in_a_day",
                Q(expires_at__isnull=True)
                | Q(expires_at__lte=Now() + timedelta(hours=25)),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key} of {self.partner_id}"
