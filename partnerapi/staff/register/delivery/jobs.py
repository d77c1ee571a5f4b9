"""Deliveries: how far each has come, by whom, and what became of each line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import TextChoices
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
)
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.people.models import User
from issuers.legacy import delivery
from issuers.legacy.background import hand_over
from issuers.legacy.models import DeliveryJob, DeliveryStep, LegacyShareholder
from partnerapi.core.lock_waits import LockTimeout
from partnerapi.staff.log.downloads import csv_file, download
from partnerapi.staff.lookup import as_uuid
from partnerapi.staff.register.delivery.by_issuer import lines_by_issuer
from partnerapi.staff.register.delivery.choosing import MAY_DELIVER, MAY_VIEW
from partnerapi.staff.register.delivery.confirming import (
    deliver_here,
    job_address,
    split_remedy,
)

JOBS_OF_A_PAGE = 50
AT_WORK = timedelta(seconds=10)
"""How long after its last step a delivery counts as running."""
PATIENCE = timedelta(minutes=1)
"""How long a delivery waits for a worker or a lock before it counts as stopped."""
REQUESTS_LOOKED_AT = 50
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class State(TextChoices):
    ASKED = "ASKED", "Waiting for approval"
    WAITING = "WAITING", "Waiting for a worker"
    RUNNING = "RUNNING", "Running"
    HELD = "HELD", "Waiting for a lock"
    STOPPED = "STOPPED", "Stopped"
    DONE = "DONE", "Done"
    REFUSED = "REFUSED", "Done, some lines refused"
    CLOSED = "CLOSED", "Closed"


MOVING = (State.WAITING, State.RUNNING, State.HELD)


def state_of(job: DeliveryJob, now: datetime) -> State:
    if job.finished_at:
        if job.remaining:
            return State.CLOSED
        return State.REFUSED if job.refused else State.DONE
    if not job.released_at:
        return State.ASKED
    tried = job.tried_at or LONG_AGO
    if tried > now - AT_WORK and not job.held:
        return State.RUNNING
    if job.handed_over_at and max(tried, job.handed_over_at) > now - PATIENCE:
        return State.HELD if job.held else State.WAITING
    return State.STOPPED


@dataclass(frozen=True, slots=True)
class Progress:
    job: DeliveryJob
    state: State

    @property
    def is_moving(self) -> bool:
        return self.state in MOVING

    @property
    def actor(self) -> str:
        return self.job.resumed_by or self.job.created_by


def progress_of(job: DeliveryJob) -> Progress:
    return Progress(job, state_of(job, timezone.now()))


class Result(TextChoices):
    DELIVERED = "delivered", "Delivered"
    SKIPPED = "skipped", "Skipped (already delivered)"
    REFUSED = "refused", "Refused"
    LEFT = "left", "Not delivered yet"


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line that is gone has only its id. The reason and the remedy of a refusal."""

    id: UUID
    line: LegacyShareholder | None
    result: Result
    reason: str = ""
    remedy: str = ""


def rows_of(job: DeliveryJob, step: DeliveryStep) -> list[LineRow]:
    """What became of each line of a step; one statement."""
    related = LegacyShareholder.objects.select_related("user", "issuer", "token")
    lines = related.in_bulk(step.shareholder_ids)
    skipped, is_done = set(step.skipped_ids), step.position < job.position
    rows = []
    for pk in step.shareholder_ids:
        line, refusal = lines.get(pk), step.refusals.get(str(pk))
        if not is_done:
            rows.append(LineRow(pk, line, Result.LEFT))
        elif refusal is not None:
            rows.append(LineRow(pk, line, Result.REFUSED, *split_remedy(refusal)))
        elif pk in skipped:
            rows.append(LineRow(pk, line, Result.SKIPPED))
        else:
            rows.append(LineRow(pk, line, Result.DELIVERED))
    return rows


def show_jobs(request: HttpRequest) -> HttpResponse:
    """Deliveries, newest first, of every author and kind; three statements."""
    check_view(request)
    jobs = DeliveryJob.objects.order_by("-pk")
    if before := as_uuid(request.GET.get("before", "")):
        jobs = jobs.filter(pk__lt=before)
    if is_open := "open" in request.GET:
        jobs = jobs.filter(finished_at=None)
    found = [*jobs[: JOBS_OF_A_PAGE + 1]]
    following = found[JOBS_OF_A_PAGE - 1].pk if len(found) > JOBS_OF_A_PAGE else None
    context = admin.site.each_context(request) | {
        "title": "Deliveries",
        "jobs": [progress_of(job) for job in found[:JOBS_OF_A_PAGE]],
        "following": following,
        "is_open": is_open,
        "issuers": [] if is_open or before else lines_by_issuer(),
    }
    return TemplateResponse(request, "admin/deliveries.html", context)


