"""What the gateway keeps: the answers of mutations, for their repetitions."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import connection, models
from django.db.models import Q

from accounts.models import Partner

RETENTION = timedelta(hours=24)
PRUNED_AT_ONCE = 1000
NAME_LENGTH = 200
"""How much of an operation's name is kept, for people; a name has no limit."""


class IdempotencyRecordQuerySet(models.QuerySet["IdempotencyRecord"]):
    def expired(self, at: datetime) -> "IdempotencyRecordQuerySet":
        return self.filter(expires_at__lte=at)

    def prune(self, advance: Callable[[int], object] = lambda done: None) -> int:
        """Delete the expired records in batches, each committed; return how many.

        A key that is being claimed anew stays, and nobody waits for anybody.
        `advance` is told the size of each batch.
        """
        deleted = 0
        while True:
            with connection.cursor() as cursor:
                cursor.execute(PRUNE, [PRUNED_AT_ONCE])
                [(batch,)] = cursor.fetchall()
            if not batch:
                return deleted
            deleted += batch
            advance(batch)


PRUNE = "SELECT partnerapi_prune_idempotency_records(%s)"


class IdempotencyRecord(models.Model):
    """A mutation's key with the answer that was given, kept for 24 hours.

    Claim, effect and answer are written in one transaction: a record that anybody
    else sees is complete.
    """

    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="+", db_index=False
    )
    key = models.UUIDField()
    fingerprint = models.BinaryField(max_length=32)
    operation_name = models.CharField(max_length=NAME_LENGTH, null=True)
    body = models.BinaryField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, db_index=True)

    objects = IdempotencyRecordQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["partner", "key"], name="one_answer_per_partner_and_key"
            ),
            models.CheckConstraint(
                condition=Q(body__isnull=True, expires_at__isnull=True)
                | Q(body__isnull=False, expires_at__isnull=False),
                name="idempotency_record_expires_when_it_is_answered",
            ),
        ]

    def __str__(self):
        return f"{self.key} of {self.partner_id}"
