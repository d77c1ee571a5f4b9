"""The request to release a delivery of legacy shares, above the policy's amount."""

from typing import Any

from accounts.four_eyes import Overtaken, Preview, file_request
from accounts.models import ApprovalKind, ApprovalRequest, User
from issuers.legacy import delivery
from issuers.legacy.models import DeliveryJob


def delivery_content(job: DeliveryJob) -> dict[str, Any]:
    """The job as it is frozen: its lines can not change any more."""
    lines, shares = delivery.frozen_totals(job)
    return {
        "job": str(job.pk),
        "source": job.source,
        "lines": lines,
        "shares": str(shares),
    }


def ask_for_release(job: DeliveryJob, reason: str, filed_by: User) -> ApprovalRequest:
    content = delivery_content(job)
    return file_request(
        ApprovalKind.DELIVERY,
        content,
        f"Delivery of {content['lines']:,} lines, {int(content['shares']):,} shares",
        reason,
        filed_by,
    )


class ReleaseDelivery:
    def preview(self, request: ApprovalRequest) -> Preview:
        content, job = request.content, self.job(request)
        rows = [
            ("Lines", "", f"{content['lines']:,}"),
            ("Shares", "", f"{int(content['shares']):,}"),
            ("The tokens come", "", job.get_source_display()),
            ("Begun by", "", job.created_by),
        ]
        return Preview(rows, ["A delivery is for ever; only reversals undo it."])

    def execute(self, request: ApprovalRequest) -> DeliveryJob:
        job = self.job(request)
        delivery.release(job)
        return job

    def job(self, request: ApprovalRequest) -> DeliveryJob:
        job = DeliveryJob.objects.get(pk=request.content["job"])
        if job.finished_at or job.released_at:
            raise Overtaken("The delivery was released or closed meanwhile.")
        return job
