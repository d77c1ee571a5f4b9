from marketdata.trading.models import OrderEvent
from marketdata.trading.verification import verify
from partnerapi.core.commands import CommandWithExamples, counting
from partnerapi.core.invariants import tell


class Command(CommandWithExamples):
    help = """Check everything that must be true of our markets, a line for each rule.

It reads all orders, executions and what settled them, and plays each market's log again
through the matcher: the very same trades must come of it. It changes nothing, and may
run beside writers. The exit code is 1 where a rule is broken: then someone got past
the database's guards.

examples:
  manage.py verify market
"""

    def handle(self, **options):
        with counting() as begin:
            advance = begin("Events", OrderEvent.objects.count())
            findings = list(verify(advance))
        return tell(self, findings)
