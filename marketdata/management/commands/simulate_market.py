import time
from argparse import ArgumentTypeError
from collections import Counter, defaultdict
from random import Random, SystemRandom

from django.conf import settings
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.utils import timezone
from rich.console import Console
from rich.progress import Progress, TextColumn

from issuers.models import Token
from issuers.register.models import TokenLedgerHead
from marketdata.books.current_books import read_books
from marketdata.books.log import HEAR_SECONDS, hear, record
from marketdata.books.orderbook import (
    ASK,
    BID,
    Change,
    CrossedBook,
    ImpossibleChange,
    OrderBook,
)
from marketdata.management.tokens import traded_token
from marketdata.models import OrderBookHead
from marketdata.replay.own_book import UNPRICED_HOME, OwnBook
from marketdata.replay.simulation import Simulation, business, pauses
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.signals import ended_by_signals

ACTOR = "simulate_market"
BATCH = 500
STATUS_SECONDS = 1
RETRY_SECONDS = 1
BEHIND_SECONDS = 1


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


class Command(CommandWithExamples):
    help = """Trade the sandbox's tokens: invented orders, cancellations and trades.

It continues from the current books; empty books are filled first. On an internal market
the sandbox's simulated clients place and cancel orders, which settle. Prices stay near
each token's price, and trades set that price. A few tokens get most of the events,
which come in bursts, mostly in the morning and the afternoon (UTC). Ctrl-C or SIGTERM
ends it. Runs only where PARTNER_API_SANDBOX=true.

examples:
  manage.py simulate_market
  manage.py simulate_market --token LUMARELLE --rate 50 --seconds 60
  manage.py simulate_market --events 10000 --rate 1000 --seed 7
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--token",
            metavar="SYMBOL",
            type=str.upper,
            action="append",
            default=[],
            help="only this token; can be repeated (default: every token on the "
            "secondary market)",
        )
        parser.add_argument(
            "--rate",
            type=positive,
            default=5.0,
            help="events per second over all tokens, averaged over a day (default: 5)",
        )
        parser.add_argument(
            "--events", type=count, help="end after this many events (default: no end)"
        )
        parser.add_argument(
            "--seconds", type=positive, help="end after this time (default: no end)"
        )
        parser.add_argument(
            "--seed", type=int, help="the same books and seed give the same events"
        )

    def handle(self, *, token, rate, events, seconds, seed, **options):
        if not settings.PARTNER_API_SANDBOX:
            raise CommandError(
                "This installation is not a sandbox; nothing was written. Set "
                "PARTNER_API_SANDBOX=true if its order books may hold invented "
                "orders."
            )
        if seed is None:
            seed = SystemRandom().randrange(2**32)
        market = Market(tokens_named(token), seed)
        self.stdout.write(
            f"Trading {tokens_counted(market.tokens)}, {rate:g} events per second, "
            f"seed {seed}."
        )
        began = time.monotonic()
        with ended_by_signals() as ended, self.progress() as progress:
            self.play(market, rate, events, seconds, ended, progress)
        return f"{market.summary()} in {time.monotonic() - began:,.0f} s."

    def play(self, market, rate, events, seconds, ended, progress):
        status = progress.add_task("")
        waits = pauses(rate, Random(f"{market.seed}/pauses"))
        market.fill()
        due = began = hear_at = time.monotonic()
        while not ended.is_set() and (events is None or market.events < events):
            now = time.monotonic()
            if seconds is not None and now - began >= seconds:
                return
            # Events missed while the machine slept are skipped.
            due = max(due, now - BEHIND_SECONDS)
            most = BATCH if events is None else min(BATCH, events - market.events)
            happening = 0
            while due <= now and happening < most:
                due += next(waits) / business(timezone.now())
                happening += 1
            try:
                market.go_on(happening)
                if now >= hear_at:
                    hear_at = now + HEAR_SECONDS
                    hear(token.pk for token in market.tokens)
            except OperationalError as error:
                self.stderr.write(
                    f"The database refused the events: {str(error).splitlines()[0]}; "
                    "trying again."
                )
                market.forget()
                connection.close_if_unusable_or_obsolete()
                ended.wait(RETRY_SECONDS)
            progress.update(status, description=market.summary())
            ended.wait(
                min(max(0.0, min(due, hear_at) - time.monotonic()), STATUS_SECONDS)
            )

    def progress(self):
        console = Console(stderr=True)
        return Progress(
            TextColumn("{task.description}"),
            console=console,
            refresh_per_second=2,
            transient=True,
            disable=not console.is_terminal,
        )


class Market:
    """Tokens, their books according to their logs, and counts of events."""

    def __init__(self, tokens, seed):
        self.tokens = tokens
        self.seed = seed
        self.chance = Random(f"{seed}/tokens")
        self.dice = {token: Random(f"{seed}/{token.symbol}") for token in tokens}
        # In every market, a few tokens are traded much, and most tokens little.
        self.weights = [1 / rank**0.7 for rank in range(1, len(tokens) + 1)]
        self.running = {}
        self.own = {}
        self.sequences = {}
        self.events = self.changes = self.trades = 0

    def messages(self, token):
        """The next events of a token, from its present book and price."""
        if token not in self.running:
            current = read_books([str(token.pk)])[str(token.pk)]
            book = OrderBook(
                [Change(BID, *level) for level in current.bids]
                + [Change(ASK, *level) for level in current.asks]
            )
            price = TokenLedgerHead.objects.get(pk=token.pk).price_cents
            home = UNPRICED_HOME if price is None else price
            simulation = Simulation(book, home, self.dice[token])
            self.sequences[token] = current.sequence
            self.running[token] = simulation.messages()
        return self.running[token]

    def own_books(self):
        """The ids of the tokens that have an internal market by now."""
        heads = OrderBookHead.objects.filter(
            token__in=self.tokens, source=OrderBookHead.Source.OWN
        )
        return set(heads.values_list("token", flat=True))

    def fill(self):
        """Give every book that lacks a side its first orders."""
        books = read_books([str(token.pk) for token in self.tokens], 1)
        own = self.own_books()
        for token in self.tokens:
            book = books[str(token.pk)]
            if book.bids and book.asks:
                continue
            if token.pk in own:
                self.trade(token, 1)
            else:
                self.write(token, [next(self.messages(token))])
        self.events = 0

    def go_on(self, events):
        """Generate this many events, and write them."""
        own = self.own_books()
        chosen = self.chance.choices(self.tokens, self.weights, k=events)
        happened = defaultdict(list)
        for token in chosen:
            if token.pk not in own:
                happened[token].append(next(self.messages(token)))
        for token, messages in happened.items():
            self.write(token, messages)
        for token, count in Counter(t for t in chosen if t.pk in own).items():
            self.trade(token, count)

    def trade(self, token, events):
        """Generate this many events on an internal market."""
        if token not in self.own:
            self.own[token] = OwnBook(token.pk, self.dice[token])
        happened = self.own[token].go_on(events)
        self.events += events
        self.changes += happened.orders
        self.trades += happened.trades

    def write(self, token, messages):
        changes = sum(len(message.changes) for message in messages)
        try:
            recorded = record(token.pk, messages, ACTOR)
        except (ImpossibleChange, CrossedBook):
            # Another writer has changed this book, so read it again.
            del self.running[token]
            return
        self.events += len(messages)
        self.changes += changes
        self.trades += sum(len(message.deals) for message in messages)
        self.sequences[token] += changes
        if recorded.sequence != self.sequences[token]:
            del self.running[token]

    def forget(self):
        """Forget events that were not written: read the books again."""
        self.running.clear()

    def summary(self):
        return (
            f"{self.events:,} events on {tokens_counted(self.tokens)}: "
            f"{self.changes:,} changes, {self.trades:,} trades"
        )


def tokens_counted(tokens):
    return f"{len(tokens)} {'token' if len(tokens) == 1 else 'tokens'}"


def tokens_named(symbols):
    """Tokens on the secondary market by age; without names, all of them."""
    if symbols:
        return [traded_token(symbol) for symbol in dict.fromkeys(symbols)]
    tokens = Token.objects.filter(market_type=Token.MarketType.SECONDARY_MARKET)
    if not tokens:
        raise CommandError(
            "No token is on the secondary market. Fill the sandbox with `sandbox "
            "seed`, or open a token's secondary market with `market open-secondary`."
        )
    return list(tokens.order_by("created_at", "id"))
