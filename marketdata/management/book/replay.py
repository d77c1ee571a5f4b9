"""Replays a file of `marketdata.replay.files` into a token's book."""

import time
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import Progress

from issuers.models import Token
from marketdata.books.current_books import read_books
from marketdata.books.log import MarketClosed, Message, record
from marketdata.books.orderbook import (
    ASK,
    BID,
    Change,
    CrossedBook,
    ImpossibleChange,
    OrderBook,
)
from marketdata.management.tokens import traded_token
from marketdata.replay import files
from partnerapi.core.commands import DRY_RUN, DryRunCommand, importing
from partnerapi.core.problems import WrongFileError

ACTOR = "replay_book"
BATCH = 500


def factor(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0
    if not isfinite(speed) or speed <= 0:
        raise ArgumentTypeError(f"{text} is not a number above 0")
    return speed


def tally(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


@dataclass(slots=True)
class Count:
    messages: int = 0
    changes: int = 0
    trades: int = 0
    passed_over: int = 0
    """Removals of levels that were not there."""
    began: float = field(default_factory=time.monotonic)

    def add(self, event: files.Event | Message) -> None:
        self.messages += 1
        self.changes += len(event.changes)
        self.trades += len(event.deals)
        if isinstance(event, files.Event):
            self.passed_over += event.passed_over

    def __str__(self) -> str:
        seconds = time.monotonic() - self.began
        rate = self.changes / max(seconds, 0.001)
        return (
            f"{tally(self.messages, 'message')}, {tally(self.changes, 'change')}, "
            f"{tally(self.trades, 'trade')} in {seconds:.1f} s "
            f"({rate:,.0f} changes/s)"
            + (
                f", {tally(self.passed_over, 'removal')} of levels that were not "
                "there passed over"
                if self.passed_over
                else ""
            )
        )


class Command(DryRunCommand):
    help = f"""Replay a file of book changes and trades into a token's order book.

The whole file is checked before anything is written. With --dry-run but without --token
it is checked against an empty book.

{files.__doc__} Changes and trades get the time at which they are recorded. A book that
is not empty is left unchanged unless --clear empties it, --append continues from it, or
the file begins with a reset. If the command is stopped early, the changes recorded so
far stay.

examples:
  manage.py book replay monday.csv --token ACME --dry-run
  manage.py book replay monday.csv --token ACME --clear
  manage.py book replay tuesday.csv --token ACME --append
  manage.py book replay monday.jsonl.gz --token ACME --speed 10
"""

    # A dry run without a token needs no database, and no settings that name one.
    requires_system_checks = []

    def add_arguments(self, parser):
        parser.add_argument("file", type=Path, help="CSV or JSON lines")
        parser.add_argument(
            "--token",
            metavar="SYMBOL",
            type=str.upper,
            help="the token whose book is written; it must be on the secondary market",
        )
        parser.add_argument(
            "--speed",
            metavar="N",
            type=factor,
            help="replay N times as fast as recorded (default: as fast as possible)",
        )
        before = parser.add_mutually_exclusive_group()
        before.add_argument(
            "--clear",
            action="store_true",
            help="first remove all levels of the book, in one message",
        )
        before.add_argument(
            "--append",
            action="store_true",
            help="continue from the current book",
        )

    def handle(self, *, file, token, speed, clear, append, dry_run, **options):
        console = Console(stderr=True)
        with Progress(console=console, disable=not console.is_terminal) as progress:
            with importing(file, self.stderr):
                if not token and not dry_run:
                    raise CommandError(
                        "Pass --token SYMBOL to write this token's book, or "
                        "--dry-run to check the file only."
                    )
                if token:
                    self.check()
                into = TokenLog(traded_token(token)) if token else None
                levels = into.levels if into else []
                before = [] if clear else levels
                if before and not append and not begins_with_reset(file):
                    raise CommandError(
                        f"The book of {token} is not empty: it has {len(before)} "
                        "levels. Remove them with --clear, continue from them with "
                        "--append, or begin the file with a reset."
                    )
                checked, after = check(file, OrderBook(before), progress)
            if dry_run:
                return f"{file.name} is valid: {checked}; {quote(after)}{DRY_RUN}"
            if clear and levels:
                removed = files.removals(OrderBook(levels))
                into.write([Message(removed)], Count())
            count = self.replay(file, into, OrderBook(before), speed, progress)
        return f"{token}: recorded {count}; {quote(after)}"

    def replay(self, file, into, book, speed, progress):
        count = Count()
        try:
            with progress.open(file, "rb", description="Recording") as source:
                for batch in pace(files.events(source, book), speed):
                    count.passed_over += sum(each.passed_over for each in batch)
                    messages = [Message(each.changes, each.deals) for each in batch]
                    into.write(messages, count)
        except WrongFileError:
            raise CommandError(
                f"{file.name} changed during the replay, after {count} had been "
                "recorded. Leave the file unchanged and run this again with --clear."
            ) from None
        except KeyboardInterrupt:
            raise CommandError(
                f"Stopped early: {count} are recorded and stay. Run this again with "
                "--clear for the whole file."
            ) from None
        return count


class TokenLog:
    """A token's log; no other writer may write to it meanwhile.

    `levels` are (side, price in cents, quantity) after change `sequence`.
    """

    def __init__(self, token: Token) -> None:
        self.token = token
        book = read_books([str(token.pk)])[str(token.pk)]
        self.sequence = book.sequence
        self.levels = [
            Change(side, *level)
            for side, levels in ((BID, book.bids), (ASK, book.asks))
            for level in levels
        ]

    def write(self, messages: list[Message], count: Count) -> None:
        """Record messages, and count them.

        Raises:
            CommandError: another writer has written.
        """
        try:
            recorded = record(self.token.pk, messages, ACTOR)
        except (ImpossibleChange, CrossedBook, MarketClosed) as error:
            raise written_by_another(str(error), count) from None
        for message in messages:
            count.add(message)
            self.sequence += len(message.changes)
        if recorded.sequence != self.sequence:
            raise written_by_another(
                f"{self.token.symbol}: change {recorded.sequence:,} was recorded "
                f"where change {self.sequence:,} was expected.",
                count,
            )


def written_by_another(why: str, recorded: Count) -> CommandError:
    return CommandError(
        f"{why} Another process writes this book. {recorded} are recorded and stay; "
        "stop the other writer and run this again with --clear."
    )


def begins_with_reset(file: Path) -> bool:
    with file.open("rb") as source:
        return files.begins_with_reset(source)


def check(file: Path, book: OrderBook, progress: Progress) -> tuple[Count, OrderBook]:
    count = Count()
    with progress.open(file, "rb", description="Checking") as source:
        for event in files.events(source, book):
            count.add(event)
    return count, book


def pace(
    events: Iterable[files.Event], speed: float | None
) -> Iterator[list[files.Event]]:
    """Batches of events, each when due; without a speed all are due at once."""
    batch: list[files.Event] = []
    began, first = time.monotonic(), None
    for event in events:
        if speed:
            first = first or event.at
            due = began + (event.at - first).total_seconds() / speed
            if batch and due > time.monotonic():
                yield batch
                batch = []
            time.sleep(max(0, due - time.monotonic()))
        batch.append(event)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def quote(book: OrderBook) -> str:
    bid, ask = book.best(BID), book.best(ASK)
    return ", ".join(
        f"best {name} {level.quantity:,} at {level.price:,} cents"
        if level
        else f"no {name}"
        for name, level in (("bid", bid), ("ask", ask))
    )
