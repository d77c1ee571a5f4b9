"""Recordings of Kraken's book channel, replayed in memory against their checksums.

A recording holds what a WebSocket (v1) client of the public feed received, a frame a
line with the second it came in: `1618678132.38: [1664,{"a":[…],"c":"…"},"book-1000",
"XMR/USD"]`. Lines about connections (`wss://… <->`) and what was sent (`wss://… <- …`)
may stand between. A snapshot (`as`, `bs`) begins a book anew, an update (`a`, `b`)
changes it and brings the checksum that the book then has (`c`).

Prices and quantities become integers of the pair's last decimal, from their texts.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple
from zlib import crc32

from marketdata.books.orderbook import ASK, BID, OrderBook
from partnerapi.core.gzip_lines import BrokenFile, lines

FRAME = re.compile(r"(?:\d+(?:\.\d+)?: ?)?([\[{].*)", re.DOTALL)
CONNECTION = re.compile(r"\S+ (<->|<-|->) ")
CHANNEL = re.compile(r"book(?:-([1-9][0-9]{0,5}))?")
NUMBER = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?")
CHECKSUM = re.compile(r"[0-9]{1,10}")
DEFAULT_DEPTH = 10
SIDES = {"as": ASK, "bs": BID, "a": ASK, "b": BID}
# Of so many lines one must be a recording's for the file to be one.
LOOKED_AT = 20


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


@dataclass(slots=True)
class Replayed:
    """What became of one book of a recording."""

    name: BookName
    decimals: Decimals
    book: OrderBook = field(default_factory=OrderBook)
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
            self.book, self.short = OrderBook(), {}
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
            self.book.apply([(side, price, quantity)], may_cross=True)
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


def is_recording(file: BinaryIO) -> bool:
    """Whether one of the first lines is a frame or tells of a connection."""
    try:
        for _, line in zip(range(LOOKED_AT), lines(file), strict=False):
            # An object may be a line of anything; a frame of one has a time before it.
            if CONNECTION.match(line) or (FRAME.match(line) and line[0] != "{"):
                return True
    except BrokenFile:
        return False
    return False


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
