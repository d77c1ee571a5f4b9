from accounts.cash.verification import verify
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.invariants import tell


class Command(CommandWithExamples):
    help = """Check the integrity of cash, one line per rule.

This reads all cash data and its database guards, and changes nothing. The exit code is
1 if a rule is broken, which means that the guards were bypassed.

examples:
  manage.py verify cash
"""

    def handle(self, **options):
        return tell(self, verify())
