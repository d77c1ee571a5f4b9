from partnerapi.core.commands import CommandWithExamples
from partnerapi.staff.authentication.models import FailedSignIn


class Command(CommandWithExamples):
    help = """Delete the records of failed sign-ins that are older than 90 days.

Of the others, the last million is kept. Celery's beat runs this every night.

examples:
  manage.py prune failed-sign-ins
"""

    def handle(self, **options):
        return f"Deleted {FailedSignIn.objects.prune()} records of failed sign-ins."
