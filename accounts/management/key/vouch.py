from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.models.functions import Now

from accounts.management.people import active_staff
from accounts.passkeys.models import Passkey
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.owner import owner_alias


class Command(CommandWithExamples):
    help = """Vouch for the first passkey of a member of staff, as the tables' owner.

The person enrols it in the back office, page Passkeys, and reads you its code, in
person or by telephone. It counts once a statement of the register lists it; where
PARTNER_API_STATEMENTS is set, this command writes one. A later passkey is signed with
an older one, or by two deciders.

examples:
  manage.py key vouch ana@example.com 3f2a-90bc
"""

    def add_arguments(self, parser):
        parser.add_argument("email", help="the member of staff")
        parser.add_argument("code", help="the code that the page shows")

    def handle(self, *, email, code, **options):
        person = active_staff("EMAIL", email)
        waiting = Passkey.objects.filter(
            person=person, vouched_at=None, revoked_at=None
        )
        found = [key for key in waiting if key.code == code.strip().lower()]
        if not found:
            raise CommandError(f"No passkey of {email} waits with the code {code}.")
        if Passkey.objects.counting().filter(person=person).exists():
            raise CommandError(
                f"{email} has a passkey that counts: sign the new one with it, or have "
                "the lost one revoked first."
            )
        [key] = found
        Passkey.objects.using(owner_alias()).filter(pk=key.pk).update(
            by_owner=True, vouched_at=Now()
        )
        self.stdout.write(f"Vouched for {key}.")
        if settings.PARTNER_API_STATEMENTS and settings.PARTNER_API_STATEMENT_KEY:
            call_command("export", "register-statement", stdout=self.stdout)
            return None
        return "It counts after the next manage.py export register-statement."
