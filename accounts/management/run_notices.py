from django.conf import settings
from django.core.management.base import CommandError

from accounts.history.notices import send_notices
from partnerapi.core.commands import CommandWithExamples

SECONDS = 60


class Command(CommandWithExamples):
    help = """Send the pending e-mails that notify approvers of staff changes.

A worker runs this every two seconds.

examples:
  manage.py run notices
"""

    def handle(self, **options):
        if not settings.EMAIL_URL:
            raise CommandError(
                "EMAIL_URL is not set: nothing was sent; all e-mails wait."
            )
        sent, failed = send_notices(SECONDS)
        said = f"Sent {sent} e-mails; {failed} failed."
        if failed:
            raise CommandError(
                f"{said} They are retried; their rows hold the server's answer."
            )
        return said
