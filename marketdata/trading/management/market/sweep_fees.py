from marketdata.trading.tariffs import sweep_fees
from partnerapi.core.commands import CommandWithExamples


class Command(CommandWithExamples):
    help = """Move the fees of each market to the platform's account for fees.

Each market pays once. What a market lacks after busts comes from the platform's
account. Celery's beat runs this every night.

examples:
  manage.py market sweep-fees
"""

    def handle(self, **options):
        return f"Moved the fees of {sweep_fees()} markets."
