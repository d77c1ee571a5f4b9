from marketdata.trading.models import OrderEvent
from marketdata.trading.verification import verify
from partnerapi.core.commands import CommandWithExamples, counting
from partnerapi.core.invariants import tell


class Command(CommandWithExamples):
    help = """Check all rules of the internal markets; prints a line per rule.

It reads all orders, executions and settlements, and replays each market's log through
the matcher, which must produce the same trades. It changes nothing and may run beside
writers. Exit code 1 means that a rule is broken: someone bypassed the database's
guards.

examples:
  manage.py verify market
"""

    def handle(self, **options):
        with counting() as begin:
            advance = begin("Events", OrderEvent.objects.count())
            findings = list(verify(advance))
        return tell(self, findings)
