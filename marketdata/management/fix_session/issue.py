from argparse import ArgumentTypeError

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from accounts.access import Scope
from accounts.keys.models import ApiKey, Partner
from marketdata.fix.client.health import ANYWHERE
from marketdata.models.sessions import (
    MOST_SESSIONS,
    USUAL_SESSIONS,
    FixSession,
    NotBound,
)
from partnerapi.core.commands import DRY_RUN, DryRunCommand


def sessions(text):
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SESSIONS:
        raise ArgumentTypeError(f"{text!r} is not a number, 1 to {MOST_SESSIONS}")
    return int(text)


class Command(DryRunCommand):
    help = f"""Assign CompIDs of the FIX feed to a partner, and print how to log on.

They are the first free ones of the acceptor's pool; no restart is needed. A partner may
have {MOST_SESSIONS}. It logs on with its API key; `key issue` makes one.

examples:
  manage.py fix_session issue acme
  manage.py fix_session issue acme --count 1
  manage.py fix_session issue acme --count 1 --drop-copy
  manage.py fix_session issue acme --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument("login", help="login of the integration account")
        parser.add_argument(
            "--count",
            type=sessions,
            default=USUAL_SESSIONS,
            help="how many more CompIDs; default: %(default)s",
        )

        parser.add_argument(
            "--drop-copy",
            action="store_true",
            help="they get reports of the partner's orders instead of market data",
        )

    def handle(self, *, login, count, drop_copy, dry_run, **options):
        try:
            partner = Partner.objects.get(login=login)
        except Partner.DoesNotExist:
            raise CommandError(
                f"There is no integration account {login}. key issue makes one, "
                "with --create-partner."
            ) from None
        try:
            with transaction.atomic():
                bound = FixSession.objects.bind(partner, count, drop_copy)
                transaction.set_rollback(dry_run)
        except NotBound as error:
            raise CommandError(f"{error} Nothing was assigned.") from None
        comp_ids = ", ".join(session.comp_id for session in bound)
        if dry_run:
            return f"{comp_ids} would be assigned to {login}{DRY_RUN}"
        keys = ApiKey.objects.live(timezone.now()).filter(partner=partner)
        scope = Scope.TRADING_READ if drop_copy else Scope.MARKETDATA_READ
        if not keys.filter(scopes__contains=[scope]).exists():
            self.stderr.write(
                f"{login} has no active key with the scope {scope}: "
                f"manage.py key issue {login} --scope {scope}",
                self.style.WARNING,
            )
        host = settings.FIX_HOST
        if host in ANYWHERE:
            host = "the public name of the acceptor's machine"
        encryption = "TLS 1.2 or 1.3" if settings.FIX_TLS_CERTIFICATE else "none"
        return f"""Assigned to {login}: {comp_ids}

BeginString   (8)    FIX.4.4
SenderCompID  (49)   {" or ".join(session.comp_id for session in bound)}
TargetCompID  (56)   {settings.FIX_COMP_ID}
Host                 {host}
Port                 {settings.FIX_PORT}
Encryption           {encryption}
HeartBtInt    (108)  {settings.FIX_MIN_HEARTBEAT} to 60
Username      (553)  {login}, or left out
Password      (554)  a live API key of {login}, whole, as in X-Token-Auth

Each CompID may have one connection at a time."""
