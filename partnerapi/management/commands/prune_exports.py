from django.utils import timezone

from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting
from partnerapi.models import Export


class Command(DryRunCommand):
    help = """Delete the files of exports that have expired or failed.

A file is kept for a day; that there was an export, for 30 days. Celery's beat has this
done every ten minutes; by hand it may run at any time, beside the API and beside
itself. What it has deleted stays deleted when it is ended early.

examples:
  manage.py prune_exports
  manage.py prune_exports --dry-run
"""

    def handle(self, *, dry_run, **options):
        expired = Export.objects.filter(
            status=Export.Status.READY, expires_at__lte=timezone.now()
        ).count()
        if dry_run:
            return f"{expired} exports would expire{DRY_RUN}"
        with counting() as begin:
            deleted = Export.objects.prune(begin("Old members and exports", 0))
        kept = Export.objects.filter(status=Export.Status.READY).count()
        return (
            f"{expired} exports expired; deleted {deleted} members and old exports. "
            f"{kept} exports can be downloaded."
        )
