from django.core.management.base import CommandError

from marketdata.trading.clock import Clock
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.signals import ended_by_signals
from partnerapi.core.starting import StartRefused, check_start


class Command(CommandWithExamples):
    help = """Open and close internal markets on schedule until SIGTERM or Ctrl-C.

It also ends orders whose time is over, and those of partners whose timer
(`cancelOrdersAfter`) has run out, and closes offerings whose time is over. It needs
PostgreSQL alone: no worker, no beat and no Valkey. One clock works at a time, with a
lease in the database. Others wait, and one of them takes over within a second and a
half of its end.

examples:
  manage.py run_market_clock
"""

    def handle(self, **options):
        try:
            check_start()
        except StartRefused as refused:
            raise CommandError(f"The market clock does not start: {refused}.") from None
        with ended_by_signals() as stopping:
            Clock().run(stopping)
