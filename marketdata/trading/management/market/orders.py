from uuid import UUID

from django.core.management.base import CommandError
from rich.console import Console
from rich.table import Table

from accounts.management.people import user_named
from issuers.management.register_command import token_named
from marketdata.trading.models import Order, OrderEvent, OrderStatus
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.money import plural

LIMIT = 50


class Command(CommandWithExamples):
    help = """Show orders of the internal markets, newest first, or one order with its
events.

examples:
  manage.py market orders ACME
  manage.py market orders ACME --status OPEN --user ana@example.com --limit 200
  manage.py market orders --order 0190c3a1-0000-7000-8000-000000000000
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "symbol",
            nargs="?",
            type=str.upper,
            help="symbol of a token; default: all tokens",
        )
        parser.add_argument(
            "--status", choices=OrderStatus.values, help="only orders with this status"
        )
        parser.add_argument(
            "--user",
            metavar="WHO",
            help="only orders of this user: an email or wallet address, an LEI or an "
            "id",
        )
        parser.add_argument(
            "--order", metavar="ID", help="id of one order, shown with its events"
        )
        parser.add_argument(
            "--limit",
            type=int,
            default=LIMIT,
            help="number of orders, or events of the one order, newest first "
            f"({LIMIT})",
        )

    def handle(self, *, symbol, status, user, order, limit, **options):
        if limit < 1:
            raise CommandError(f"The limit is {limit}; pass 1 or more.")
        if order:
            return self.one(order, limit)
        orders = Order.objects.select_related("token", "account__user", "partner")
        if symbol:
            orders = orders.filter(token=token_named(symbol))
        if status:
            orders = orders.filter(status=status)
        if user:
            orders = orders.filter(user=user_named(user))
        table = Table("Order", "Token", "Client", "Side", "Filled", "Limit", "Status")
        found = orders.order_by("-created_at", "-pk")[:limit]
        for each in found:
            table.add_row(
                str(each.pk), each.token.symbol, str(each.account),
                each.get_side_display(), f"{each.filled:,} of {each.quantity:,}",
                f"{each.limit_price:,}",
                f"{each.status} {each.status_reason or ''}".strip(),
            )  # fmt: skip
        Console(file=self.stdout._out, width=160).print(table)  # type: ignore[attr-defined]
        return count_line("order", len(found), orders.count())

    def one(self, text, limit):
        try:
            order = Order.objects.select_related("token", "account__user").get(
                pk=UUID(text.removeprefix("Order|"))
            )
        except (ValueError, Order.DoesNotExist):
            raise CommandError(f"There is no order {text}.") from None
        self.stdout.write(
            f"{order.get_side_display()} {order.quantity:,} {order.token.symbol} at "
            f"{order.limit_price:,} cents, {order.time_in_force}, of {order.account}: "
            f"{order.status} {order.status_reason or ''}"
        )
        events = OrderEvent.objects.filter(order=order)
        found = events.order_by("-number")[:limit]
        for event in reversed(found):
            told = " ".join(
                f"{name} {value:,}"
                for name, value in (
                    ("units", event.quantity),
                    ("at", event.price),
                    ("left", event.remaining),
                    ("trade", event.trade),
                )
                if value is not None
            )
            self.stdout.write(
                f"  {event.at:%Y-%m-%d %H:%M:%S.%f} {event.number:>8,} {event.kind} "
                f"{told} {event.reason} by {event.actor}"
            )
        return count_line("event", len(found), events.count())


def count_line(what, count, total):
    more = f"; there are {total - count:,} more" if total > count else ""
    return f"{plural(count, what)}{more}."
