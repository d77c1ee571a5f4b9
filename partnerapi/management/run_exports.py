from partnerapi.core.commands import CommandWithExamples
from partnerapi.exports.writing import write_exports
from partnerapi.schema import schema

SECONDS = 60


class Command(CommandWithExamples):
    help = """Write the exports that are due.

Celery's beat runs this every two seconds; it may be run by hand at any time, beside
itself. An export whose partner's budget is spent waits.

example: manage.py run exports"""

    def handle(self, **options):
        while write_exports(schema, SECONDS):
            self.stdout.write("There is more to write …")
        return "No export can be continued now."
