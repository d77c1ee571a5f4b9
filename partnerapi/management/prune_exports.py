from django.db.models import Q
from django.utils import timezone

from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting
from partnerapi.exports.models import Export, ExportMember


class Command(DryRunCommand):
    help = """Delete the files of exports that have expired or failed.

A file is kept for a day, the record of an export for 30 days. Celery's beat runs this
every ten minutes; it may be run by hand at any time, beside the API and beside itself.
If it is stopped early, its deletions so far stand.

examples:
  manage.py prune exports
  manage.py prune exports --dry-run
"""

    def handle(self, *, dry_run, **options):
        ended = Q(export__status__in=[Export.Status.FAILED, Export.Status.EXPIRED])
        ended |= Q(export__expires_at__lte=timezone.now())
        old = ExportMember.objects.filter(ended).count()
        if dry_run:
            return f"{old} file parts would be deleted{DRY_RUN}"
        with counting() as begin:
            deleted = Export.objects.prune(begin("Old file parts", old))
        kept = Export.objects.filter(status=Export.Status.READY).count()
        return (
            f"Deleted {deleted} file parts and the records of old exports; {kept} "
            "exports can be downloaded."
        )
