"""Scheduled jobs: when each ran last, and what came of it."""

from collections.abc import Iterator
from datetime import timedelta

from django.db import connection

from partnerapi.core.schedule import PERIODS, TASK_SECONDS
from partnerapi.models import JobRun
from partnerapi.operations.diagnosis.findings import Finding, State

MOST_GRACE = timedelta(hours=2)
"""A job is late when its period is over twice, and no longer than this after it."""

# A job that has never run is as old as the last migration, which may have brought it.
LATEST = """
    SELECT job.name, last.result, last.detail,
        extract(epoch FROM clock_timestamp() - coalesce(last.started_at, (
            SELECT max(applied) FROM django_migrations)))
    FROM unnest(%s::text[]) AS job (name)
    LEFT JOIN LATERAL (
        SELECT * FROM partnerapi_jobrun run
        WHERE run.job = job.name ORDER BY run.started_at DESC, run.id DESC LIMIT 1
    ) last ON TRUE
"""
LATE = (
    "See whether beat and a worker run; where they do, another check here, or the "
    "worker's log, names what keeps the job from being noted."
)
KILLED = "Read the kernel's log for the memory; another worker does it again."
WRONG = "See Job runs in the back office; the command of this name says more."


def jobs() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(LATEST, [list(PERIODS)])
        rows = cursor.fetchall()
    for job, result, detail, age in rows:
        period = PERIODS[job]
        most = int((period + min(period, MOST_GRACE)).total_seconds())
        figures = {
            "ageSeconds": int(age),
            "lateAfterSeconds": most,
        }
        name = f"job {job}"
        ago = timedelta(seconds=int(age))
        if age > most:
            says = f"It has not run for {ago}, and does every {period}"
            yield Finding(name, State.WARNING, says, LATE, figures)
        elif result == JobRun.Result.FAILED:
            says = f"It failed {ago} ago: {detail[:200]}"
            yield Finding(name, State.WARNING, says, WRONG, figures)
        elif result == JobRun.Result.BEGUN and age > TASK_SECONDS:
            says = f"It began {ago} ago and has no end: its worker was killed"
            yield Finding(name, State.WARNING, says, KILLED, figures)
        else:
            says = f"It ran {ago} ago" if result else "It has not been due yet"
            yield Finding(name, State.OK, says, "", figures)
