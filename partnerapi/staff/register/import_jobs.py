"""Imports by a worker, and the pages on which staff follow and confirm them.

A worker keeps the job's row locked while it checks or writes the file, in one
transaction. A killed worker leaves the row as it was, and another one begins again.
"""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.approvals.four_eyes import NotApproved
from accounts.people.models import User
from partnerapi.core.authors import written_by
from partnerapi.core.database import execute
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.core.progress import Advance, Begin
from partnerapi.staff.register.imports import (
    KINDS,
    Outcome,
    Upload,
    as_json,
    attempt,
    confirm,
    may,
)
from partnerapi.staff.register.models import MOST_ATTEMPTS, ImportJob

State = ImportJob.State
PROGRESS_SECONDS = 600
CHANGED = (
    "The data has changed since the preview. Nothing was written; this is the new "
    "preview."
)
GIVEN_UP = (
    f"Nothing was written. {MOST_ATTEMPTS} attempts were made, and the worker stopped "
    "before the end each time, for example because it ran out of memory. Split the "
    "file, or ask an operator to look at the worker's log."
)


def hand_over(upload: Upload, person: User) -> ImportJob:
    """Keep a file for the next worker; forget those of yesterday."""
    ImportJob.objects.forget_old()
    return ImportJob.objects.create(
        person=person,
        kind=upload.kind,
        file_name=upload.file_name[:255],
        content=upload.content,
        issuer_id=upload.issuer_id,
        creates_holders=upload.creates_holders,
        closing_balance=upload.closing_balance,
    )


def upload_of(job: ImportJob) -> Upload:
    return Upload(
        job.kind,
        job.file_name,
        bytes(job.content),
        job.issuer_id,
        job.creates_holders,
        job.closing_balance,
    )


def import_next() -> bool:
    """Check, or write, the file that has waited longest; whether there was one."""
    with transaction.atomic():
        jobs = ImportJob.objects.waiting().select_for_update(skip_locked=True)
        free = jobs.defer("content").order_by("pk").first()
        if free is None:
            return False
        # Committed before the work begins, so that a file which ends workers ends.
        ImportJob.objects.filter(pk=free.pk).update(attempts=F("attempts") + 1)
    with transaction.atomic():
        jobs = ImportJob.objects.waiting().select_for_update(skip_locked=True)
        job = jobs.filter(pk=free.pk).first()
        if job is None:
            return True
        with written_by(job.person.email or "", f"page {address_of(job)}"):
            go_on(job)
        job.save()
    return True


def go_on(job: ImportJob) -> None:
    if job.attempts > MOST_ATTEMPTS:
        fail(job, GIVEN_UP)
    elif not (job.person.is_active and may(job.person, KINDS[job.kind])):
        fail(job, "You no longer have the right to import such a file.")
    elif job.state == State.CHECK:
        check(job)
    else:
        write(job)


def fail(job: ImportJob, why: str) -> None:
    job.state, job.note, job.content = State.FAILED, why, b""


def check(job: ImportJob, note: str = "") -> None:
    found = attempt(
        upload_of(job), job.person.email or "", dry_run=True, begin=begin_of(job)
    )
    job.state, job.note, job.attempts = State.CHECKED, note, 0
    job.found = as_json(found)


def write(job: ImportJob) -> None:
    previewed = Outcome(**(job.found or {}))
    try:
        with transaction.atomic():
            done, job.request = confirm(
                upload_of(job), previewed, job.person, job.reason, begin_of(job)
            )
            # What waits for the commit is refused here, where the job can say so.
            execute("SET CONSTRAINTS ALL IMMEDIATE")
    except (NotApproved, IntegrityError) as error:
        check(job, str(error).splitlines()[0])
        return
    job.found = as_json(done)
    if as_json(previewed) != job.found:
        job.state, job.note, job.attempts = State.CHECKED, CHANGED, 0
        return
    job.state, job.note = State.ASKED if job.request else State.DONE, ""
    job.content = b""


def progress_key(job: ImportJob) -> str:
    return f"import-progress:{job.pk}"


def begin_of(job: ImportJob) -> Begin:
    """Note each hundredth of a piece of work where the page finds it."""

    def begin(work: str, total: int) -> Advance:
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            before, done = done, done + more
            if 100 * before // max(total, 1) < 100 * done // max(total, 1):
                note(done)

        def note(done: int) -> None:
            cache.set(progress_key(job), (work, done, total), PROGRESS_SECONDS)

        note(0)
        return advance

    return begin


def address_of(job: ImportJob) -> str:
    return reverse("admin:import_job", args=[job.pk])


def own_job(request: HttpRequest, pk: UUID) -> ImportJob:
    """A job of the user, who may import such files.

    Raises:
        PermissionDenied
        Http404
    """
    jobs = ImportJob.objects.filter(person=request.user.pk).defer("content")
    job: ImportJob = get_object_or_404(jobs, pk=pk)
    if not may(request.user, KINDS[job.kind]):
        raise PermissionDenied
    return job


def show_job(request: HttpRequest, pk: UUID) -> HttpResponse:
    """How far it has come, then the preview, which staff confirm."""
    job = own_job(request, pk)
    if request.method == "POST":
        reason = request.POST.get("reason", "").strip()[:REASON_LENGTH]
        checked = ImportJob.objects.filter(pk=job.pk, state=State.CHECKED)
        if checked.update(state=State.WRITE, reason=reason, note="", attempts=0) != 1:
            messages.warning(request, "This import has already been confirmed.")
        return HttpResponseRedirect(request.path)
    context = admin.site.each_context(request) | {
        "title": f"Import {job.file_name}",
        "upload": {"file_name": job.file_name, "checksum": ""},
        "kind": KINDS[job.kind],
        "found": None if job.is_at_work or not job.found else Outcome(**job.found),
        **progress_of(job),
    }
    return TemplateResponse(request, "admin/import_preview.html", context)


def poll_job(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The part of the page that changes while a worker is busy with it."""
    context = progress_of(own_job(request, pk))
    answer = TemplateResponse(request, "admin/import_progress.html", context)
    answer["Cache-Control"] = "no-store"
    return answer


def progress_of(job: ImportJob) -> dict[str, Any]:
    work, done, total = cache.get(progress_key(job)) or ("", 0, 0)
    return {"job": job, "work": work, "done": done, "total": total}
