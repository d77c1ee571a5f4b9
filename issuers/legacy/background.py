"""Deliveries by a worker: the database records which are due.

A worker claims a delivery by the time of its last attempt. A killed worker leaves the
delivery between two steps, and after the lease another worker continues there.
"""

from datetime import timedelta
from time import monotonic

from django.utils import timezone

from issuers.legacy.delivery import deliver_next, note_held
from issuers.legacy.models import DeliveryJob
from partnerapi.core.database import fetch
from partnerapi.core.lock_waits import LockTimeout

LEASE = timedelta(seconds=5)
"""How long a delivery waits for a worker that has fallen silent, or for a lock."""


def hand_over(job: DeliveryJob, resumed_by: str | None = None) -> None:
    """Schedule the remaining lines for a worker, in this name if one is given."""
    changes = {"resumed_by": resumed_by} if resumed_by else {}
    DeliveryJob.objects.filter(pk=job.pk).update(
        handed_over_at=timezone.now(), tried_at=None, held="", **changes
    )
    job.refresh_from_db()


def deliver_due(seconds: float) -> bool:
    """Deliver due lines for so many seconds; return whether more are due now."""
    deadline = monotonic() + seconds
    while taken := fetch(TAKE, [LEASE], tuple):
        [(pk,)] = taken
        job = DeliveryJob.objects.get(pk=pk)
        try:
            while job.is_open and monotonic() < deadline:
                deliver_next(job)
        except LockTimeout as error:
            note_held(job, str(error))
            continue
        if job.is_open:
            ended = timezone.now() - LEASE
            DeliveryJob.objects.filter(pk=pk).update(tried_at=ended)
            return True
    return False


TAKE = """
    UPDATE issuers_deliveryjob SET tried_at = clock_timestamp() WHERE id = (
        SELECT id FROM issuers_deliveryjob
        WHERE handed_over_at IS NOT NULL AND released_at IS NOT NULL
            AND finished_at IS NULL AND position < line_count
            AND (tried_at IS NULL OR tried_at <= clock_timestamp() - %s)
        ORDER BY tried_at NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING id
"""
