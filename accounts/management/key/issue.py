from argparse import ArgumentTypeError
from contextlib import contextmanager
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.utils import timezone

from accounts.access import Scope
from accounts.approvals.four_eyes import NotApproved, Superseded, carry_out, carrying
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.keys.approvals import IssueKey, key_content, key_title
from accounts.keys.models import ApiKey, Partner
from accounts.management.people import (
    active_staff,
    add_second_person,
    file_for_approval,
)
from partnerapi.core.commands import CommandWithExamples

MOST_DAYS = 3650


def days(text):
    if not text.isdecimal() or not 1 <= int(text) <= MOST_DAYS:
        raise ArgumentTypeError(f"{text!r} is not a number of days, 1 to {MOST_DAYS}")
    return int(text)


class Command(CommandWithExamples):
    help = """Issue an API key to a partner's integration account.

The key goes to standard output, once; only a digest of it is stored. A partner may hold
several keys, so issue the new one before the old one is revoked.

A second member of staff approves each key: --request files the request, and --approval
issues the approved key.

examples:
  manage.py key issue acme --create-partner "Acme Securities" --all-scopes \\
      --request --staff ana@example.com --reason "Contract of 3 March"
  manage.py key issue acme --scope issuers:read --expires-in 90 \\
      --request --staff ana@example.com --reason "Contract of 3 March"
  manage.py key issue acme --approval 019376a2-5c1e-7b04-9c55-2f0e6f6f1d11
"""

    def add_arguments(self, parser):
        parser.add_argument("login", help="login of the integration account")
        scopes = parser.add_mutually_exclusive_group()
        scopes.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="a scope of the key; may be given several times",
        )
        scopes.add_argument(
            "--all-scopes", action="store_true", help="give the key all scopes"
        )
        parser.add_argument(
            "--expires-in",
            type=days,
            metavar="DAYS",
            help="days until the key expires; by default, it does not expire",
        )
        parser.add_argument(
            "--create-partner",
            metavar="NAME",
            help="create the integration account first, with this name",
        )
        add_second_person(parser)
        parser.add_argument(
            "--staff", metavar="EMAIL", help="the member of staff who requests it"
        )
        parser.add_argument("--reason", metavar="TEXT", help="reason, for --request")

    def handle(
        self, *, login, scope, all_scopes, expires_in, create_partner, request,
        approval, staff, reason, **options,
    ):  # fmt: skip
        if approval:
            key, token = approved_key(login, approval)
        else:
            if not (scope or all_scopes):
                raise CommandError("Give the key scopes with --scope or --all-scopes.")
            if request and not (staff and reason and reason.strip()):
                raise CommandError("--request needs --staff EMAIL and --reason TEXT.")
            expires_at = expires_in and timezone.now() + timedelta(days=expires_in)
            scopes = Scope.values if all_scopes else set(scope)
            with issuing():
                if create_partner is None:
                    partner = existing_partner(login)
                else:
                    partner = new_partner(login, create_partner)
                if request:
                    asked = request_key(partner, scopes, expires_at, staff, reason)
                    self.stdout.write(asked)
                    return
                key, token = ApiKey.objects.issue(partner, scopes, expires_at)
        self.stdout.write(token)
        at = key.expires_at
        until = f"until {at:%Y-%m-%d %H:%M} UTC" if at else "no expiry"
        self.stderr.write(
            f"Key …{key.last_four} of {login}: {', '.join(key.scopes)}; {until}. It is "
            "shown only once: hand it over through a secure channel. The partner sends "
            "it in the header X-Token-Auth and uses the same key to log on to FIX."
        )


@contextmanager
def issuing():
    try:
        with carrying([]):
            yield
    except NotApproved as error:
        raise CommandError(
            f"{error} No key was issued; use --request to request approval."
        ) from None


def request_key(partner, scopes, expires_at, staff, reason):
    content = key_content(partner, scopes, expires_at)
    title = key_title(partner, scopes, expires_at)
    person = active_staff("--staff", staff)
    return file_for_approval(ApprovalKind.KEY, content, title, reason.strip(), person)


def approved_key(login, approval):
    """Issue the key of an approved request; return it with its token."""
    asked = ApprovalRequest.objects.filter(
        pk=approval, kind=ApprovalKind.KEY, content__partner=str(partner_id(login))
    ).first()
    if asked is None:
        raise CommandError(
            f"--approval {approval}: there is no request for a key of {login}."
        )
    try:
        return carry_out(asked, IssueKey())
    except (NotApproved, Superseded) as error:
        raise CommandError(f"{error} No key was issued.") from None


def partner_id(login):
    return existing_partner(login).pk


def existing_partner(login):
    try:
        partner = Partner.objects.get(login=login)
    except Partner.DoesNotExist:
        raise CommandError(
            f"There is no integration account {login}. To create it, add "
            "--create-partner NAME."
        ) from None
    if not partner.is_active:
        raise CommandError(
            f"{login} is switched off, so its keys are rejected. Switch it on in the "
            "admin first."
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
        raise CommandError(f"No integration account was created. {problems}") from None
    partner.save(force_insert=True)
    return partner
