"""Deliveries that a worker does: which are due stands in the database.

A worker takes a delivery by the time at which it was last tried. One that was killed
leaves it between two steps, and after the lease another worker goes on there.
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
    """Have a worker deliver the lines that are left, in this name if one is given."""
    changes = {"resumed_by": resumed_by} if resumed_by else {}
    DeliveryJob.objects.filter(pk=job.pk).update(
        handed_over_at=timezone.now(), tried_at=None, held="", **changes
    )
    job.refresh_from_db()


def deliver_due(seconds: float) -> bool:
    """Deliver what is due, for so many seconds; whether there is more to do now."""
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
