"""Recordings of Kraken's book channel, replayed in memory against their checksums.

A recording holds what a WebSocket (v1) client of the public feed received, a frame a
line with the second it came in: `1618678132.38: [1664,{"a":[…],"c":"…"},"book-1000",
"XMR/USD"]`. Lines about connections (`wss://… <->`) and what was sent (`wss://… <- …`)
may stand between. A snapshot (`as`, `bs`) begins a book anew, an update (`a`, `b`)
changes it and brings the checksum that the book then has (`c`).

Prices and quantities become integers of the pair's last decimal, from their texts.

`python -m tests.marketdata.replay.recordings FILE` prints a row for each book, and ends
with exit code 1 where a checksum differs or there is none.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zlib import crc32

from rich.console import Console
from rich.table import Table

from marketdata.books.orderbook import ASK, BID, Ladder, OrderBook
from marketdata.replay.gzip_lines import BrokenFile, lines

FRAME = re.compile(r"(?:\d+(?:\.\d+)?: ?)?([\[{].*)", re.DOTALL)
CONNECTION = re.compile(r"\S+ (<->|<-|->) ")
CHANNEL = re.compile(r"book(?:-([1-9][0-9]{0,5}))?")
NUMBER = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?")
CHECKSUM = re.compile(r"[0-9]{1,10}")
DEFAULT_DEPTH = 10
SIDES = {"as": ASK, "bs": BID, "a": ASK, "b": BID}


class BookName(NamedTuple):
    """A pair's book; a recording may follow it at several depths."""

    pair: str
    depth: int


class Decimals(NamedTuple):
    """Digits after the point, the most that a book's texts have."""

    price: int
    quantity: int


class Frame(NamedTuple):
    """A message of the book channel; levels are (side, price, quantity) as texts."""

    line: int
    name: BookName
    is_snapshot: bool
    levels: list[tuple[int, str, str]]
    checksum: int | None


class Skipped(NamedTuple):
    """A line that is no message of the book channel, and what it is instead."""

    line: int
    kind: str


class Mismatch(NamedTuple):
    line: int
    pair: str
    expected: int
    computed: int

    def __str__(self) -> str:
        return (
            f"line {self.line}, {self.pair}: the checksum is {self.expected}, the book "
            f"has {self.computed}"
        )


class VenueBook:
    """A book as another venue tells it, of one order book a side: it may be crossed."""

    def __init__(self, changes: Iterable[tuple[int, int, int]] = ()) -> None:
        self.sides = OrderBook(), OrderBook()
        for change in changes:
            self.change(*change)

    def change(self, side: int, price: int, quantity: int) -> None:
        self.sides[side].apply([(side, price, quantity)])

    def quantity(self, side: int, price: int) -> int:
        return self.sides[side].quantity(side, price)

    def ladder(self, depth: int = 0) -> Ladder:
        bids, asks = self.sides
        return Ladder(bids.ladder(depth).bids, asks.ladder(depth).asks)

    def truncate(self, depth: int) -> None:
        """Drop what lies below the `depth` best levels of each side.

        A venue that publishes only so many levels does not say when one falls out.
        """
        for side, levels in enumerate(self.ladder()):
            self.sides[side].apply((side, price, 0) for price, _ in levels[depth:])

    def checksum(self, depth: int = 10) -> int:
        """CRC-32 of the best levels, as Kraken documents it for its book channel.

        Asks from low to high, then bids from high to low; of each level the digits of
        price and quantity without the point and leading zeros, which are those of the
        integers where the tick is the last decimal of the venue's texts.
        """
        bids, asks = self.ladder(depth)
        return crc32("".join(f"{p}{q}" for p, q in asks + bids).encode())


