from django.core.management.base import CommandError

from marketdata.models import FixSession
from partnerapi.core.commands import DRY_RUN, DryRunCommand


class Command(DryRunCommand):
    help = """Switch a FIX session off, or on again.

Logons are refused while it is off; a connected session is logged out within five
seconds.

examples:
  manage.py fix_session switch PARTNER007 off
  manage.py fix_session switch PARTNER007 on
  manage.py fix_session switch PARTNER007 off --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "comp_id", metavar="COMPID", help="as shown by `fix_session list`"
        )
        parser.add_argument("state", choices=["on", "off"])

    def handle(self, *, comp_id, state, dry_run, **options):
        try:
            session = FixSession.objects.select_related("partner").get(comp_id=comp_id)
        except FixSession.DoesNotExist:
            raise CommandError(
                f"There is no FIX session {comp_id}. fix_session list shows all of "
                "them."
            ) from None
        enabled = state == "on"
        named = f"{comp_id} of {session.partner.login}"
        if session.enabled == enabled:
            raise CommandError(f"{named} is already {state}. Nothing to do.")
        if dry_run:
            return f"{named} would be switched {state}{DRY_RUN}"
        session.switch(enabled)
        return f"{named} is {state}."
