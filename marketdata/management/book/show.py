import json
import time
from argparse import ArgumentTypeError
from threading import Event

from django.core.management.base import CommandError
from django.utils.dateparse import parse_datetime
from rich.console import Console
from rich.live import Live

from marketdata.books.current_books import read_books
from marketdata.books.feed import Feed
from marketdata.books.livebook import TradeRow
from marketdata.books.orderbook import Ladder
from marketdata.management.book_screen import BookScreen, depth_that_fits
from marketdata.management.tokens import traded_token
from marketdata.models import Trade
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.signals import ended_by_signals
from partnerapi.core.times import to_rfc3339

DEPTH = 10
"""Levels of each side where no terminal says how many fit."""
PIPED_WIDTH = 80
MOST_TRADES = 100
FRAME_SECONDS = 0.1
"""Books may change a thousand times a second; eyes need no more frames than this."""
LOOK_SECONDS = 0.25
"""How often the terminal's size and Ctrl-C are looked at, while no book changes."""


def levels(text):
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text} is not a whole number, 1 or more")
    return int(text)


class Command(CommandWithExamples):
    help = """Show a token's order book as it changes, until Ctrl-C.

Asks are above, bids below, the best prices in the middle; prices are in euros, times in
UTC. When piped, the book is shown once.

examples:
  manage.py book show LUMARELLE
  manage.py book show LUMARELLE --depth 5 | cat
  manage.py book show LUMARELLE --json --depth 50
"""

    def add_arguments(self, parser):
        parser.add_argument("symbol", type=str.upper, help="the token's symbol")
        parser.add_argument(
            "--depth",
            type=levels,
            help=f"levels per side (default: as many as fit the terminal; {DEPTH} "
            "when piped)",
        )
        parser.add_argument(
            "--json",
            action="store_true",
            dest="as_json",
            help="print it once as one line of JSON, as the API's `orderBook`; "
            "prices in euro cents",
        )

    def handle(self, *, symbol, depth, as_json, **options):
        token = traded_token(symbol)
        if as_json:
            return json.dumps(book_row(token, depth or DEPTH))
        console = Console(no_color=options["no_color"] or None)
        if self.stdout.isatty() and not console.is_dumb_terminal:
            return self.follow(token, depth, console)
        plain = Console(width=PIPED_WIDTH, color_system=None)
        with plain.capture() as captured:
            plain.print(present(token, depth or DEPTH))
        return "\n".join(line.rstrip() for line in captured.get().splitlines())

    def follow(self, token, depth, console):
        """Draw the book after each change; at the end, summarize the changes."""
        changed = Event()
        feed = Feed([token.pk])
        feed.subscribe(lambda books: changed.set())
        feed.start()
        try:
            if token.pk not in feed.books:
                raise unsound(token)
            book = feed.books[token.pk]
            first = book.sequence, book.last_trade
            began = time.monotonic()
            with (
                ended_by_signals() as ended,
                Live(console=console, screen=True, auto_refresh=False) as live,
            ):
                while not ended.is_set():
                    if not (book.live and feed.is_alive):
                        raise unsound(token)
                    live.update(live_screen(book, depth, console), refresh=True)
                    ended.wait(FRAME_SECONDS)
                    changed.wait(LOOK_SECONDS)
                    changed.clear()
        finally:
            feed.stop()
        return (
            f"{book.symbol} in {time.monotonic() - began:,.0f} s: changes "
            f"{book.sequence - first[0]:,}, trades {book.last_trade - first[1]:,}."
        )


def live_screen(book, depth, console):
    fitting = depth_that_fits(console.height)
    rows = min(depth or fitting, fitting)
    kept = min(MOST_TRADES, len(book.trades))
    return BookScreen(
        book.symbol,
        book.name,
        book.sequence,
        book.at,
        book.ladder(rows),
        book.trades_since(book.last_trade - kept) or [],
        rows,
    )


def present(token, depth):
    """The present book, with its last trades."""
    book = read_books([str(token.pk)], depth)[str(token.pk)]
    newest = Trade.objects.filter(token=token).order_by("-sequence")[: 2 * depth]
    rows = newest.values_list("sequence", "price_cents", "quantity", "at")
    return BookScreen(
        token.symbol,
        token.name,
        book.sequence,
        book.at and parse_datetime(book.at),
        Ladder(tuple(book.bids), tuple(book.asks)),
        [TradeRow(*row) for row in reversed(rows)],
        depth,
    )


def book_row(token, depth):
    book = read_books([str(token.pk)], depth)[str(token.pk)]
    return {
        "symbol": token.symbol,
        "sequence": book.sequence,
        "at": to_rfc3339(book.at or token.created_at),
        "bids": [level._asdict() for level in book.bids],
        "asks": [level._asdict() for level in book.asks],
    }


def unsound(token):
    return CommandError(
        f"The order book of {token.symbol} cannot be followed, for the reason logged "
        "above; `verify books` shows where its log is broken."
    )
