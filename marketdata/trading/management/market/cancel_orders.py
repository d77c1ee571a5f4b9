from django.core.management.base import CommandError

from accounts.management.people import user_named
from issuers.management.register_command import (
    RegisterCommand,
    actor,
    token_named,
    writing,
)
from marketdata.trading.errors import NotTradable
from marketdata.trading.in_force import OrderStatusReason
from marketdata.trading.market import cancel_each
from marketdata.trading.models import Order, OrderStatus
from partnerapi.core.commands import DRY_RUN
from partnerapi.core.money import plural


class Command(RegisterCommand):
    help = """Cancel open orders of an internal market: all, or those of one user.

examples:
  manage.py market cancel-orders ACME --user ana@example.com --staff ops@example.com
  manage.py market cancel-orders ACME --staff ops@example.com --dry-run
"""
    is_approved = False

    def add_own_arguments(self, parser):
        parser.add_argument(
            "--user",
            metavar="WHO",
            help="only orders of this user: an email or wallet address, an LEI or an "
            "id",
        )

    def handle(self, *, symbol, user, staff, dry_run, **options):
        who, token = actor(staff), token_named(symbol)
        orders = Order.objects.filter(token=token, status=OrderStatus.OPEN)
        if user:
            orders = orders.filter(user=user_named(user))
        ids = list(orders.order_by("priority").values_list("pk", flat=True))
        try:
            with writing(dry_run):
                ended = cancel_each(token.pk, ids, OrderStatusReason.BY_STAFF, who)
        except NotTradable as error:
            raise CommandError(f"{error} Nothing was written.") from None
        if dry_run:
            return f"{plural(len(ended), 'order')} would be cancelled{DRY_RUN}"
        return f"{plural(len(ended), 'order')} cancelled."
