import json

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.keys.models import ApiKey, Partner
from partnerapi.core.commands import CommandWithExamples, text_table

COLUMNS = (
    "login",
    "id",
    "lastFour",
    "state",
    "scopes",
    "createdAt",
    "expiresAt",
    "lastUsedAt",
)


class Command(CommandWithExamples):
    help = """List API keys with their state and scopes. Secrets are never shown.

examples:
  manage.py key list
  manage.py key list --partner acme
  manage.py key list --json
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--partner", metavar="LOGIN", help=("only keys of this partner")
        )
        parser.add_argument("--json", action="store_true", help="print a JSON list")

    def handle(self, *, partner, **options):
        keys = ApiKey.objects.select_related("partner").order_by(
            "partner__login", "created_at", "id"
        )
        if partner is not None:
            if not Partner.objects.filter(login=partner).exists():
                raise CommandError(f"There is no integration account {partner}.")
            keys = keys.filter(partner__login=partner)
        at = timezone.now()
        rows = [key_row(key, at) for key in keys.defer("secret_digest")]
        if options["json"]:
            return json.dumps(rows)
        if not rows:
            return "There are no keys. Create one with `manage.py key issue`."
        return text_table(COLUMNS, rows)


def key_row(key, at):
    return {
        "login": key.partner.login,
        "id": str(key.id),
        "lastFour": key.last_four,
        "state": state(key, at),
        "scopes": key.scopes,
        "createdAt": time_text(key.created_at),
        "expiresAt": time_text(key.expires_at),
        "lastUsedAt": time_text(key.last_used_at),
        "revokedAt": time_text(key.revoked_at),
    }


def state(key, at):
    if key.revoked_at:
        return "revoked"
    if key.expires_at and key.expires_at <= at:
        return "expired"
    return "live" if key.partner.is_active else "partner switched off"


def time_text(time):
    return time and time.strftime("%Y-%m-%dT%H:%M:%SZ")
