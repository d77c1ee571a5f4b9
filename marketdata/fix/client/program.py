"""The client as a program: lists instruments, follows books or orders.

Standard library only. /docs/fix offers it as one file.
"""

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator
from functools import partial

from marketdata.fix.client.client import Client, Refused
from marketdata.fix.client.initiator import FixFailure, tls_context
from marketdata.fix.client.replica import Inconsistent
from marketdata.fix.protocol.wire import GarbledMessage, Message, readable

PAUSES_SECONDS = (1, 2, 5, 10, 30)
TYPES = {
    "0": "accepted",
    "5": "amended",
    "F": "traded",
    "4": "cancelled",
    "C": "expired",
    "H": "busted",
}
SIDES_OF_ORDERS = {"1": "buy", "2": "sell"}


def main() -> None:
    options = parse()
    addresses = [address.rpartition(":")[::2] for address in options.address]
    tls = None if options.no_tls else tls_context(options.ca)
    failures = 0
    last = options.after
    for host, port in itertools.cycle(addresses):
        client = Client(
            host=host,
            port=int(port),
            sender=options.comp_id,
            target=options.target,
            key=os.environ["FIX_KEY"],
            tls=tls,
            on_receive=partial(show, "<") if options.raw else ignore,
            on_send=partial(show, ">") if options.raw else ignore,
        )
        try:
            with client:
                failures = 0
                if not options.drop_copy:
                    work(client, options.symbols)
                    return
                for report in reports(client, last):
                    last = int(report.get(17))
                    if not options.raw:
                        say(execution_line(report))
        except Refused as refusal:
            sys.exit(f"{host}:{port}: {refusal}")
        except (FixFailure, GarbledMessage, Inconsistent) as failure:
            say(f"{host}:{port}: {failure}")
            if not options.symbols and not options.drop_copy:
                sys.exit(1)
        # Try the other address next, after a growing pause.
        time.sleep(PAUSES_SECONDS[min(failures, len(PAUSES_SECONDS) - 1)])
        failures += 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="List the instruments, or follow books or orders until Ctrl-C. "
        "FIX_KEY holds the API key."
    )
    parser.add_argument(
        "symbols", nargs="*", help="books to follow; without any, list the instruments"
    )
    parser.add_argument(
        "--address",
        action="append",
        required=True,
        metavar="HOST:PORT",
        help="of an acceptor; repeat it for failover",
    )
    parser.add_argument("--comp-id", required=True, help="yours, SenderCompID(49)")
    parser.add_argument("--target", default="PARTNERAPI", help="TargetCompID(56)")
    parser.add_argument("--no-tls", action="store_true", help="for a sandbox")
    parser.add_argument("--ca", help="CA file for the acceptor's certificate")
    parser.add_argument("--raw", action="store_true", help="show every message")
    parser.add_argument(
        "--drop-copy", action="store_true", help="follow orders: with such a CompID"
    )
    parser.add_argument(
        "--after",
        type=int,
        metavar="EXECID",
        help="the last ExecID(17) that you have; without it, only new reports",
    )
    options = parser.parse_args()
    if not os.environ.get("FIX_KEY"):
        parser.error("FIX_KEY must hold your API key")
    return options


def work(client: Client, symbols: list[str]) -> None:
    if not symbols:
        for instrument in client.instruments():
            name = instrument.isin or instrument.id
            say(f"{instrument.symbol:12} {name:36} {instrument.name}")
        return
    client.snapshots(symbols, trades=True)
    while True:
        for symbol, book in client.books.items():
            bids, asks = book.ladder(1)
            say(f"{symbol:12} bid {best(bids)} ask {best(asks)}")
        while (message := client.receive(60)) is None or message.type not in ("W", "X"):
            pass


def reports(client: Client, last: int | None) -> Iterator[Message]:
    """The reports of a drop copy that follow an ExecID(17), each once."""
    if last is not None:
        client.request_reports(last)
    while True:
        message = client.receive(60)
        if message is None or message.type != "8":
            continue
        # A report with PossResend(97)=Y may have come before.
        if last is None or int(message.get(17)) > last:
            last = int(message.get(17))
            yield message


def execution_line(report: Message) -> str:
    trade = f" {report.get(32)} at {report.get(31)}" if report.get(31) else ""
    return (
        f"{report.get(17):>8} {TYPES.get(report.get(150), report.get(150)):9} "
        f"{SIDES_OF_ORDERS.get(report.get(54), ''):4} {report.get(38)} "
        f"{report.get(55)}{trade}, {report.get(151)} left, "
        f"{report.get(11) or report.get(37)}"
    )


def best(levels: tuple[tuple[int, int], ...]) -> str:
    return f"{levels[0][0] / 100:.2f} x {levels[0][1]}" if levels else "-"


def show(sign: str, raw: bytes) -> None:
    say(f"{sign} {readable(raw)}")


def ignore(raw: bytes) -> None:
    pass


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
