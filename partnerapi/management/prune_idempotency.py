from django.utils import timezone

from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting
from partnerapi.gateway.models import IdempotencyRecord


class Command(DryRunCommand):
    help = """Delete stored responses of mutations past their retention.

A response is kept for 24 hours, for retries. Celery's beat runs this every ten
minutes; it may be run by hand at any time, beside the API and beside itself. If it is
stopped early, its deletions so far stand.

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
