"""Large files that staff import: a worker checks them, and writes what is confirmed."""

from datetime import timedelta

import uuid_utils.compat as uuid
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from accounts.approvals.models import ApprovalRequest
from accounts.people.models import User
from partnerapi.core.lengths import REASON_LENGTH

KEPT = timedelta(days=1)
MOST_ATTEMPTS = 3


class ImportJobQuerySet(models.QuerySet["ImportJob"]):
    def waiting(self) -> "ImportJobQuerySet":
        """Those that a worker has to go on with."""
        return self.filter(state__in=[ImportJob.State.CHECK, ImportJob.State.WRITE])

    def forget_old(self) -> int:
        """Delete those that are older than a day, with their files; return how many."""
        ended = self.exclude(state__in=[ImportJob.State.CHECK, ImportJob.State.WRITE])
        return ended.filter(created_at__lt=timezone.now() - KEPT).delete()[0]


class ImportJob(models.Model):
    """A file that is too large to be imported while someone waits for the answer.

    `found` is what an import would do, or has done, as `imports.Outcome` has it.
    """

    class State(models.TextChoices):
        CHECK = "CHECK", "Being checked"
        CHECKED = "CHECKED", "Checked"
        WRITE = "WRITE", "Being imported"
        DONE = "DONE", "Imported"
        ASKED = "ASKED", "Submitted for approval"
        FAILED = "FAILED", "Failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    person = models.ForeignKey(User, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10)
    file_name = models.CharField(max_length=255)
    content = models.BinaryField(help_text="Empty once the import has ended.")
    # What it names may be gone before the job is.
    issuer_id = models.UUIDField(null=True)
    creates_holders = models.BooleanField(default=False)
    closing_balance = models.BigIntegerField(null=True, help_text="Euro cents.")
    state = models.CharField(max_length=7, choices=State, default=State.CHECK)
    found = models.JSONField(null=True)
    note = models.CharField(max_length=500, blank=True)
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    request = models.ForeignKey(
        ApprovalRequest, models.PROTECT, null=True, related_name="+"
    )
    attempts = models.PositiveSmallIntegerField(
        default=0, help_text="Beginnings of the check, or of the import."
    )
    created_at = models.DateTimeField(db_default=Now())

    objects = ImportJobQuerySet.as_manager()

    def __str__(self):
        return self.file_name

    @property
    def is_at_work(self) -> bool:
        return self.state in (self.State.CHECK, self.State.WRITE)
