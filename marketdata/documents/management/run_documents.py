from django.utils import timezone

from marketdata.documents.issuing import issue_due
from marketdata.trading.management.export_records import day
from partnerapi.core.commands import DRY_RUN, CommandWithExamples

HOUR = 3_600


class Command(CommandWithExamples):
    help = """Issue contract notes, statements and invoices that are due.

A contract note is of an account and a day, a statement of an account and a quarter, an
invoice of a partner and a month, in MARKET_TIME_ZONE. Each is issued once, as a PDF and
as JSON, and kept. Celery's beat runs this every night, and catches up what it missed.
It goes on for an hour at most.

examples:
  manage.py run documents --dry-run
  manage.py run documents
  manage.py run documents --since 2026-01-01
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--since",
            type=day,
            metavar="DAY",
            help="look at each period from that of this day on, such as 2026-01-01",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="count what is due, issue nothing"
        )

    def handle(self, *, since, dry_run, **options):
        found = issue_due(timezone.now(), HOUR, since, dry_run)
        return f"{'Due' if dry_run else 'Issued'}: {found}.{DRY_RUN * dry_run}"
