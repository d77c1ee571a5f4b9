from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from issuers.models import Event
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting


class Command(DryRunCommand):
    help = """Delete the events of partners that are no longer kept.

Events are kept for PARTNER_API_EVENT_DAYS; the database refuses to remove what is
younger than 30 days. Celery's beat has this done every hour; by hand it may run at any
time, beside the API and beside itself. What it has deleted stays deleted when it is
ended early.

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
