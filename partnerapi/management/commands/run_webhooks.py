import asyncio

from django.core.management.base import CommandError

from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.signals import ended_by_signals
from partnerapi.core.starting import StartRefused, check_start
from partnerapi.webhooks.delivering import Courier


class Command(CommandWithExamples):
    help = """Send events to partners' webhook endpoints until SIGTERM or Ctrl-C.

It needs PostgreSQL. With Valkey, events are sent as they are committed; without it,
within a second. One process sends at a time, with a lease in the database. Others wait,
and one of them takes over within five seconds of its end.

examples:
  manage.py run_webhooks
"""

    def handle(self, **options):
        try:
            check_start()
        except StartRefused as refused:
            raise CommandError(f"Webhooks are not sent: {refused}.") from None
        with ended_by_signals() as stopping:
            asyncio.run(Courier().run(stopping))
