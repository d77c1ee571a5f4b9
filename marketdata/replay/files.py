"""Files of book changes and trades in euro cents: CSV or JSON lines.

A row is one change, trade or reset; rows of the same message happen at once and stand
together. CSV has a header, a JSON line is an object with the same names; either may be
gzip-compressed. Further columns are ignored.

    time         RFC 3339, with a zone: 2026-03-02T09:00:00.250Z; never goes back
    message      whole number; goes up with every message, gaps are allowed
    kind         change, trade or reset
    side         bid or ask of a change; empty otherwise
    price_cents  price of a unit, 1 or more; empty for a reset
    quantity     change: units at this price from now on, 0 takes the level away;
                 trade: units that changed hands; empty for a reset

A reset empties the book; it is its message's first row. A level that is not there may
be taken away, as exchanges send it: that is counted and passed over. After a message
the best bid is below the best ask.

    time,message,kind,side,price_cents,quantity
    2026-03-02T09:00:00Z,1,change,bid,1250,40
    2026-03-02T09:00:00Z,1,change,ask,1260,25
    2026-03-02T09:00:01.5Z,2,change,ask,1260,15
    2026-03-02T09:00:01.5Z,2,trade,,1260,10

    {"time": "2026-03-02T09:00:02Z", "message": 3, "kind": "change",
     "side": "ask", "price_cents": 1260, "quantity": 0}          (on one line)
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, groupby
from operator import attrgetter
from typing import BinaryIO, NamedTuple

from marketdata.books.log import MAX, Deal
from marketdata.books.orderbook import (
    ASK,
    BID,
    Change,
    CrossedBook,
    ImpossibleChange,
    OrderBook,
)
from marketdata.replay.gzip_lines import BrokenFile, lines
from partnerapi.core.problems import Problem, Problems, WrongFileError

CHANGE, TRADE, RESET = "change", "trade", "reset"
SIDES = {"bid": BID, "ask": ASK}
COLUMNS = ("time", "message", "kind", "side", "price_cents", "quantity")
WHOLE = re.compile(r"[0-9]{1,19}")


@dataclass(slots=True)
class Event:
    """A message: its changes happen at once.

    `passed_over` counts removals of levels that were not there.
    """

    at: datetime
    changes: list[Change]
    deals: list[Deal]
    passed_over: int = 0


class Row(NamedTuple):
    """A row that was read; only a change has a `side`, a reset has no numbers."""

    line: int
    at: datetime
    message: int
    kind: str
    side: int
    price: int
    quantity: int


def begins_with_reset(file: BinaryIO) -> bool:
    first = next(read_rows(file, Problems()), None)
    return first is not None and first.kind == RESET


def events(file: BinaryIO, book: OrderBook) -> Iterator[Event]:
    """The messages of a file; each is applied to the book before it is yielded.

    After the first problem none is yielded, but the rows after it are still checked.

    Raises:
        WrongFileError: at the end, with the problems.
    """
    problems = Problems()
    for number, rows in groupby(read_rows(file, problems), attrgetter("message")):
        together = list(rows)
        if problems:
            continue
        event = event_of(together, book)
        try:
            book.apply(event.changes)
        except (ImpossibleChange, CrossedBook) as error:
            rule = f"message {number} does not fit the book before it. {error}"
            problems.append(Problem(together[0].line, "message", rule))
        else:
            yield event
    if problems:
        raise WrongFileError(problems)


def event_of(rows: list[Row], book: OrderBook) -> Event:
    event = Event(rows[0].at, [], [])
    # What the message's own changes have made of the book so far.
    made: dict[tuple[int, int], int] = {}
    for row in rows:
        if row.kind == CHANGE:
            place = row.side, row.price
            if row.quantity or made.get(place, book.quantity(*place)):
                event.changes.append(Change(row.side, row.price, row.quantity))
                made[place] = row.quantity
            else:
                event.passed_over += 1
        elif row.kind == TRADE:
            event.deals.append(Deal(row.price, row.quantity))
        else:
            emptied = removals(book)
            event.changes.extend(emptied)
            made |= {(side, price): 0 for side, price, _ in emptied}
    return event


def removals(book: OrderBook) -> list[Change]:
    """The changes that empty a book."""
    bids, asks = book.ladder()
    return [
        Change(side, level.price, 0)
        for side, levels in ((BID, bids), (ASK, asks))
        for level in levels
    ]


def read_rows(file: BinaryIO, problems: Problems) -> Iterator[Row]:
    """The good rows in their order; the problems of the others go to `problems`."""
    last, found = None, False
    for line, values in records(file, problems):
        found = True
        reader = RowReader(line, values, problems)
        row = reader.row()
        if row is not None and reader.follows(row, last):
            yield row
            last = row
    if not found and not problems:
        problems.append(Problem(1, "", "the file has no rows"))


class RowReader:
    """Reads one row's values, and adds what is wrong with them to `problems`."""

    def __init__(self, line: int, values: dict[str, str], problems: Problems) -> None:
        self.line, self.values, self.problems = line, values, problems

    def wrong(self, field: str, rule: str) -> None:
        self.problems.append(Problem(self.line, field, rule))

    def row(self) -> Row | None:
        before = len(self.problems)
        at, message, kind = self.time(), self.whole("message", 0), self.values["kind"]
        side = price = quantity = 0
        if kind not in (CHANGE, TRADE, RESET):
            self.wrong("kind", f"{kind!r} is not change, trade or reset")
            return None
        if kind == CHANGE and self.values["side"] not in SIDES:
            self.wrong("side", f"{self.values['side']!r} is not bid or ask")
        elif kind == CHANGE:
            side = SIDES[self.values["side"]]
        else:
            self.empty("side", kind)
        if kind == RESET:
            self.empty("price_cents", kind)
            self.empty("quantity", kind)
        else:
            price = self.whole("price_cents", 1)
            quantity = self.whole("quantity", 0 if kind == CHANGE else 1)
        if at is None or len(self.problems) > before:
            return None
        return Row(self.line, at, message, kind, side, price, quantity)

    def follows(self, row: Row, last: Row | None) -> bool:
        if last is None:
            return True
        before = len(self.problems)
        if row.message < last.message:
            self.wrong(
                "message",
                f"{row.message} comes after {last.message}; number messages in "
                "ascending order and keep the rows of each together",
            )
        if row.at < last.at:
            self.wrong(
                "time",
                f"{row.at.isoformat()} is earlier than the row above, "
                f"{last.at.isoformat()}; sort the rows by time",
            )
        if row.kind == RESET and row.message == last.message:
            self.wrong(
                "kind",
                f"a reset is not the first row of message {row.message}; make it the "
                "first",
            )
        return len(self.problems) == before

    def time(self) -> datetime | None:
        text = self.values["time"]
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            at = None
        if at is None or at.tzinfo is None:
            self.wrong(
                "time",
                f"{text!r} is not a time with a zone; write it as "
                "2026-03-02T09:00:00.250Z",
            )
            return None
        return at

    def whole(self, field: str, least: int) -> int:
        text = self.values[field]
        if WHOLE.fullmatch(text) and least <= int(text) <= MAX:
            return int(text)
        hint = "; write 12.50 euros as 1250" if field == "price_cents" else ""
        self.wrong(field, f"{text!r} is not a whole number from {least} to {MAX}{hint}")
        return least

    def empty(self, field: str, kind: str) -> None:
        if self.values[field]:
            self.wrong(
                field,
                f"{self.values[field]!r}: a {kind} has no such value; leave it empty",
            )


