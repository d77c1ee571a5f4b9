from django.utils import timezone

from accounts.management.progress import counting
from partnerapi.core.commands import CommandWithExamples
from partnerapi.models import IdempotencyRecord


class Command(CommandWithExamples):
    help = """Delete the answers of mutations that are no longer kept for repetitions.

An answer is kept for 24 hours. Celery's beat has this done every ten minutes; by hand
it may run at any time, beside the API and beside itself. What it has deleted stays
deleted when it is ended early.

examples:
  manage.py prune_idempotency_records
  manage.py prune_idempotency_records --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--dry-run", action="store_true", help="count, and delete nothing"
        )

    def handle(self, *, dry_run, **options):
        expired = IdempotencyRecord.objects.expired(timezone.now())
        if dry_run:
            return (
                f"{expired.count()} expired idempotency records would be deleted "
                "(dry run: nothing was written)"
            )
        with counting() as progress:
            task = progress.add_task("Expired records", total=expired.count())
            deleted = expired.prune(lambda done: progress.advance(task, done))
        return (
            f"Deleted {deleted} expired idempotency records; "
            f"{IdempotencyRecord.objects.count()} are kept."
        )
