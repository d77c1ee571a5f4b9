from django.db.models import Q
from django.utils import timezone

from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting
from partnerapi.exports.models import Export, ExportMember


class Command(DryRunCommand):
    help = """Delete the files of exports that have expired or failed.

A file is kept for a day; that there was an export, for 30 days. Celery's beat has this
done every ten minutes; by hand it may run at any time, beside the API and beside
itself. What it has deleted stays deleted when it is ended early.

examples:
  manage.py prune exports
  manage.py prune exports --dry-run
"""

    def handle(self, *, dry_run, **options):
        ended = Q(export__status__in=[Export.Status.FAILED, Export.Status.EXPIRED])
        ended |= Q(export__expires_at__lte=timezone.now())
        old = ExportMember.objects.filter(ended).count()
        if dry_run:
            return f"{old} members of files would be deleted{DRY_RUN}"
        with counting() as begin:
            deleted = Export.objects.prune(begin("Old members of files", old))
        kept = Export.objects.filter(status=Export.Status.READY).count()
        return (
            f"Deleted {deleted} members of files, and what was known of old exports; "
            f"{kept} exports can be downloaded."
        )
