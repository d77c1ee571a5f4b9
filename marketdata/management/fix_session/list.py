import json

from django.core.management.base import CommandError

from accounts.keys.models import Partner
from marketdata.models import FixSession
from partnerapi.core.commands import CommandWithExamples, text_table

COLUMNS = (
    "compID",
    "login",
    "dropCopy",
    "state",
    "sources",
    "connectedSince",
    "lastHeartbeatAt",
    "messagesSent",
    "lastLogoutReason",
)


class Command(CommandWithExamples):
    help = """List the CompIDs of the FIX feed with their partners and states.

examples:
  manage.py fix_session list
  manage.py fix_session list --partner acme
  manage.py fix_session list --json
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--partner", metavar="LOGIN", help="only CompIDs of this partner"
        )
        parser.add_argument("--json", action="store_true", help="a JSON list")

    def handle(self, *, partner, **options):
        sessions = FixSession.objects.select_related("partner")
        if partner is not None:
            if not Partner.objects.filter(login=partner).exists():
                raise CommandError(f"There is no integration account {partner}.")
            sessions = sessions.filter(partner__login=partner)
        rows = [session_row(session) for session in sessions]
        if options["json"]:
            return json.dumps(rows)
        if not rows:
            return "There are no FIX sessions. fix_session issue assigns some."
        return text_table(COLUMNS, rows)


def session_row(session):
    return {
        "compID": session.comp_id,
        "login": session.partner.login,
        "dropCopy": session.is_drop_copy,
        "state": state(session),
        "sources": ", ".join(session.sources),
        "connectedSince": time_text(session.connected_since),
        "lastHeartbeatAt": time_text(session.last_heartbeat_at),
        "messagesSent": session.messages_sent,
        "lastLogoutReason": session.last_logout_reason,
    }


def state(session):
    if not session.enabled:
        return "switched off"
    return "connected" if session.connected_since else "not connected"


def time_text(time):
    return time and time.strftime("%Y-%m-%dT%H:%M:%SZ")
