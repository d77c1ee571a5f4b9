"""Runs scheduled jobs, and records when each ran and what came of it."""

import logging
from collections.abc import Callable
from time import monotonic

from django.utils import timezone

from partnerapi.core.metrics import JOBS
from partnerapi.operations.models import JobRun

logger = logging.getLogger(__name__)

DETAIL_LENGTH = 10_000


def run_job(name: str, job: Callable[[], str]) -> None:
    """Run a job and record its begin and its end; `job` returns what it did.

    What the job raises is recorded and raised again.
    """
    started_at, began = timezone.now(), monotonic()

    def record(result: str, detail: str) -> None:
        JOBS.labels(name, result).inc()
        JobRun.objects.create(
            job=name,
            started_at=started_at,
            seconds=monotonic() - began,
            result=result,
            detail=detail[:DETAIL_LENGTH],
        )

    record(JobRun.Result.BEGUN, "")
    try:
        detail = job()
    except Exception as error:
        record(JobRun.Result.FAILED, str(error) or type(error).__name__)
        raise
    record(JobRun.Result.DONE, detail)
