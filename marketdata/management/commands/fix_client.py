import json
import os
import signal
import sys
import time
from argparse import (
    ArgumentTypeError,
    BooleanOptionalAction,
)
from functools import partial

from django.conf import settings
from django.core.management.base import CommandError
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from marketdata.fix.client.advice import explain
from marketdata.fix.client.client import Client, Refused
from marketdata.fix.client.initiator import FixFailure, tls_context
from marketdata.fix.client.program import execution_line, reports
from marketdata.fix.client.replica import Inconsistent
from marketdata.fix.protocol.instruments import price
from marketdata.fix.protocol.rules import DEEPEST
from marketdata.fix.protocol.wire import GarbledMessage, readable
from marketdata.management.ladders import BookShown, TradeShown, screen
from partnerapi.core.commands import CommandWithExamples

LOCAL = ("127.0.0.1", "localhost", "::1")
SCREENS_PER_SECOND = 10
LONGEST_LINE = 1_000
UNKNOWN_SYMBOL = "0"
FEED, DROP_COPY = "PARTNER001", "PARTNER003"
"""The first CompIDs of the sandbox's partner."""


def depth(text):
    if not text.isdecimal() or not 1 <= int(text) <= DEEPEST:
        raise ArgumentTypeError(f"{text!r} is not a number of levels, 1 to {DEEPEST}")
    return int(text)


