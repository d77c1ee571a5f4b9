from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from issuers.models import Event
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting


class Command(DryRunCommand):
    help = """Delete events whose retention has ended.

Events are kept for PARTNER_API_EVENT_DAYS; the database refuses to delete events
younger than 30 days. Celery beat runs this every hour; it can also be run manually at
any time, even twice at once. Ending it early keeps the deletions made so far.

examples:
  manage.py prune events
  manage.py prune events --dry-run
"""

    def handle(self, *, dry_run, **options):
        kept = timedelta(days=settings.PARTNER_API_EVENT_DAYS)
        old = Event.objects.filter(at__lt=timezone.now() - kept).count()
        if dry_run:
            return f"{old} events would be deleted{DRY_RUN}"
        with counting() as begin:
            deleted = Event.objects.prune(begin("Old events", old))
        return f"Deleted {deleted} events; {Event.objects.count()} are kept."
