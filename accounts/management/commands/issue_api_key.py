from argparse import ArgumentTypeError
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from accounts.access import Scope
from accounts.models import ApiKey, Partner
from partnerapi.core.commands import CommandWithExamples

MOST_DAYS = 3650


def days(text):
    if not text.isdecimal() or not 1 <= int(text) <= MOST_DAYS:
        raise ArgumentTypeError(f"{text!r} is not a number of days, 1 to {MOST_DAYS}")
    return int(text)


class Command(CommandWithExamples):
    help = """Issue an API key to a partner's integration account.

The key goes to standard output, once; only a digest of it is stored. A partner may
hold several keys, so issue the new one before the old one is revoked.

examples:
  manage.py issue_api_key acme --create-partner "Acme Securities" --all-scopes
  manage.py issue_api_key acme --scope issuers:read --scope captable:read
  manage.py issue_api_key acme --scope issuers:read --expires-in 90
"""

    def add_arguments(self, parser):
        parser.add_argument("login", help="login of the integration account")
        scopes = parser.add_mutually_exclusive_group(required=True)
        scopes.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="what the key may do; may be given several times",
        )
        scopes.add_argument(
            "--all-scopes", action="store_true", help="the key may do everything"
        )
        parser.add_argument(
            "--expires-in",
            type=days,
            metavar="DAYS",
            help="days until the key is refused; left out: it does not expire",
        )
        parser.add_argument(
            "--create-partner",
            metavar="NAME",
            help="make the integration account first, under this name",
        )

    def handle(
        self, *, login, scope, all_scopes, expires_in, create_partner, **options
    ):
        expires_at = expires_in and timezone.now() + timedelta(days=expires_in)
        scopes = Scope.values if all_scopes else set(scope)
        with transaction.atomic():
            if create_partner is None:
                partner = existing_partner(login)
            else:
                partner = new_partner(login, create_partner)
            key, token = ApiKey.objects.issue(partner, scopes, expires_at)
        self.stdout.write(token)
        until = f"until {expires_at:%Y-%m-%d %H:%M} UTC" if expires_at else "no expiry"
        self.stderr.write(
            f"Key …{key.last_four} of {login}: {', '.join(key.scopes)}; {until}. It is "
            "shown only now: hand it over by a safe channel. The partner sends it in "
            "the header X-Token-Auth and uses the same key to log on to FIX."
        )


def existing_partner(login):
    try:
        partner = Partner.objects.get(login=login)
    except Partner.DoesNotExist:
        raise CommandError(
            f"There is no integration account {login}. "
            "To make it, add --create-partner NAME."
        ) from None
    if not partner.is_active:
        raise CommandError(
            f"{login} is switched off, so its keys are refused. "
            "Switch it on in the admin first."
        )
    return partner


def new_partner(login, name):
    partner = Partner(login=login, name=name)
    try:
        partner.full_clean()
    except ValidationError as error:
        problems = "; ".join(
            f"{field}: {' '.join(messages)}"
            for field, messages in error.message_dict.items()
        )
        raise CommandError(f"No integration account was made. {problems}") from None
    partner.save(force_insert=True)
    return partner
