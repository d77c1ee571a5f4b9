import getpass
import json
import secrets

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.access import Scope, Unauthenticated
from accounts.history.models import StaffNotice
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from marketdata.models import FixSession
from partnerapi.core.authors import written_by
from partnerapi.core.owner import owner_alias
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.sandbox.data.sessions import DEMO, write_fix_sessions

STAFF = "staff@sandbox.example"
COLLEAGUE = "colleague@sandbox.example"
"""Decides what `STAFF` asked for: no one may decide a request of their own."""

MAKING = ["command sandbox seed", "command sandbox access"]


class Command(BaseCommand):
    help = (
        "Show the sandbox's staff logins, key and CompIDs; create missing ones. "
        "Example: manage.py sandbox access"
    )

    def add_arguments(self, parser):
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="one line of JSON"
        )

    def handle(self, *, as_json, **options):
        if not settings.PARTNER_API_SANDBOX:
            raise CommandError(
                "This installation is not a sandbox; use createsuperuser and "
                "key issue, or set PARTNER_API_SANDBOX=true."
            )
        password, key = self.staff_password(), self.live_key()
        who = f"operator {getpass.getuser()}"
        with written_by(who, "command sandbox access", using=owner_alias()):
            self.sign_up(STAFF, "Staff", password)
            self.sign_up(COLLEAGUE, "Colleague", password)
        # Ten e-mails about the sandbox's own making would hide what `up` says.
        StaffNotice.objects.filter(
            sent_at=None, change__change__source__in=MAKING
        ).update(sent_at=timezone.now())
        write_fix_sessions()
        sessions = FixSession.objects.filter(partner__login=DEMO, enabled=True)
        comp_ids, copies = (
            list(
                sessions.filter(is_drop_copy=is_drop_copy).values_list(
                    "comp_id", flat=True
                )
            )
            for is_drop_copy in (False, True)
        )
        if as_json:
            staff = {"login": STAFF, "colleague": COLLEAGUE, "password": password}
            fix = {"compIDs": comp_ids, "dropCopyCompIDs": copies}
            return json.dumps({"key": key, "staff": staff} | fix)
        return (
            f"login     {STAFF} or {COLLEAGUE}\n"
            f"password  {password}\nkey       {key}\n"
            f"CompIDs   {', '.join(comp_ids)}; drop copy: {', '.join(copies)}"
        )

    def staff_password(self):
        """The password that is kept in the state directory."""
        kept = settings.STATE_DIRECTORY / "staff-password"
        if not kept.exists():
            kept.touch(mode=0o600)
            kept.write_text(secrets.token_urlsafe(12))
        return kept.read_text()

    def sign_up(self, login, last_name, password):
        """Make the login where there is none, and give it the password.

        This person decides at once.
        """
        users = User.objects.db_manager(owner_alias())
        staff = users.filter(email=login).first()
        if staff is None:
            users.create_superuser(
                login,
                password,
                type=User.Type.INDIVIDUAL,
                first_name="Sandbox",
                last_name=last_name,
            )
        elif not staff.check_password(password):
            staff.set_password(password)
            staff.save(update_fields=["password"])
            users.appoint(staff)

    def live_key(self):
        """The key that is kept, or a new one where it is refused by now."""
        token = settings.PARTNER_API_SANDBOX_KEY
        try:
            ApiKey.objects.authenticate(token, timezone.now())
        except Unauthenticated:
            try:
                partner = Partner.objects.get(login=DEMO)
            except Partner.DoesNotExist:
                raise CommandError(
                    f"There is no partner {DEMO}; run manage.py sandbox seed first."
                ) from None
            _, token = approved_key(partner, Scope.values)
        return token
