"""Scheduled jobs: when each ran last, and what came of it."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from accounts.history.models import MOST_TRIES
from partnerapi.core.database import rows_of
from partnerapi.core.schedule import PERIODS, TASK_SECONDS
from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.models import JobRun

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
    rows = rows_of(LATEST, [list(PERIODS)])
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


# A notice that was given up is reported for 30 days.
UNSENT = """
    SELECT count(*) FILTER (WHERE tries < %(most)s),
        count(*) FILTER (WHERE tries = %(most)s),
        (array_agg(error ORDER BY tries DESC, id) FILTER (WHERE error <> ''))[1]
    FROM accounts_staffnotice
    WHERE sent_at IS NULL AND CASE
        WHEN tries = 0 THEN next_try_at < clock_timestamp() - interval '10 minutes'
        WHEN tries = %(most)s THEN next_try_at > clock_timestamp() - interval '30 days'
        ELSE TRUE END
"""


def mail() -> Iterator[Finding]:
    """Whether the e-mails that notify staff of changes of staff are sent."""
    [(waiting, given_up, error)] = rows_of(UNSENT, {"most": MOST_TRIES})
    figures = {"waiting": waiting, "givenUp": given_up}
    if settings.EMAIL_URL and not waiting and not given_up:
        yield Finding("mail", State.OK, "No e-mail to staff waits", "", figures)
        return
    says = f"{waiting:,} e-mails to staff wait, {given_up:,} were given up"
    if not settings.EMAIL_URL:
        says = f"EMAIL_URL is not set: {says}"
        remedy = "Set EMAIL_URL: a worker sends them then."
    elif given_up:
        remedy = (
            "See whether the server of EMAIL_URL runs and takes them. UPDATE "
            "accounts_staffnotice SET tries = 0, next_try_at = now() WHERE sent_at IS "
            "NULL has them sent again."
        )
    else:
        remedy = (
            "See whether the server of EMAIL_URL runs and takes them; a worker tries "
            "again."
        )
    said = f"{says}: {error}" if error else says
    yield Finding("mail", State.WARNING, said, remedy, figures)
