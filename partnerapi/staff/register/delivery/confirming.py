"""What the chosen lines would become, and what cannot; then the delivery begins.

What staff confirm is what they were shown: where the lines, or the ledgers, have
changed meanwhile, nothing happens, and the new preview is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.approvals.four_eyes import NotApproved, carrying, file_request
from accounts.approvals.models import ApprovalKind
from accounts.people.models import User
from issuers.legacy import delivery
from issuers.legacy.approvals import delivery_content, delivery_title
from issuers.legacy.background import hand_over
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.legacy.preview import Preview, preview
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.core.lock_waits import LockTimeout
from partnerapi.staff.log.downloads import csv_file, download
from partnerapi.staff.lookup import as_uuid
from partnerapi.staff.register.delivery.choosing import MAY_DELIVER, ChoiceForm, address

REFUSALS_SHOWN = 1_000
Source = DeliveryJob.Source


@dataclass(frozen=True, slots=True)
class Refused:
    line: LegacyShareholder
    reason: str
    remedy: str


def confirm_delivery(request: HttpRequest) -> HttpResponseBase:
    """Show the preview; with its checksum, begin the delivery."""
    if not request.user.has_perm(MAY_DELIVER):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseRedirect(address())
    source, form = request.POST.get("source"), ChoiceForm(request.POST)
    ticked = [pk for text in request.POST.getlist("line") if (pk := as_uuid(text))]
    if source not in Source.values or not (ticked or form.is_valid() and form.found):
        messages.error(request, "Choose the lines and the source of the tokens again.")
        return HttpResponseRedirect(address())
    ids = ticked or form.ids()
    if not ids:
        messages.warning(
            request,
            ("None of these lines can be delivered any more: choose other lines."),
        )
        return HttpResponseRedirect(address(**dict(form.hidden())))
    sent = [("line", str(pk)) for pk in ticked] or form.hidden()
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "Confirm the delivery",
        "source": Source(source),
        "sent": [*sent, ("source", source)],
        "back": address() if ticked else address(**dict(form.hidden())),
    }
    try:
        found = preview(source, ids)
    except LockTimeout as error:
        return answer(request, context | {"held": str(error)}, status=503)
    if request.POST.get("do") == "csv":
        rows = refused_lines(found, len(found.refusals))
        file = csv_file(REFUSED_COLUMNS, map(refused_row, rows))
        what = "Lines that cannot be delivered"
        return download(request, LegacyShareholder, what, file, "refused.csv")
    needs_approval = delivery.needs_approval(found.ids, str(request.user.pk))
    if checksum := request.POST.get("checksum"):
        if checksum != found.checksum:
            messages.warning(
                request,
                "The data has changed since the preview. Nothing was delivered; this "
                "is the new preview.",
            )
        else:
            try:
                job = begin(request, found, needs_approval)
            except NotApproved as error:
                context["problem"] = str(error)
            else:
                return HttpResponseRedirect(job_address(job))
    return answer(request, context | preview_context(found, needs_approval))


def answer(
    request: HttpRequest, context: dict[str, Any], status: int = 200
) -> TemplateResponse:
    template = "admin/delivery_confirm.html"
    return TemplateResponse(request, template, context, status=status)


def preview_context(found: Preview, needs_approval: bool) -> dict[str, Any]:
    return {
        "found": found,
        "refused": refused_lines(found, REFUSALS_SHOWN),
        "unpriced": delivery.unpriced_warnings(found.ids),
        "needs_approval": needs_approval,
        "goes_to_worker": len(found.ids) > delivery.LINES_OF_A_STEP,
        "lines_of_a_step": delivery.LINES_OF_A_STEP,
    }


def refused_lines(found: Preview, most: int) -> Sequence[Refused]:
    ids = [*found.refusals][:most]
    rows = LegacyShareholder.objects.select_related("user", "issuer", "token")
    lines = rows.in_bulk(ids)
    return [
        Refused(lines[pk], *split_remedy(found.refusals[pk]))
        for pk in ids
        if pk in lines
    ]


REFUSED_COLUMNS = (
    "line", "reference", "issuer", "token", "holder", "shares", "reason", "remedy",
)  # fmt: skip


def refused_row(refused: Refused) -> Sequence[Any]:
    line = refused.line
    symbol = line.token.symbol if line.token else None
    return (
        line.pk, line.reference, line.issuer.slug, symbol, str(line.user),
        line.number_of_shares, refused.reason, refused.remedy,
    )  # fmt: skip


def split_remedy(refusal: str) -> tuple[str, str]:
    """The reason of a refusal, and its remedy."""
    reason, _, remedy = refusal.removesuffix(".").rpartition("; ")
    return (reason, remedy) if reason else (remedy, "")


def begin(request: HttpRequest, found: Preview, needs_approval: bool) -> DeliveryJob:
    """Freeze the lines; deliver them, have a worker do so, or ask for an approval.

    Raises:
        NotApproved: with a sentence; nothing was frozen.
    """
    assert isinstance(request.user, User)
    if needs_approval:
        reason = request.POST.get("reason", "").strip()[:REASON_LENGTH]
        if not reason:
            raise NotApproved("A reason is required; the approver sees it.")
        return request_approval(found, reason, request.user)
    job = begin_release(found, request.user)
    if job.handed_over_at is None:
        deliver_here(job)
    return job


def job_address(job: DeliveryJob) -> str:
    return reverse("admin:delivery_job", args=[job.pk])


def request_approval(found: Preview, reason: str, user: User) -> DeliveryJob:
    """
    Raises:
        NotApproved: this person may not ask for it.
    """
    with transaction.atomic():
        job = delivery.begin_job(found.source, found.ids, user.get_username())
        content = delivery_content(job)
        title = delivery_title(job)
        file_request(ApprovalKind.DELIVERY, content, title, reason, user)
    return job


def begin_release(found: Preview, user: User) -> DeliveryJob:
    """
    Raises:
        NotApproved: a policy asks for a second person since a moment ago.
    """
    with carrying([]):
        job = delivery.begin_job(found.source, found.ids, user.get_username())
        delivery.release(job)
        if job.line_count > delivery.LINES_OF_A_STEP:
            hand_over(job)
    return job


def deliver_here(job: DeliveryJob, actor: str = "") -> None:
    """Deliver the next step in this request; its page shows which lock was held."""
    try:
        delivery.deliver_next(job, actor)
    except LockTimeout as error:
        delivery.note_held(job, str(error))
