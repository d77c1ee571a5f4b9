from django.conf import settings
from django.core.management.base import CommandError

from accounts.history.notices import send_notices
from partnerapi.core.commands import CommandWithExamples

SECONDS = 60


class Command(CommandWithExamples):
    help = """Send the e-mails that are due: they tell deciders of changes of staff.

A worker does so every two seconds.

examples:
  manage.py run notices
"""

    def handle(self, **options):
        if not settings.EMAIL_URL:
            raise CommandError("EMAIL_URL is not set: nothing was sent, and all waits.")
        sent, failed = send_notices(SECONDS)
        said = f"Sent {sent} e-mails; {failed} failed."
        if failed:
            raise CommandError(
                f"{said} They are tried again; their rows say what the server said."
            )
        return said
