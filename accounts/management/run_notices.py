from django.conf import settings
from django.core.management.base import CommandError

from accounts.desk.notices import send_desk_notices
from accounts.history.notices import send_notices
from partnerapi.core.commands import CommandWithExamples

SECONDS = 60


class Command(CommandWithExamples):
    help = """Send the pending e-mails about staff changes and partners' desks.

A worker runs this every two seconds.

examples:
  manage.py run notices
"""

    def handle(self, **options):
        if not settings.EMAIL_URL:
            raise CommandError(
                "EMAIL_URL is not set: nothing was sent; all e-mails wait."
            )
        sent, failed = map(
            sum, zip(send_notices(SECONDS), send_desk_notices(SECONDS), strict=True)
        )
        said = f"Sent {sent} e-mails; {failed} failed."
        if failed:
            raise CommandError(
                f"{said} They are retried; their rows hold the server's answer."
            )
        return said
