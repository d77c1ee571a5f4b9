from django.core.management.base import CommandError

from issuers.management.register_command import (
    RegisterCommand,
    actor,
    token_named,
    whole,
    writing,
)
from marketdata.trading.models import Market
from marketdata.trading.phases import (
    COLLAR_BPS,
    LOT_UNITS,
    TICK_CENTS,
    PhaseRefused,
    open_market,
)
from marketdata.trading.sessions import parse
from partnerapi.core.commands import DRY_RUN


class Command(RegisterCommand):
    help = """Turn an order book into an internal market, permanently.

All fed levels are removed from the book in one message, and nothing can be fed again:
from then on the book consists of its open orders. The market is CLOSED until its
session opens; a worker opens and closes it every day, in the time zone
MARKET_TIME_ZONE. Limits may differ by 20 % from the reference price, which is that of
the last trade, or else the token's.

examples:
  manage.py market open ACME --session 09:00-17:30 --weekdays --staff ana@example.com
  manage.py market open ACME --session 22:00-22:00 --reference-price 1250 \\
      --staff ana@example.com --dry-run
"""
    is_approved = False

    def add_own_arguments(self, parser):
        parser.add_argument(
            "--session",
            metavar="HH:MM-HH:MM",
            required=True,
            help="opening and closing time; the same time twice means all day, "
            "ending then",
        )
        parser.add_argument(
            "--weekdays", action="store_true", help="only from Monday to Friday"
        )
        parser.add_argument(
            "--reference-price",
            metavar="CENTS",
            type=whole,
            help="required if the token has no price yet",
        )
        parser.add_argument(
            "--tick", metavar="CENTS", type=whole, default=TICK_CENTS,
            help="limits must be multiples of it",
        )  # fmt: skip
        parser.add_argument(
            "--lot", metavar="UNITS", type=whole, default=LOT_UNITS,
            help="quantities must be multiples of it",
        )  # fmt: skip
        parser.add_argument(
            "--collar", metavar="BPS", type=whole, default=COLLAR_BPS,
            help="greatest distance of limits from the reference price, in 1/100 %%",
        )  # fmt: skip

    def handle(
        self, *, symbol, session, weekdays, reference_price, tick, lot, collar, staff,
        dry_run, **options,
    ):  # fmt: skip
        who, token = actor(staff), token_named(symbol)
        try:
            times = parse(session, weekdays)
        except ValueError as error:
            raise CommandError(f"--session {session}: {error}") from None
        try:
            with writing(dry_run):
                open_market(token.pk, times, who, tick, lot, collar, reference_price)
                market = Market.objects.get(token=token)
        except PhaseRefused as error:
            raise CommandError(f"{error} Nothing was written.") from None
        begins = f"{market.next_phase_at:%Y-%m-%d %H:%M} UTC"
        if dry_run:
            return f"The market of {symbol} would open at {begins}{DRY_RUN}"
        return f"{symbol} has an internal market; it accepts orders from {begins}."
