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
    "Check that beat and a worker run; if they do, another check here or the "
    "worker's log shows why the job is not recorded."
)
KILLED = (
    "Check the kernel's log for a lack of memory; another worker runs the job again."
)
WRONG = "See Job runs in the back office; the command with this name shows more."


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
            says = f"It has not run for {ago}, but should run every {period}"
            yield Finding(name, State.WARNING, says, LATE, figures)
        elif result == JobRun.Result.FAILED:
            says = f"It failed {ago} ago: {detail[:200]}"
            yield Finding(name, State.WARNING, says, WRONG, figures)
        elif result == JobRun.Result.BEGUN and age > TASK_SECONDS:
            says = f"It started {ago} ago and did not end: its worker was killed"
            yield Finding(name, State.WARNING, says, KILLED, figures)
        else:
            says = f"It ran {ago} ago" if result else "It is not due yet"
            yield Finding(name, State.OK, says, "", figures)


CLOCK = """
    SELECT holder, until > clock_timestamp(),
        greatest(0, extract(epoch FROM clock_timestamp() - until))::float
    FROM trading_clocklease
"""
START_CLOCK = "Start run_market_clock, on one machine or on several, and read its log."


def market_clock() -> Iterator[Finding]:
    """Whether a process opens and closes the markets."""
    found = rows_of(CLOCK)
    if not found:
        says = "No market clock has ever run: markets do not change phase"
        yield Finding("market clock", State.WARNING, says, START_CLOCK)
        return
    [(holder, runs, silent)] = found
    figures = {"silentSeconds": round(silent, 1)}
    if runs:
        says = f"The clock at {holder} moves the markets"
        yield Finding("market clock", State.OK, says, "", figures)
    else:
        says = f"No clock has moved the markets for {silent:.0f} s"
        yield Finding("market clock", State.WARNING, says, START_CLOCK, figures)


LATE_WEBHOOKS = """
    SELECT (SELECT count(*) FROM partnerapi_webhookendpoint WHERE ended_at IS NULL),
        (SELECT count(*) FROM partnerapi_webhookendpoint
            WHERE ended_at IS NULL AND attempts > 0),
        (SELECT until > clock_timestamp() FROM partnerapi_webhooklease)
"""


def webhooks() -> Iterator[Finding]:
    """Whether a process sends webhooks, once a partner has an endpoint."""
    [(endpoints, failing, runs)] = rows_of(LATE_WEBHOOKS)
    figures = {"endpoints": endpoints, "failing": failing}
    if endpoints and not runs:
        says = f"No process sends webhooks to the {endpoints} endpoints of partners"
        remedy = "Start run_webhooks, on one machine or on several, and read its log."
        yield Finding("webhooks", State.WARNING, says, remedy, figures)
    else:
        says = f"{endpoints} endpoints, {failing} of them failing"
        yield Finding("webhooks", State.OK, says, "", figures)


# A notice that was given up is reported for 30 days.
UNSENT = """
    SELECT count(*) FILTER (WHERE tries < %(most)s),
        count(*) FILTER (WHERE tries = %(most)s),
        (array_agg(error ORDER BY tries DESC, id) FILTER (WHERE error <> ''))[1]
    FROM (
        SELECT id, tries, next_try_at, sent_at, error FROM accounts_staffnotice
        UNION ALL
        SELECT id, tries, next_try_at, sent_at, error FROM accounts_desknotice
    ) notices
    WHERE sent_at IS NULL AND CASE
        WHEN tries = 0 THEN next_try_at < clock_timestamp() - interval '10 minutes'
        WHEN tries = %(most)s THEN next_try_at > clock_timestamp() - interval '30 days'
        ELSE TRUE END
"""


def mail() -> Iterator[Finding]:
    """Whether the e-mails about changes of staff and about partners' desks are sent."""
    [(waiting, given_up, error)] = rows_of(UNSENT, {"most": MOST_TRIES})
    figures = {"waiting": waiting, "givenUp": given_up}
    if settings.EMAIL_URL and not waiting and not given_up:
        yield Finding("mail", State.OK, "No e-mail is waiting", "", figures)
        return
    says = f"{waiting:,} e-mails are waiting, {given_up:,} were abandoned"
    if not settings.EMAIL_URL:
        says = f"EMAIL_URL is not set: {says}"
        remedy = "Set EMAIL_URL; a worker then sends them."
    elif given_up:
        remedy = (
            "See whether the server of EMAIL_URL runs and takes them. UPDATE "
            "accounts_staffnotice SET tries = 0, next_try_at = now() WHERE sent_at IS "
            "NULL has them sent again, and the same of accounts_desknotice."
        )
    else:
        remedy = (
            "Check that the server of EMAIL_URL runs and accepts them; a worker "
            "tries again."
        )
    said = f"{says}: {error}" if error else says
    yield Finding("mail", State.WARNING, said, remedy, figures)
