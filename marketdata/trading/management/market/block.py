from uuid import UUID

from django.core.management.base import CommandError

from accounts.accounts.models import Account
from accounts.keys.models import Partner
from accounts.management.people import add_staff
from issuers.management.register_command import actor, add_reason
from marketdata.trading import controls
from marketdata.trading.in_force import OrderStatusReason
from marketdata.trading.models import Order
from partnerapi.core import lock_waits
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.money import plural


class Command(CommandWithExamples):
    help = """Stop the orders of a partner, of an account or of all partners.

New orders are refused with ORDERS_BLOCKED, and open orders are cancelled. One person
stops orders. Two people release them: a request in the back office, of kind RELEASE.

examples:
  manage.py market block --partner acme --reason "Runaway" --staff ana@example.com
  manage.py market block --account 0190a5b2-1f6e-7c3d-9a41-5f0c2b8e7d10 \\
      --reason "Takeover" --staff ana@example.com
  manage.py market block --everything --reason "Drill" --staff ana@example.com
"""

    def add_arguments(self, parser):
        of = parser.add_mutually_exclusive_group(required=True)
        of.add_argument("--partner", metavar="LOGIN", help="orders of this partner")
        of.add_argument("--account", metavar="ID", help="orders of this account")
        of.add_argument(
            "--everything", action="store_true", help="orders of all partners"
        )
        add_reason(parser)
        add_staff(parser)

    def handle(self, *, partner, account, staff, reason, **options):
        who = actor(staff)
        orders = Order.objects.all()
        partner_id = account_id = None
        if partner:
            partner_id = named(Partner.objects.filter(login=partner), partner).pk
            orders = orders.filter(partner=partner_id)
        if account:
            of = named(Account.objects.filter(pk=as_uuid(account)), account)
            partner_id, account_id = of.partner_id, of.pk
            orders = orders.filter(account=account_id)
        block = controls.block(partner_id, account_id, None, who, reason)
        try:
            with lock_waits.name_locked_row():
                ended = controls.sweep(orders, OrderStatusReason.BY_STAFF, who)
        except lock_waits.LockTimeout as error:
            raise CommandError(
                f"Orders are blocked. {error} Run this again to cancel what rests."
            ) from None
        return f"Orders are blocked ({block}); {plural(ended, 'order')} cancelled."


def named(found, text):
    if one := found.first():
        return one
    raise CommandError(f"There is no {text}. Nothing was written.")


def as_uuid(text):
    try:
        return UUID(text.removeprefix("Account|"))
    except ValueError:
        raise CommandError(f"{text} is no id. Nothing was written.") from None
