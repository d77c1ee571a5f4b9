from django.core.management.base import CommandError

from issuers.register.verification import verify
from partnerapi.core.commands import CommandWithExamples


class Command(CommandWithExamples):
    help = """Check everything that must be true of the register, a line for each rule.

It reads the whole register and what guards it, and changes nothing. The exit code is 1
where a rule is broken: then somebody got past the database's guards.

examples:
  manage.py verify_register
"""

    def handle(self, **options):
        rules = broken = 0
        for finding in verify():
            rules += 1
            broken += finding.breaches > 0
            said = (
                self.style.ERROR(f"BROKEN {finding.breaches:,} times")
                if finding.breaches
                else self.style.SUCCESS("ok")
            )
            self.stdout.write(f"{finding.rule}: {finding.figure:,}, {said}")
            for detail in finding.details:
                self.stdout.write(f"  {detail}")
        if broken:
            raise CommandError(
                f"{broken} of {rules} rules are broken, marked above. "
                "Compare with a backup, and ask who can write to the database directly."
            )
        return f"All {rules} rules hold."