@dataclass(slots=True)
class Replayed:
    """What became of one book of a recording."""

    name: BookName
    decimals: Decimals
    book: VenueBook = field(default_factory=VenueBook)
    snapshots: int = 0
    updates: int = 0
    changes: int = 0
    stray_removals: int = 0
    checksums: int = 0
    matching: int = 0
    first_mismatch: Mismatch | None = None
    # The digits of levels that were sent with fewer decimals than others.
    short: dict[tuple[int, int], str] = field(default_factory=dict)

    def apply(self, frame: Frame) -> None:
        if frame.is_snapshot:
            self.book, self.short = VenueBook(), {}
            self.snapshots += 1
        else:
            self.updates += 1
        for side, price_text, quantity_text in frame.levels:
            price = scaled(price_text, self.decimals.price)
            quantity = scaled(quantity_text, self.decimals.quantity)
            # The venue now and then removes what is not there; the checksum does not
            # mind.
            if not quantity and not self.book.quantity(side, price):
                self.stray_removals += 1
                continue
            self.book.change(side, price, quantity)
            self.changes += 1
            if (decimals(price_text), decimals(quantity_text)) == self.decimals:
                self.short.pop((side, price), None)
            else:
                self.short[side, price] = digits(price_text) + digits(quantity_text)
        # What falls out of the depth is not said to be removed.
        self.book.truncate(self.name.depth)
        if frame.checksum is not None:
            self.check(frame.line, frame.checksum)

    def check(self, line: int, expected: int) -> None:
        self.checksums += 1
        computed = self.book.checksum()
        if expected == computed or expected == self.checksum_as_sent():
            self.matching += 1
        elif self.first_mismatch is None:
            self.first_mismatch = Mismatch(line, self.name.pair, expected, computed)

    def checksum_as_sent(self) -> int:
        """The checksum over the texts as they came, also where their decimals vary."""
        bids, asks = self.book.ladder(10)
        texts = [
            self.short.get((side, price)) or f"{price}{quantity}"
            for side, levels in ((ASK, asks), (BID, bids))
            for price, quantity in levels
        ]
        return crc32("".join(texts).encode())


@dataclass(slots=True)
class Replay:
    """A whole recording: its books, and by kind the lines that say nothing of them."""

    books: dict[BookName, Replayed] = field(default_factory=dict)
    skipped: dict[str, list[int]] = field(default_factory=dict)

    @property
    def checksums(self) -> int:
        return sum(book.checksums for book in self.books.values())

    @property
    def matching(self) -> int:
        return sum(book.matching for book in self.books.values())

    @property
    def first_mismatch(self) -> Mismatch | None:
        found = [b.first_mismatch for b in self.books.values() if b.first_mismatch]
        return min(found, default=None)


def measure(file: BinaryIO) -> dict[BookName, Decimals]:
    """The decimals of every book of a recording."""
    found: dict[BookName, Decimals] = {}
    for frame in read(file):
        if isinstance(frame, Frame):
            most = found.get(frame.name, Decimals(0, 0))
            for _, price, quantity in frame.levels:
                most = Decimals(
                    max(most.price, decimals(price)),
                    max(most.quantity, decimals(quantity)),
                )
            found[frame.name] = most
    return found


def replay(file: BinaryIO, measured: dict[BookName, Decimals]) -> Replay:
    """Replay a recording that was measured; nothing in it is an error."""
    result = Replay()
    for frame in read(file):
        if isinstance(frame, Skipped):
            result.skipped.setdefault(frame.kind, []).append(frame.line)
            continue
        name = frame.name
        if frame.is_snapshot:
            result.books.setdefault(name, Replayed(name, measured[name]))
        if name in result.books:
            result.books[name].apply(frame)
        else:
            kind = "update before the first snapshot"
            result.skipped.setdefault(kind, []).append(frame.line)
    return result


def read(file: BinaryIO) -> Iterator[Frame | Skipped]:
    """What each line is, blank ones left out."""
    number = 0
    try:
        for number, line in enumerate(lines(file), 1):
            if line.strip():
                yield parse(number, line)
    except BrokenFile:
        yield Skipped(number + 1, "compressed data cut off or damaged")


