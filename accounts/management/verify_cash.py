from accounts.cash.verification import verify
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.invariants import tell


class Command(CommandWithExamples):
    help = """Check everything that must be true of cash, a line for each rule.

It reads all cash and what guards it, and changes nothing. The exit code is 1 where a
rule is broken: then someone got past the database's guards.

examples:
  manage.py verify cash
"""

    def handle(self, **options):
        return tell(self, verify())