class Command(CommandWithExamples):
    help = """Try the FIX feed: log on, list the instruments, watch books or orders.

Without symbols it lists the instruments and ends; with symbols it shows their books
live until Ctrl-C, which logs out. With --drop-copy it prints a line for each report of
an order; the CompID must be one of a drop copy. Without other options it logs on to the
sandbox that `manage.py up` runs. It needs no database. Put your key into the
environment variable FIX_KEY: an option is visible in the process list and in your
shell's history.

examples:
  manage.py fix_client
  manage.py fix_client LUMA VERD --depth 5 --trades
  manage.py fix_client LUMA --json
  manage.py fix_client LUMA --raw
  manage.py fix_client --drop-copy --after 0
  FIX_KEY=service-apikey_… manage.py fix_client --host fix.example.com --port 9878 \\
      --comp-id PARTNER001
"""
    # Neither they nor the code below use the database, which may be absent.
    requires_system_checks = []

    def add_arguments(self, parser):
        parser.add_argument(
            "symbols",
            nargs="*",
            metavar="SYMBOL",
            help="instruments whose books are shown; without any, list the instruments",
        )
        parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
        parser.add_argument(
            "--port", type=int, default=settings.FIX_PORT, help="default: %(default)s"
        )
        parser.add_argument(
            "--tls",
            action=BooleanOptionalAction,
            help="whether to encrypt the connection; default: yes, except to this "
            "machine without FIX_TLS_CERTIFICATE",
        )
        parser.add_argument(
            "--ca",
            metavar="FILE",
            default=settings.FIX_TLS_CERTIFICATE or None,
            help="certificates to trust in addition to the system's; a self-signed "
            "one is its own authority",
        )
        parser.add_argument(
            "--comp-id",
            help=f"your CompID, SenderCompID(49); default: {FEED}, with --drop-copy "
            f"{DROP_COPY}, as in a sandbox",
        )
        parser.add_argument(
            "--target",
            default=settings.FIX_COMP_ID,
            help="the acceptor's CompID, TargetCompID(56); default: %(default)s",
        )
        parser.add_argument(
            "--key", help="your API key; the environment variable FIX_KEY is safer"
        )
        parser.add_argument(
            "--depth",
            type=depth,
            default=10,
            metavar="LEVELS",
            help=f"levels per side, 1 to {DEEPEST}; default: %(default)s",
        )
        parser.add_argument("--trades", action="store_true", help="show trades, too")
        parser.add_argument(
            "--drop-copy", action="store_true", help="print reports of orders"
        )
        parser.add_argument(
            "--after",
            type=int,
            metavar="EXECID",
            help="with --drop-copy: the last ExecID(17) that you have, 0 for all "
            "reports; without it, only new ones",
        )
        shape = parser.add_mutually_exclusive_group()
        shape.add_argument(
            "--raw",
            action="store_true",
            help="print every message sent (>) and received (<), with | for SOH and "
            "the key masked",
        )
        shape.add_argument(
            "--json",
            action="store_true",
            dest="as_json",
            help="print JSON lines: the instruments, one snapshot of each book, or "
            "the fields of each report",
        )

    def handle(
        self,
        *,
        symbols,
        depth,
        trades,
        drop_copy,
        after,
        raw,
        as_json,
        **options,
    ):
        self.raw = raw
        options["comp_id"] = options["comp_id"] or (DROP_COPY if drop_copy else FEED)
        client = self.client(**options)
        # On SIGTERM it logs out as after Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            with client:
                if drop_copy:
                    self.follow_orders(client, after, as_json)
                elif not symbols:
                    self.list_instruments(client, as_json)
                elif as_json:
                    self.show_snapshot(client, symbols, depth)
                else:
                    self.watch(client, symbols, depth, trades)
            self.stdout.flush()
        except KeyboardInterrupt:
            return
        except BrokenPipeError:
            leave_pipe()
        except Refused as failure:
            raise CommandError(self.of_refusal(failure)) from None
        except FixFailure as failure:
            raise CommandError(explain(failure, client)) from None
        except (GarbledMessage, Inconsistent) as failure:
            raise CommandError(
                f"The acceptor sent an impossible message: {failure}. Please report it."
            ) from None

    def client(self, *, host, port, tls, ca, comp_id, target, key, **options):
        key = key or os.environ.get("FIX_KEY")
        if host in LOCAL:
            key = key or settings.PARTNER_API_SANDBOX_KEY
        if not key:
            raise CommandError(
                "The API key is missing: put yours into the environment variable "
                "FIX_KEY, or start the sandbox with `manage.py up`."
            )
        if tls is None:
            tls = host not in LOCAL or bool(settings.FIX_TLS_CERTIFICATE)
        try:
            context = tls_context(ca) if tls else None
        except OSError as error:
            raise CommandError(
                f"--ca {ca}: {error.strerror or error}; pass a file of certificates "
                "in PEM format."
            ) from None
        show = self.show if self.raw else lambda direction, raw: None
        return Client(
            host=host,
            port=port,
            sender=comp_id,
            target=target,
            key=key,
            tls=context,
            on_receive=partial(show, "<"),
            on_send=partial(show, ">"),
        )

    def show(self, direction, raw):
        try:
            self.stdout.write(f"{direction} {readable(raw)}")
            self.stdout.flush()
        except BrokenPipeError:
            # The reader, such as `head`, has closed the pipe. The Logout goes unread.
            leave_pipe()
            raise KeyboardInterrupt from None

    def list_instruments(self, client, as_json):
        instruments = client.instruments()
        if self.raw:
            return
        if as_json:
            self.stdout.write(json.dumps([i._asdict() for i in instruments]))
            return
        table = Table("symbol", "ISIN or id", "name", "currency", box=SIMPLE_HEAD)
        for each in instruments:
            table.add_row(each.symbol, each.isin or each.id, each.name, each.currency)
        # An id cut by a narrow terminal would be useless.
        self.print_once(table, Console(width=LONGEST_LINE))
        count = len(instruments)
        self.stdout.write(
            f"{count} {'instrument' if count == 1 else 'instruments'}. Watch one: "
            f"manage.py fix_client {instruments[0].symbol if count else 'SYMBOL'}"
        )

    def follow_orders(self, client, after, as_json):
        for report in reports(client, after):
            if not self.raw:
                fields = {str(tag): value for tag, value in report.fields}
                line = json.dumps(fields) if as_json else execution_line(report)
                self.stdout.write(line)
                self.stdout.flush()

    def show_snapshot(self, client, symbols, depth):
        books = client.snapshots(symbols, depth=depth)
        described = [
            {
                "symbol": book.symbol,
                "sentAt": book.sent_at,
                **{
                    side: [
                        {"price": price(cents), "quantity": quantity}
                        for cents, quantity in levels
                    ]
                    for side, levels in book.ladder()._asdict().items()
                },
            }
            for book in books
        ]
        self.stdout.write(json.dumps(described))

    def watch(self, client, symbols, depth, trades):
        client.snapshots(symbols, depth=depth, trades=trades)

        def books_table():
            return screen(
                [book_shown(client.books[s]) for s in symbols if s in client.books],
                depth,
                trades=trades,
            )

        if self.raw:
            while True:
                client.receive()
        elif not self.stdout.isatty():
            self.print_once(books_table(), Console())
        else:
            with Live(books_table(), auto_refresh=False) as live:
                while True:
                    receive_for(client, 1 / SCREENS_PER_SECOND)
                    live.update(books_table(), refresh=True)

    def print_once(self, renderable, console):
        with console.capture() as captured:
            console.print(renderable)
        self.stdout.write(
            "\n".join(line.rstrip() for line in captured.get().splitlines())
        )

    def of_refusal(self, refusal):
        rejected = {
            "3": "The acceptor's engine",
            "j": "The acceptor",
            "Y": "The feed",
            "AQ": "The drop copy",
        }
        text = f"{rejected[refusal.answer.type]} refused the request: {refusal}"
        if refusal.answer.get(281) == UNKNOWN_SYMBOL:
            text += (
                ". Without symbols, this command lists the instruments that you may "
                "see."
            )
        if refusal.answer.get(372) == "AD" and refusal.answer.type == "j":
            text += ". Pass the CompID of a drop copy with --comp-id."
        return text


def leave_pipe():
    """What Python still has to write when it ends goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def receive_for(client, seconds):
    """Receive all messages within this time."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        client.receive(left)


def book_shown(book):
    seen = [TradeShown(trade.at, trade.price, trade.quantity) for trade in book.trades]
    state = f"update {book.updates:,} · {book.sent_at[9:17]} UTC"
    return BookShown(book.symbol, book.ladder(), state, seen)
