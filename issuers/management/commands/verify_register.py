from django.core.management.base import CommandError

from issuers.register.verification import INVARIANTS, verify
from partnerapi.core.commands import CommandWithExamples


class Command(CommandWithExamples):
    help = """Check everything that must be true of the register, a line for each rule.

It reads the whole register in one statement and changes nothing. The exit code is 1
where a rule is broken: then somebody got past the database's guards.

examples:
  manage.py verify_register
"""

    def handle(self, **options):
        broken = 0
        for finding in verify():
            broken += finding.breaches > 0
            said = (
                self.style.ERROR(f"BROKEN {finding.breaches:,} times")
                if finding.breaches
                else self.style.SUCCESS("ok")
            )
            self.stdout.write(f"{finding.rule}: {finding.figure:,}, {said}")
        if broken:
            raise CommandError(
                f"{broken} of {len(INVARIANTS)} rules are broken, marked above. "
                "Compare with a backup, and ask who can write to the database directly."
            )
        return f"All {len(INVARIANTS)} rules hold."
