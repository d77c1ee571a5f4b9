"""What is stored for partners' requests: answers of mutations, and exports."""

from collections.abc import Callable
from datetime import datetime, timedelta

import uuid_utils.compat as uuid
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Now
from django.db.models.lookups import LessThanOrEqual

from accounts.access import Caller, Scope
from accounts.models import Partner

RETENTION = timedelta(hours=24)
PRUNED_AT_ONCE = 1000
NAME_LENGTH = 200
"""Characters of an operation's name that are stored, for people."""
MOST_AT_WORK = 2
"""Exports of one partner that are written at the same time."""
MEMBER_BYTES = 1024 * 1024


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
            # An hour more, for the clocks of the processes that write it.
            models.CheckConstraint(
                condition=Q(expires_at__isnull=True)
                | Q(expires_at__lte=Now() + timedelta(hours=25)),
                name="idempotency_record_expires_in_a_day",
            ),
        ]

    def __str__(self):
        return f"{self.key} of {self.partner_id}"


class JobRunQuerySet(models.QuerySet["JobRun"]):
    def prune(self) -> int:
        """Delete what ran more than 90 days ago, in batches; return how many rows."""
        deleted = 0
        while True:
            with connection.cursor() as cursor:
                cursor.execute(PRUNE_JOB_RUNS, [PRUNED_AT_ONCE])
                [(batch,)] = cursor.fetchall()
            if not batch:
                return deleted
            deleted += batch


PRUNE_JOB_RUNS = "SELECT partnerapi_prune_job_runs(%s)"


class JobRun(models.Model):
    """What came of a scheduled job, each time that it ran: its begin, then its end.

    A begin without an end is left by a worker that was killed.
    """

    class Result(models.TextChoices):
        BEGUN = "BEGUN", "Begun"
        DONE = "DONE", "Done"
        FAILED = "FAILED", "Failed"

    job = models.CharField(max_length=100)
    started_at = models.DateTimeField()
    seconds = models.FloatField()
    result = models.CharField(max_length=6, choices=Result)
    detail = models.TextField(blank=True)

    objects = JobRunQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["job", "-started_at"], name="job_run_latest")]
        constraints = [
            models.CheckConstraint(
                condition=Q(result__in=["BEGUN", "DONE", "FAILED"]),
                name="job_run_result_is_known",
            ),
            models.CheckConstraint(
                condition=Q(seconds__gte=0), name="job_run_took_time"
            ),
            models.CheckConstraint(
                condition=Q(started_at__lte=Now() + timedelta(hours=1)),
                name="job_run_has_begun",
            ),
        ]

    def __str__(self):
        return f"{self.job} {self.started_at}: {self.result}"


class ExportedConnection(models.TextChoices):
    HOLDERS = "HOLDERS", "Holders"
    TRANSACTIONS = "TRANSACTIONS", "Transactions"
    LEGACY_SHAREHOLDERS = "LEGACY_SHAREHOLDERS", "Legacy shareholders"
    ACCOUNTS = "ACCOUNTS", "Accounts"


SCOPES_OF_EXPORTS: dict[str, Scope] = {
    ExportedConnection.HOLDERS: Scope.CAPTABLE_READ,
    ExportedConnection.TRANSACTIONS: Scope.CAPTABLE_READ,
    ExportedConnection.LEGACY_SHAREHOLDERS: Scope.SHAREHOLDERS_READ,
    ExportedConnection.ACCOUNTS: Scope.ACCOUNTS_READ,
}
"""The scope that each connection needs, and its export, too."""


class ExportQuerySet(models.QuerySet["Export"]):
    def of_partner(self, caller: Caller) -> "ExportQuerySet":
        return self.filter(partner_id=caller.partner_id)

    def visible_to(self, caller: Caller | None) -> "ExportQuerySet":
        """The partner's exports, as far as the key's scopes and grants go now."""
        if caller is None:
            return self.none()
        read = [c for c, scope in SCOPES_OF_EXPORTS.items() if scope in caller.scopes]
        exports = self.of_partner(caller).filter(connection__in=read)
        if caller.granted_issuers is None:
            return exports
        granted = Q(issuer_id__in=caller.granted_issuers)
        return exports.filter(Q(issuer_id__isnull=True) | granted)

    def prune(self, advance: Callable[[int], object] = lambda done: None) -> int:
        """Delete what is no longer kept, in committed batches; return how many rows.

        Files go when their export has expired or failed, and what is known of an
        export goes after 30 days. `advance` gets the size of each batch.
        """
        deleted = 0
        while True:
            with connection.cursor() as cursor:
                cursor.execute(PRUNE_EXPORTS, [MEMBERS_PRUNED_AT_ONCE])
                [(batch,)] = cursor.fetchall()
            if not batch:
                return deleted
            deleted += batch
            advance(batch)


