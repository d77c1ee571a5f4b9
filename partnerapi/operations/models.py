"""Runs of scheduled jobs."""

from datetime import timedelta

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from partnerapi.core.constraints import check
from partnerapi.core.database import delete_in_batches

PRUNED_AT_ONCE = 1000


class JobRunQuerySet(models.QuerySet["JobRun"]):
    def prune(self) -> int:
        """Delete what ran more than 90 days ago, in batches; return how many rows."""
        return delete_in_batches(PRUNE_JOB_RUNS, [PRUNED_AT_ONCE])


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
            check("job_run_result_is_known", Q(result__in=["BEGUN", "DONE", "FAILED"])),
            check("job_run_took_time", Q(seconds__gte=0)),
            check("job_run_has_begun", Q(started_at__lte=Now() + timedelta(hours=1))),
        ]

    def __str__(self):
        return f"{self.job} {self.started_at}: {self.result}"
