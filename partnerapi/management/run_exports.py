from partnerapi.core.commands import CommandWithExamples
from partnerapi.exports.writing import write_exports
from partnerapi.schema import schema

SECONDS = 60


class Command(CommandWithExamples):
    help = """Write the exports that partners have asked for, those whose turn it is.

Celery's beat has this done every two seconds; by hand it may run at any time, beside
itself. An export whose partner's budget is spent is left for later.

example:
  manage.py run exports
"""

    def handle(self, **options):
        while write_exports(schema, SECONDS):
            self.stdout.write("There is more to write …")
        return "No export can be written on now."