PRUNE_EXPORTS = "SELECT partnerapi_prune_exports(%s)"
MEMBERS_PRUNED_AT_ONCE = 100


class Export(models.Model):
    """A connection that a partner wants as a file: as it was asked for, and written.

    Its file is its members, one behind the other; a trigger counts them.
    """

    Connection = ExportedConnection

    class Status(models.TextChoices):
        WAITING = "WAITING", "Waiting"
        RUNNING = "RUNNING", "Running"
        READY = "READY", "Ready"
        FAILED = "FAILED", "Failed"
        EXPIRED = "EXPIRED", "Expired"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="+", db_index=False
    )
    connection = models.CharField(max_length=19, choices=ExportedConnection)
    # What these name may be gone before the export is.
    issuer_id = models.UUIDField(null=True)
    token_id = models.UUIDField(null=True)
    date = models.DateTimeField(null=True, help_text="The instant of its rows.")
    last_sequence = models.BigIntegerField(
        null=True, help_text="The last of the transactions that it holds."
    )
    status = models.CharField(
        max_length=7, choices=Status, default=Status.WAITING, db_default=Status.WAITING
    )
    place = models.PositiveSmallIntegerField(
        null=True, help_text="Which of the partner's exports at work it is."
    )
    cursor = models.TextField(null=True, help_text="Of the last row that is written.")
    is_written = models.BooleanField(
        default=False, help_text="Every row is written; not all may be paid."
    )
    members = models.PositiveIntegerField(default=0)
    rows = models.PositiveBigIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    charged = models.PositiveBigIntegerField(
        default=0, help_text="Points that the partner's budget has given for it."
    )
    attempts = models.PositiveSmallIntegerField(
        default=0, help_text="How often it was taken up since its last page."
    )
    due_at = models.DateTimeField(
        db_default=Now(), help_text="When a worker shall take it up, or again."
    )
    reason = models.CharField(max_length=500, null=True, help_text="Why it failed.")
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    objects = ExportQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["partner", "place"], name="exports_at_work_have_their_places"
            ),
            models.CheckConstraint(
                condition=Q(
                    status="RUNNING",
                    place__isnull=False,
                    place__gte=1,
                    place__lte=MOST_AT_WORK,
                )
                | Q(
                    status__in=["WAITING", "READY", "FAILED", "EXPIRED"],
                    place__isnull=True,
                ),
                name="export_has_a_place_while_it_runs",
            ),
            models.CheckConstraint(
                condition=Q(connection="HOLDERS", issuer_id__isnull=False)
                | Q(
                    connection="TRANSACTIONS",
                    issuer_id__isnull=False,
                    token_id__isnull=False,
                    last_sequence__isnull=False,
                )
                | Q(connection="LEGACY_SHAREHOLDERS", issuer_id__isnull=False)
                | Q(connection="ACCOUNTS", issuer_id__isnull=True),
                name="export_names_what_it_is_of",
            ),
            models.CheckConstraint(
                condition=~Q(status="READY")
                | Q(is_written=True, expires_at__isnull=False, date__isnull=False),
                name="export_is_ready_when_it_is_written",
            ),
            models.CheckConstraint(
                condition=~Q(status="FAILED") | Q(reason__isnull=False),
                name="export_failed_for_a_reason",
            ),
        ]
        indexes = [
            models.Index(fields=["partner", "status"], name="exports_of_partner"),
            models.Index(
                fields=["status", "due_at"],
                condition=Q(status__in=["WAITING", "RUNNING"]),
                name="exports_to_write",
            ),
        ]

    def __str__(self):
        return f"{self.connection} {self.id}"


class ExportMember(models.Model):
    """A part of an export's file: a whole gzip file of whole lines."""

    export = models.ForeignKey(
        Export, models.DO_NOTHING, related_name="parts", db_index=False
    )
    number = models.PositiveIntegerField(help_text="From 1, without gaps.")
    position = models.PositiveBigIntegerField(
        help_text="Bytes of the file before this part."
    )
    rows = models.PositiveIntegerField()
    data = models.BinaryField(max_length=MEMBER_BYTES)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["export", "number"], name="export_members_are_numbered"
            ),
            models.CheckConstraint(
                condition=LessThanOrEqual(
                    models.Func(
                        models.F("data"),
                        function="octet_length",
                        output_field=models.IntegerField(),
                    ),
                    MEMBER_BYTES,
                ),
                name="export_member_is_small",
            ),
        ]

    def __str__(self):
        return f"{self.export_id} {self.number}"


class FailedSignInQuerySet(models.QuerySet["FailedSignIn"]):
    def prune(self) -> int:
        """Delete those that are older than 90 days, and all but the last million."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT partnerapi_prune_failed_sign_ins()")
            [(deleted,)] = cursor.fetchall()
        return int(deleted)


class FailedSignIn(models.Model):
    """Somebody failed to sign in to the back office. No one changes or deletes it."""

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
