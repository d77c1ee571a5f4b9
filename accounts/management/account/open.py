from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.accounts.models import Account, Actor
from accounts.keys.models import Partner
from accounts.management.people import active_staff, add_staff, user_named
from partnerapi.core.commands import DRY_RUN, DryRunCommand
from partnerapi.core.database import constraint_of


class Command(DryRunCommand):
    help = """Open an account for a client of a partner; it is PENDING at first.

A user has at most one account with a partner that is neither closed nor rejected.

examples:
  manage.py account open acme otto@example.com --staff ana@example.com
  manage.py account open acme 529900T8BM49AURSDO55 --staff ana@example.com
  manage.py account open acme otto@example.com --staff ana@example.com --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument("login", help="login of the partner's integration account")
        parser.add_argument(
            "user", help="the client's email or wallet address, LEI or id"
        )
        add_staff(parser)

    def handle(self, *, login, user, staff, dry_run, **options):
        person = active_staff("--staff", staff, "accounts.change_account")
        actor = Actor(person.email, is_staff=True)
        partner, client = active_partner(login), user_named(user)
        try:
            with transaction.atomic():
                account = Account.objects.open(partner, client, actor, timezone.now())
                transaction.set_rollback(dry_run)
        except IntegrityError as error:
            if constraint_of(error) != "one_open_account_per_partner_and_user":
                raise
            raise already_open(partner, client) from None
        if dry_run:
            return f"An account for {client} at {partner} would be opened{DRY_RUN}"
        return (
            f"Opened Account|{account.pk} for {client} at {partner}; it is "
            f"{account.status}. Next: account status {account.pk} ACTIVE"
        )


def active_partner(login):
    try:
        partner = Partner.objects.get(login=login)
    except Partner.DoesNotExist:
        raise CommandError(
            f"There is no integration account {login}. key issue --create-partner "
            "creates one."
        ) from None
    if not partner.is_active:
        raise CommandError(
            f"{login} is switched off, so it could not use the account. "
            "Switch it on in the admin first."
        )
    return partner


def already_open(partner, client):
    [account] = Account.objects.filter(partner=partner, user=client).exclude(
        status__in=[Account.Status.CLOSED, Account.Status.REJECTED]
    )
    return CommandError(
        f"{client} already has Account|{account.pk} at {partner}; it is "
        f"{account.status}. Nothing was written."
    )
