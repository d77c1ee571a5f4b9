"""The request to release a delivery of legacy shares, above the policy's amount."""

from collections.abc import Mapping
from typing import Any

from accounts.four_eyes import Overtaken, Preview
from accounts.models import ApprovalRequest
from issuers.legacy import delivery
from issuers.legacy.background import hand_over
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


def delivery_title(content: Mapping[str, Any]) -> str:
    lines, shares = content["lines"], int(content["shares"])
    return f"Delivery of {lines:,} lines, {shares:,} shares"


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
        hand_over(job)
        return job

    def job(self, request: ApprovalRequest) -> DeliveryJob:
        job = DeliveryJob.objects.get(pk=request.content["job"])
        if job.finished_at or job.released_at:
            raise Overtaken("The delivery was released or closed meanwhile.")
        return job