def show_job(request: HttpRequest, pk: UUID) -> HttpResponse:
    """How far it has come, and the lines of the step that `from` names."""
    check_view(request)
    if request.method == "POST":
        return act(request, get_object_or_404(DeliveryJob, pk=pk))
    job = get_object_or_404(DeliveryJob, pk=pk)
    progress = progress_of(job)
    only_refused = request.GET.get("only") == "refused"
    steps = job.steps.order_by("position")
    if only_refused:
        steps = steps.exclude(refusals={})
    asked = request.GET.get("from", "")
    position = min(int(asked), job.line_count) if asked.isdecimal() else 0
    found = [*steps.filter(position__gte=position)[:2]]
    rows = rows_of(job, found[0]) if found else []
    if only_refused:
        rows = [row for row in rows if row.result == Result.REFUSED]
    before = steps.filter(position__lt=position).order_by("-position")
    previous = before.values_list("position", flat=True).first() if position else None
    context = admin.site.each_context(request) | {
        "title": str(job),
        "progress": progress,
        "asked": request_for(job),
        "may_deliver": request.user.has_perm(MAY_DELIVER),
        "rows": rows,
        "only_refused": only_refused,
        "place": found[0].position if found else None,
        "following": found[1].position if len(found) > 1 else None,
        "previous": previous,
    }
    return TemplateResponse(request, "admin/delivery_job.html", context)


def poll_progress(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The part of the page that changes while it runs."""
    check_view(request)
    progress = progress_of(get_object_or_404(DeliveryJob, pk=pk))
    answer = TemplateResponse(
        request,
        "admin/delivery_progress.html",
        {
            "progress": progress,
            "asked": request_for(progress.job),
            "may_deliver": request.user.has_perm(MAY_DELIVER),
        },
    )
    answer["Cache-Control"] = "no-store"
    return answer


def check_view(request: HttpRequest) -> None:
    """
    Raises:
        PermissionDenied
    """
    if not request.user.has_perm(MAY_VIEW):
        raise PermissionDenied


def request_for(job: DeliveryJob) -> ApprovalRequest | None:
    """The request of a delivery, which is filed right after its lines were frozen."""
    requests = ApprovalRequest.objects.with_status(timezone.now()).filter(pk__gt=job.pk)
    kind, wanted = ApprovalKind.DELIVERY, str(job.pk)
    for found in requests.order_by("pk")[:REQUESTS_LOOKED_AT]:
        if found.kind == kind and found.content.get("job") == wanted:
            return found
    return None


def act(request: HttpRequest, job: DeliveryJob) -> HttpResponse:
    """Deliver what is left, or let it be; both are logged."""
    if not request.user.has_perm(MAY_DELIVER):
        raise PermissionDenied
    assert isinstance(request.user, User)
    said, user = request.POST.get("do"), request.user
    left = f"{job.remaining:,} of {job.line_count:,} lines"
    if job.finished_at:
        messages.warning(request, "This delivery has ended.")
    elif said == "resume" and job.released_at:
        LogEntry.objects.log_actions(
            user.pk, [job], CHANGE, (f"Resumed: {left} to deliver.")
        )
        # A step is done here, so that it goes on even where no worker comes.
        deliver_here(job, user.get_username())
        if job.remaining:
            hand_over(job, user.get_username())
    elif said == "close":
        try:
            delivery.close_job(job)
        except LockTimeout as error:
            messages.error(request, f"{error} It was not closed; try again.")
        else:
            LogEntry.objects.log_actions(
                user.pk, [job], CHANGE, f"Closed. {left} were not delivered."
            )
    return HttpResponseRedirect(job_address(job))


COLUMNS = (
    "line", "reference", "issuer", "token", "holder", "shares", "result", "reason",
    "remedy", "entry", "delivered_by", "delivered_at", "source",
)  # fmt: skip


def download_lines(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Every line with what became of it."""
    check_view(request)
    job = get_object_or_404(DeliveryJob, pk=pk)
    file = csv_file(COLUMNS, csv_rows(job))
    return download(request, job, "Delivery lines", file, f"delivery-{job.pk}.csv")


def csv_rows(job: DeliveryJob) -> Iterator[Sequence[Any]]:
    for step in job.steps.order_by("position").iterator(10):
        for row in rows_of(job, step):
            yield csv_row(job, row)


def csv_row(job: DeliveryJob, row: LineRow) -> Sequence[Any]:
    said = row.result.value, row.reason, row.remedy
    if row.line is None:
        return row.id, None, None, None, None, None, *said, None, None, None, job.source
    line = row.line
    return (
        row.id, line.reference, line.issuer.slug,
        line.token.symbol if line.token else None, str(line.user),
        line.number_of_shares, *said, line.ledger_seq, line.delivered_by,
        line.delivered_at, job.source,
    )  # fmt: skip
