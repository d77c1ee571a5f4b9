"""What the gateway stores: the answers of mutations, for their repetitions."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import Q

from accounts.models import Partner

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
            models.CheckConstraint(
                condition=Q(body__isnull=True, expires_at__isnull=True)
                | Q(body__isnull=False, expires_at__isnull=False),
                name="idempotency_record_expires_when_it_is_answered",
            ),
        ]

    def __str__(self):
        return f"{self.key} of {self.partner_id}"


class JobRun(models.Model):
    """What came of a scheduled job, each time that it ran."""

    class Result(models.TextChoices):
        DONE = "DONE", "Done"
        FAILED = "FAILED", "Failed"

    job = models.CharField(max_length=100)
    started_at = models.DateTimeField()
    seconds = models.FloatField()
    result = models.CharField(max_length=6, choices=Result)
    detail = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["job", "-started_at"], name="job_run_latest")]
        constraints = [
            models.CheckConstraint(
                condition=Q(result__in=["DONE", "FAILED"]),
                name="job_run_result_is_known",
            ),
            models.CheckConstraint(
                condition=Q(seconds__gte=0), name="job_run_took_time"
            ),
        ]

    def __str__(self):
        return f"{self.job} {self.started_at}: {self.result}"


class FailedSignInQuerySet(models.QuerySet["FailedSignIn"]):
    def prune(self) -> int:
        """Delete those that are older than 90 days, and all but the last million."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT partnerapi_prune_failed_sign_ins()")
            [(deleted,)] = cursor.fetchall()
        return int(deleted)


class FailedSignIn(models.Model):
    """Somebody failed to sign in to the back office. Nobody changes or deletes it."""

    login = models.CharField(max_length=254, help_text="As it was typed.")
    address = models.CharField(max_length=64)
    is_locked = models.BooleanField(
        help_text="Refused, or refused from then on, after too many failures."
    )
    at = models.DateTimeField(db_default=models.functions.Now(), db_index=True)

    objects = FailedSignInQuerySet.as_manager()

    class Meta:
        verbose_name = "failed sign-in"

    def __str__(self):
        return f"{self.login} from {self.address}, {self.at}"
