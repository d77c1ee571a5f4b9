from django.utils import timezone

from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting
from partnerapi.gateway.models import IdempotencyRecord


class Command(DryRunCommand):
    help = """Delete the answers of mutations that are no longer kept for repetitions.

An answer is kept for 24 hours. Celery's beat has this done every ten minutes; by hand
it may run at any time, beside the API and beside itself. What it has deleted stays
deleted when it is ended early.

examples:
  manage.py prune idempotency-records
  manage.py prune idempotency-records --dry-run
"""

    def handle(self, *, dry_run, **options):
        expired = IdempotencyRecord.objects.expired(timezone.now())
        if dry_run:
            return (
                f"{expired.count()} expired idempotency records would be deleted"
                f"{DRY_RUN}"
            )
        with counting() as begin:
            deleted = expired.prune(begin("Expired records", expired.count()))
        return (
            f"Deleted {deleted} expired idempotency records; "
            f"{IdempotencyRecord.objects.count()} are kept."
        )
