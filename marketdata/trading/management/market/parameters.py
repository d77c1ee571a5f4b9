from django.core.management.base import CommandError
from django.utils import timezone
from rich.console import Console
from rich.table import Table

from issuers.management.register_command import token_named
from marketdata.books.days import day_of
from marketdata.trading.models import Market
from marketdata.trading.parameters import latest, text_of, trades_of_a_year
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.money import plural


class Command(CommandWithExamples):
    help = """Show the parameters of an internal market, in force and next.

Two people change them in the back office, with a request of kind PARAMETERS.

examples:
  manage.py market parameters ACME
"""

    def add_arguments(self, parser):
        parser.add_argument("symbol", type=str.upper, help="symbol of a token")

    def handle(self, *, symbol, **options):
        token = token_named(symbol)
        market = Market.objects.filter(token=token).first()
        if market is None:
            raise CommandError(f"{symbol} has no internal market.")
        now, following = timezone.now(), latest(token.pk)
        has_next = following.valid_from > now
        table = Table("Parameter", "In force", "Next")
        rows = zip(text_of(market), text_of(following), strict=True)
        for (name, present), (_, then) in rows:
            table.add_row(name, present, then if has_next and then != present else "")
        Console(file=self.stdout._out, width=120).print(table)  # type: ignore[attr-defined]
        year = plural(trades_of_a_year(token.pk, day_of(now)), "trade")
        if not has_next:
            return f"{year} in twelve months."
        return (
            f"{year} in twelve months. The next hold from "
            f"{following.opens_at:%Y-%m-%d %H:%M} UTC."
        )
