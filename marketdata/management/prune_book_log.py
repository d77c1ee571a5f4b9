from argparse import ArgumentTypeError
from datetime import timedelta

from django.utils import timezone

from marketdata.books.pruning import KEEP, prunable_logs, prune
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting

KEEP_HOURS = KEEP // timedelta(hours=1)
MOST_HOURS = 24 * 366 * 10


def hours(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not KEEP_HOURS <= number <= MOST_HOURS:
        raise ArgumentTypeError(f"{text}: give hours, {KEEP_HOURS} to {MOST_HOURS}")
    return number


class Command(DryRunCommand):
    help = f"""Delete changes of order books that a later snapshot covers.

Changes and snapshots older than the retention time are deleted; the newest two
snapshots of each book stay, whatever their age. Trades are kept permanently. Nothing
that the feed or a restart needs is deleted. Celery's beat runs this every hour, keeping
{KEEP_HOURS} hours; it may be run by hand at any time, beside writers and beside itself.
If it is stopped early, its deletions so far stand.

examples:
  manage.py prune book-log --dry-run
  manage.py prune book-log --keep-hours 168
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--keep-hours",
            metavar="HOURS",
            type=hours,
            default=KEEP_HOURS,
            help=f"retention time in hours ({KEEP_HOURS})",
        )

    def handle(self, *, keep_hours, dry_run, **options):
        logs = prunable_logs(timezone.now() - timedelta(hours=keep_hours))
        what = (
            f"{sum(log.changes for log in logs):,} changes and "
            f"{sum(log.snapshots for log in logs):,} snapshots of {len(logs):,} books"
        )
        if dry_run:
            return f"{what} would be deleted{DRY_RUN}"
        with counting() as begin:
            deleted = prune(logs, begin("Rows", sum(log.rows for log in logs)))
        return f"Deleted {deleted:,} changes and snapshots of {len(logs):,} books."
