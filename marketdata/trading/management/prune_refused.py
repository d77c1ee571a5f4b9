from marketdata.trading import refused
from partnerapi.core.commands import CommandWithExamples


class Command(CommandWithExamples):
    help = """Delete refused orders whose retention has ended.

They are kept as long as events, PARTNER_API_EVENT_DAYS. Celery's beat runs this every
night.

examples:
  manage.py prune refused-orders
"""

    def handle(self, **options):
        return f"Deleted {refused.prune()} refused orders past their retention."
