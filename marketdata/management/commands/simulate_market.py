import contextlib
import signal
import threading
import time
from argparse import ArgumentTypeError, RawDescriptionHelpFormatter
from collections import defaultdict
from random import Random, SystemRandom
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection
from django.utils import timezone
from rich.console import Console
from rich.progress import Progress, TextColumn

from issuers.models import Token, TokenLedgerHead
from marketdata.current_books import read_books
from marketdata.log import Message, record
from marketdata.orderbook import (
    ASK,
    BID,
    Change,
    CrossedBook,
    ImpossibleChange,
    OrderBook,
)
from marketdata.simulation import Simulation, business, pauses

ACTOR = "simulate_market"
UNPRICED_HOME = 1_000
"""Euro cents; what a token that never had a price is traded around."""
BATCH = 500
STATUS_SECONDS = 1
RETRY_SECONDS = 1


def positive(text):
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise ArgumentTypeError(f"{text} is not a number above 0")
    return number


def count(text):
    digits = text.replace("_", "").replace(",", "")
    if not digits.isdecimal() or int(digits) == 0:
        raise ArgumentTypeError(f"{text} is not a whole number, 1 or more")
    return int(digits)


class Command(BaseCommand):
    help = """Trade the sandbox's tokens: invented orders, cancellations and trades.

Books are continued from where they stand; empty ones are filled first. Prices stay
around each token's own, and trades set it. A few tokens get most of the events, which
come in bursts, and more of them in the morning and the afternoon (UTC). Ctrl-C or
SIGTERM ends it. Runs only where PARTNER_API_SANDBOX=true.

examples:
  manage.py simulate_market
  manage.py simulate_market --token LUMARELLE --rate 50 --seconds 60
  manage.py simulate_market --events 10000 --rate 1000 --seed 7
"""

    def create_parser(self, *args, **kwargs):
        kwargs["formatter_class"] = RawDescriptionHelpFormatter
        return super().create_parser(*args, **kwargs)

    def add_arguments(self, parser):
        parser.add_argument(
            "--token",
            metavar="SYMBOL",
            type=str.upper,
            action="append",
            default=[],
            help="only this token; may be given several times (every token on the "
            "secondary market)",
        )
        parser.add_argument(
            "--rate",
            type=positive,
            default=5.0,
            help="events a second over all tokens, on average over a day (5)",
        )
        parser.add_argument(
            "--events", type=count, help="end after this many (none: go on)"
        )
        parser.add_argument(
            "--seconds", type=positive, help="end after this time (none: go on)"
        )
        parser.add_argument(
            "--seed", type=int, help="the same books and seed give the same events"
        )

    def handle(self, *, token, rate, events, seconds, seed, **options):
        if not settings.PARTNER_API_SANDBOX:
            raise CommandError(
                "This installation is not a sandbox: nothing was written. Set "
                "PARTNER_API_SANDBOX=true if its order books may hold invented orders."
            )
        if seed is None:
            seed = SystemRandom().randrange(2**32)
        market = Market(tokens_named(token), seed)
        self.stdout.write(
            f"Trading {len(market.tokens)} tokens, {rate:g} events a second, "
            f"seed {seed}."
        )
        began = time.monotonic()
        with ended_by_signals() as ended, self.progress() as progress:
            self.play(market, rate, events, seconds, ended, progress)
        took = time.monotonic() - began
        return (
            f"{market.events:,} events in {took:,.0f} s: {market.changes:,} changes, "
            f"{market.trades:,} trades."
        )

    def play(self, market, rate, events, seconds, ended, progress):
        task = progress.add_task("")
        waits = pauses(rate, Random(f"{market.seed}/pauses"))
        due = began = time.monotonic()
        market.trade = self.kept_trying(market.trade, market, ended)
        market.trade(market.first_messages())
        while not ended.is_set() and (events is None or market.events < events):
            now = time.monotonic()
            if seconds is not None and now - began >= seconds:
                return
            most = BATCH if events is None else min(BATCH, events - market.events)
            batch = defaultdict(list)
            for _ in range(most):
                if due > now:
                    break
                due += next(waits) / business(timezone.now())
                market.next_message(batch)
            market.trade(batch)
            progress.update(task, description=market.status(now - began))
            ended.wait(min(max(0.0, due - time.monotonic()), STATUS_SECONDS))

    def progress(self):
        console = Console(stderr=True)
        return Progress(
            TextColumn("{task.description}"),
            console=console,
            refresh_per_second=2,
            transient=True,
            disable=not console.is_terminal,
        )