def records(file: BinaryIO, problems: Problems) -> Iterator[tuple[int, dict[str, str]]]:
    """Each record's line and values, absent ones empty."""
    texts = numbered_lines(file, problems)
    first = next(texts, None)
    if first is None:
        return
    texts = chain([first], texts)
    if first[1].lstrip().startswith("{"):
        yield from json_records(texts, problems)
    else:
        yield from csv_records(texts, problems)


def numbered_lines(file: BinaryIO, problems: Problems) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, text in enumerate(lines(file), 1):
            if text.strip():
                yield number, text
    except BrokenFile as error:
        problems.append(Problem(number + 1, "", f"{error}; create the file again"))


def json_records(
    texts: Iterator[tuple[int, str]], problems: Problems
) -> Iterator[tuple[int, dict[str, str]]]:
    for line, text in texts:
        try:
            # As text: a number may have more digits than Python reads.
            found = json.loads(text, parse_int=str)
        except (json.JSONDecodeError, RecursionError) as error:
            problems.append(
                Problem(line, "", f"not JSON, {error}; write one object per line")
            )
            continue
        if not isinstance(found, dict):
            problems.append(
                Problem(line, "", "not an object; write one object per line")
            )
            continue
        yield line, {name: as_text(found.get(name)) for name in COLUMNS}


def as_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def csv_records(
    texts: Iterator[tuple[int, str]], problems: Problems
) -> Iterator[tuple[int, dict[str, str]]]:
    header: list[str] = []
    for line, text in texts:
        try:
            [fields] = csv.reader([text], strict=True)
        except csv.Error as error:
            problems.append(Problem(line, "", f"not a row of CSV: {error}"))
            continue
        fields = [field.strip() for field in fields]
        if not header:
            header = [field.lower() for field in fields]
            missing = [name for name in COLUMNS if header.count(name) != 1]
            if missing:
                rule = f"the header must have each of {','.join(COLUMNS)} once"
                problems.append(Problem(line, ", ".join(missing), rule))
                return
        elif len(fields) != len(header):
            rule = f"{len(fields)} fields, the header has {len(header)}"
            problems.append(Problem(line, "", rule))
        else:
            found = dict(zip(header, fields, strict=True))
            yield line, {name: found[name] for name in COLUMNS}