def parse(number: int, line: str) -> Frame | Skipped:
    if CONNECTION.match(line):
        return Skipped(number, "connection")
    # Only the last line of a file can have no end.
    unreadable = "unreadable line" if line.endswith("\n") else "cut-off last line"
    frame = FRAME.fullmatch(line.strip())
    if frame is None:
        return Skipped(number, unreadable)
    try:
        message = json.loads(frame[1], parse_int=str, parse_float=str)
    except (json.JSONDecodeError, RecursionError):
        return Skipped(number, unreadable)
    if isinstance(message, dict):
        kind = message.get("event") or f"message of {message.get('channel')}"
        return Skipped(number, str(kind))
    return book_frame(number, message) or Skipped(number, "malformed message")


def book_frame(number: int, message: list) -> Frame | Skipped | None:
    """[channel's id, one or two objects, channel's name, pair]; None: nothing such."""
    match message:
        case [_, *parts, str(channel), str(pair)] if parts:
            named = CHANNEL.fullmatch(channel)
        case _:
            return None
    if named is None:
        return Skipped(number, f"message of {channel}")
    levels, checksum, is_snapshot = [], None, False
    for part in parts:
        if not isinstance(part, dict):
            return None
        for key, value in part.items():
            if key == "c" and isinstance(value, str) and CHECKSUM.fullmatch(value):
                checksum = int(value)
            elif key in SIDES and isinstance(value, list):
                is_snapshot |= key in ("as", "bs")
                for row in value:
                    match row:
                        # A fourth element marks what comes back into the depth.
                        case [str(price), str(quantity), *_] if NUMBER.fullmatch(
                            price
                        ) and NUMBER.fullmatch(quantity):
                            levels.append((SIDES[key], price, quantity))
                        case _:
                            return None
            else:
                return None
    name = BookName(pair, int(named[1] or DEFAULT_DEPTH))
    return Frame(number, name, is_snapshot, levels, checksum)


def decimals(text: str) -> int:
    return len(text.partition(".")[2])


def digits(text: str) -> str:
    return text.replace(".", "").lstrip("0")


def scaled(text: str, decimals: int) -> int:
    whole, _, fraction = text.partition(".")
    return int(whole + fraction.ljust(decimals, "0"))


def table(replayed: Replay) -> Table:
    shown = Table("Pair", "Depth", "Decimals", "Snapshots", "Updates", "Changes")
    shown.add_column("Stray removals")
    shown.add_column("Checksums")
    for column in shown.columns[1:]:
        column.justify = "right"
    for book in replayed.books.values():
        shown.add_row(
            book.name.pair,
            str(book.name.depth),
            f"{book.decimals.price}, {book.decimals.quantity}",
            f"{book.snapshots:,}",
            f"{book.updates:,}",
            f"{book.changes:,}",
            f"{book.stray_removals:,}",
            f"{book.matching:,} of {book.checksums:,}",
        )
    return shown


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    path = parser.parse_args(arguments).file
    console = Console(width=100, soft_wrap=True)
    began = time.monotonic()
    with path.open("rb") as file:
        replayed = replay(file, measure(file))
    seconds = time.monotonic() - began
    console.print(table(replayed))
    for kind, found in sorted(replayed.skipped.items()):
        console.print(f"Skipped: {kind} {len(found):,}×, first line {found[0]}")
    for book in replayed.books.values():
        if book.first_mismatch:
            console.print(f"First mismatch of its book: {book.first_mismatch}")
    if not replayed.checksums:
        console.print(
            f"{path.name} holds no checksum of a book that a snapshot began; record "
            "the book channel from its subscription on."
        )
        return 1
    changes = sum(book.changes for book in replayed.books.values())
    console.print(
        f"{path.name}: {replayed.matching:,} of {replayed.checksums:,} checksums "
        f"match, {len(replayed.books)} books, {changes:,} changes in {seconds:.1f} s"
    )
    return 1 if replayed.first_mismatch else 0


if __name__ == "__main__":
    sys.exit(main())
