from partnerapi.core.commands import CommandWithExamples
from partnerapi.gateway.counts import RequestCount


class Command(CommandWithExamples):
    help = """Delete the hourly counts of requests that are older than 30 days.

Celery's beat runs this every hour.

examples:
  manage.py prune request-counts
"""

    def handle(self, **options):
        return f"Deleted {RequestCount.objects.prune()} hourly counts of requests."
