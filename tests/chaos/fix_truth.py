"""Compares each state that FIX clients receive with the log of the database.

Run it with `python -m tests.chaos.fix_truth --states 15000`. Three acceptors of a group
publish at 0, 100 and 1,000 ms. Clients with a decoder of their own follow books at all
depths, one-sided and whole, by X and by W. They lose messages, ask for them, and move
to another acceptor when theirs is killed, stopped or suspended, or when they like.

A state is a client's book after a W or an X. It must be that of the log: at the number
in BookSequence(5083), or for those who get none at a number not before the last; with
the time of that change. No trade may be missing. Meanwhile the database's own books are
read at instants, and at the end: the log must lead to them. It ends with exit code 1
when anything is wrong.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import compress
from pathlib import Path
from uuid import UUID

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.chaos.book_actors import Writer
from tests.chaos.book_logs import ends_of, open_books
from tests.chaos.books import Cache
from tests.chaos.fix_acceptors import AcceptorProcess
from tests.chaos.fix_histories import WIDE, new_seats, symbols_of
from tests.chaos.fix_observer import GAP, Connection, Fields, Observer, value
from tests.chaos.installation import breakable_installation, close_connection
from tests.system import limited

STATES = 15_000
CONFLATIONS = (0, 100, 1_000)
"""FIX_CONFLATION_MS of each acceptor."""
BOOKS, WRITERS, CLIENTS = 6, 2, 24
UNNUMBERED = 4
"""Every so many clients one gets no BookSequence(5083)."""
CALLS, PAUSE_SECONDS = 20, 0.2
"""That a writer makes, and the pause after it."""
FAULT_SECONDS = 4.0
SLEEP_SECONDS = 1.0
REACH_SECONDS = 150.0
EXAMPLES = 10

Side = bytes
Levels = dict[tuple[Side, int], int]
"""Quantities by MDEntryType(269) and price in cents."""


class Wrong(Exception):
    """A state that is not that of the log."""


class Change:
    """A row of the log: the side's quantity at a price from then on."""

    __slots__ = ("at", "ends", "level", "number", "quantity")

    def __init__(self, number: int, side: int, price: int, quantity: int, ends: bool,
                 at: datetime) -> None:  # fmt: skip
        self.number, self.quantity, self.ends = number, quantity, ends
        self.level = b"%d" % side, price
        self.at = stamp(at)


def stamp(at: datetime) -> bytes:
    """MDEntryDate(272) and MDEntryTime(273), with a space between."""
    return f"{at:%Y%m%d %H:%M:%S}.{at.microsecond // 1000:03d}".encode()


@dataclass
class Log:
    """A book's changes and trades, each from number 1 on."""

    changes: list[Change]
    trades: list[tuple[int, int, bytes]]
    """Price, quantity, time."""


class Cursor:
    """A place in a log, which only goes forward, and the book there."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.number, self.levels = 0, dict[tuple[Side, int], int]()
        self.at = b""

    def advance(self) -> bool:
        """Go to the end of the next message; False: there is none."""
        if self.number == len(self.log.changes):
            return False
        while True:
            change = self.log.changes[self.number]
            self.number += 1
            self.levels.pop(change.level, None)
            if change.quantity:
                self.levels[change.level] = change.quantity
            if change.ends:
                self.at = change.at
                return True

    def go_to(self, number: int) -> None:
        """Raises Wrong: no message ends there, or it was passed."""
        while self.number < number and self.advance():
            pass
        if self.number != number:
            raise Wrong(f"number {number}, where the log has {self.number}")

    def best(self, sides: bytes, depth: int) -> Levels:
        """The best levels of these sides."""
        found: Levels = {}
        for side in sides.decode():
            key = side.encode()
            prices = sorted(price for own, price in self.levels if own == key)
            chosen = prices[:depth] if side == "1" else prices[-depth:]
            found |= {(key, price): self.levels[key, price] for price in chosen}
        return found


def entries_of(message: Fields) -> Iterator[dict[int, bytes]]:
    """The entries of a W or an X."""
    first = 279 if value(message, 35) == b"X" else 269
    entry: dict[int, bytes] = {}
    for tag, text in message:
        if tag == first and entry:
            yield entry
        if tag == first:
            entry = {}
        if tag == first or (entry and tag != 5083):
            entry[tag] = text
    if entry:
        yield entry


def cents(text: bytes) -> int:
    return int(text.replace(b".", b""))


class Book:
    """A client's book of one request, beside the log."""

    def __init__(self, log: Log, sides: bytes, depth: int, refreshes: bool) -> None:
        self.sides, self.depth, self.refreshes = sides, depth, refreshes
        self.cursor = Cursor(log)
        self.levels: Levels = {}
        self.is_known = False
        # The number of the last trade, or the last trade of the first W.
        self.trade = 0
        self.last: tuple[int, int, bytes] | None = None
        self.may_repeat = False

    def lose(self) -> None:
        """Messages were lost: a W comes, then trades, some of them repeated."""
        self.is_known, self.may_repeat = False, True

    def take(self, message: Fields) -> None:
        """Apply a W or an X.

        Raises:
            Wrong: it does not lead to what the log has.
        """
        entries = list(entries_of(message))
        if len(entries) != int(value(message, 268)):
            raise Wrong("another number of entries")
        levels = [one for one in entries if one[269] in (b"0", b"1")]
        trades = [one for one in entries if one[269] == b"2"]
        if value(message, 35) == b"W":
            self.levels = {}
            for one in levels:
                self.put(one)
            if len(self.levels) != len(levels):
                raise Wrong("a level twice")
            self.begin_trades(trades)
            self.is_known = True
        else:
            if not self.is_known:
                raise Wrong("an X before a W")
            if self.refreshes and levels:
                raise Wrong("levels in an X")
            for one in levels:
                self.update(one)
            for one in trades:
                self.take_trade(one)
        times = {one[272] + b" " + one[273] for one in levels}
        if len(times) > 1:
            raise Wrong("levels of several times")
        self.compare(value(message, 5083), *times)

    def put(self, entry: dict[int, bytes]) -> None:
        self.levels[entry[269], cents(entry[270])] = int(entry[271])

    def update(self, entry: dict[int, bytes]) -> None:
        key = entry[269], cents(entry[270])
        if (key in self.levels) == (entry[279] == b"0"):
            raise Wrong(f"279={entry[279]!r} of {key}")
        if entry[279] == b"2":
            del self.levels[key]
        else:
            self.put(entry)

    def begin_trades(self, trades: Sequence[dict[int, bytes]]) -> None:
        if trades:
            [self.last] = [said(one) for one in trades]
            self.trade = 0

    def take_trade(self, entry: dict[int, bytes]) -> None:
        number, log = int(entry[278]), self.cursor.log.trades
        if said(entry) != log[number - 1]:
            raise Wrong(f"trade {number} is another")
        if self.trade:
            is_next = number == self.trade + 1
        else:
            # The first W has the one before.
            is_next = self.last == (log[number - 2] if number > 1 else None)
        if not is_next and not (self.may_repeat and number <= self.trade):
            raise Wrong(f"trade {number} after {self.trade or self.last}")
        self.trade, self.may_repeat = number, False

    def compare(self, number: bytes, at: bytes = b"") -> None:
        """Raises Wrong: the log leads elsewhere."""
        cursor = self.cursor
        if number:
            cursor.go_to(int(number))
            if not self.is_as_there(at):
                raise Wrong(
                    f"{self.levels} at {at!r}, the log at {cursor.number} has "
                    f"{cursor.best(self.sides, self.depth)} at {cursor.at!r}"
                )
            return
        while not self.is_as_there(at):
            if not cursor.advance():
                raise Wrong(f"{self.levels} at {at!r} is nowhere in the log")

    def is_as_there(self, at: bytes) -> bool:
        cursor = self.cursor
        return (not at or at == cursor.at) and self.levels == cursor.best(
            self.sides, self.depth
        )


def said(entry: dict[int, bytes]) -> tuple[int, int, bytes]:
    """Price, quantity and time of a trade."""
    return cents(entry[270]), int(entry[271]), entry[272] + b" " + entry[273]


@dataclass
class Verdict:
    """How many states were compared, by depth, and the first that was wrong."""

    states: Counter[int] = field(default_factory=Counter)
    wrong: str = ""
    books: dict[tuple[bytes, bytes], Book] = field(default_factory=dict)


def judge(connection: Connection, logs: dict[str, Log]) -> Verdict:
    """Replay a connection beside the logs, up to its first wrong state."""
    verdict = Verdict(wrong=connection.fault)
    for message in connection.received:
        if message is GAP:
            for book in verdict.books.values():
                book.lose()
            continue
        name, symbol = value(message, 262), value(message, 55)
        request = connection.requests[name]
        key = name, symbol
        if key not in verdict.books:
            verdict.books[key] = Book(
                logs[symbol.decode()], request.sides, request.depth, request.refreshes
            )
        try:
            if bool(value(message, 5083)) != connection.is_numbered:
                raise Wrong("5083")
            verdict.books[key].take(message)
        except Wrong as wrong:
            verdict.wrong = f"{request}: {wrong} by {message}"
            break
        verdict.states[request.depth] += 1
    return verdict


def unreached(connection: Connection, logs: dict[str, Log]) -> str:
    """The first book of a live connection that is not where its log ends, or ""."""
    verdict = judge(connection, logs)
    if verdict.wrong:
        return verdict.wrong
    for name, request in connection.requests.items():
        for symbol in request.symbols:
            book = verdict.books.get((name, symbol.encode()))
            if name not in connection.ended and not (book and is_at_end(book)):
                return f"{request}: {symbol} is not where its log ends"
    return ""


def is_at_end(book: Book) -> bool:
    log = book.cursor.log
    end = Cursor(log)
    end.go_to(len(log.changes))
    if book.trade:
        has_all_trades = book.trade == len(log.trades)
    else:
        has_all_trades = book.last == (log.trades[-1] if log.trades else None)
    return (
        book.is_known
        and book.levels == end.best(book.sides, book.depth)
        and has_all_trades
    )


def read_logs(ids: dict[str, UUID]) -> dict[str, Log]:
    from marketdata.models import BookChange, Trade

    logs = {}
    columns = ("sequence", "side", "price_cents", "quantity", "ends_message", "at")
    for symbol, token_id in ids.items():
        changes = BookChange.objects.filter(token=token_id).order_by("sequence")
        trades = Trade.objects.filter(token=token_id).order_by("sequence")
        logs[symbol] = Log(
            [Change(*row) for row in changes.values_list(*columns)],
            [
                (price, quantity, stamp(at))
                for price, quantity, at in trades.values_list(
                    "price_cents", "quantity", "at"
                )
            ],
        )
    close_connection()
    return logs


BOOKS_NOW = """
    SELECT token.symbol, head.last_sequence, level.side, level.price_cents,
        level.quantity
    FROM marketdata_orderbookhead head
    JOIN issuers_token token ON token.id = head.token_id
    LEFT JOIN marketdata_booklevel level ON level.token_id = head.token_id
    WHERE head.token_id = ANY (%s)
"""


def read_books(ids: dict[str, UUID]) -> dict[tuple[str, int], Levels]:
    """The database's own books at this instant, by symbol and number."""
    from partnerapi.core.database import fetch

    found: dict[tuple[str, int], Levels] = {}
    for symbol, number, side, price, quantity in fetch(
        BOOKS_NOW, [list(ids.values())], tuple
    ):
        book = found.setdefault((symbol, number), {})
        if price is not None:
            book[b"%d" % side, price] = quantity
    close_connection()
    return found


def wrong_logs(logs: dict[str, Log], books: dict[tuple[str, int], Levels]) -> list[str]:
    """The instants at which the database had another book than its log leads to."""
    cursors = {symbol: Cursor(log) for symbol, log in logs.items()}
    wrong = []
    for (symbol, number), levels in sorted(books.items(), key=lambda one: one[0]):
        cursors[symbol].go_to(number)
        if cursors[symbol].levels != levels:
            wrong.append(f"the book of {symbol} at {number}")
    return wrong


@dataclass
class Report:
    """`by` counts the states by conflation and depth."""

    states: int = 0
    by: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    examples: list[str] = field(default_factory=list)
    instants: int = 0
    wrong_instants: int = 0
    unreached: list[str] = field(default_factory=list)
    tracebacks: int = 0
    connections: int = 0
    changes: int = 0
    trades: int = 0
    done: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    seconds: float = 0
    load: float = 0

    @property
    def passed(self) -> bool:
        return not (
            self.wrong or self.wrong_instants or self.unreached or self.tracebacks
        )


class Trial:
    """A group of acceptors, books that change, and clients that observe them."""

    def __init__(
        self, states: int, dice: random.Random, logs: Path, cache: Cache
    ) -> None:
        self.states = states
        self.dice = dice
        self.cache = cache
        self.report = Report()
        # Before there are threads: they fork.
        self.writers = [Writer() for _ in range(WRITERS)]
        self.ids = symbols_of(open_books(BOOKS))
        *seats, spare = new_seats(CLIENTS + 1)
        self.instants: dict[tuple[str, int], Levels] = {}
        self.acceptors = [
            AcceptorProcess(
                logs / f"acceptor{number}.log",
                spare,
                FIX_ACCEPTOR=f"at{conflation}",
                FIX_SESSIONS=str(CLIENTS + 1),
                FIX_COMP_ID="PARTNERAPI",
                FIX_CONNECTIONS_PER_ADDRESS="1000",
                **limited(FIX_CONFLATION_MS=conflation),
            )
            for number, conflation in enumerate(CONFLATIONS)
        ]
        numbered = [bool(n % UNNUMBERED) for n in range(CLIENTS)]
        self.number(compress((seat.comp_id for seat in seats), numbered))
        ports = [acceptor.port for acceptor in self.acceptors]
        self.observers = [
            Observer(ports, *seat, list(self.ids), one, random.Random(dice.random()))
            for seat, one in zip(seats, numbered, strict=True)
        ]

    def number(self, comp_ids: Iterable[str]) -> None:
        from marketdata.models import FixSession

        FixSession.objects.filter(comp_id__in=comp_ids).update(book_sequence=True)
        close_connection()

    def seen(self) -> int:
        return sum(observer.states for observer in self.observers)

    def run(self) -> Report:
        for acceptor in self.acceptors:
            acceptor.wait()
        for observer in self.observers:
            observer.start()
        with Progress(console=Console(stderr=True)) as progress:
            task = progress.add_task("states", total=self.states)
            fault_at = time.monotonic() + FAULT_SECONDS
            while self.seen() < self.states:
                self.write()
                self.instants |= read_books(self.ids)
                if time.monotonic() > fault_at:
                    self.break_one()
                    fault_at = (
                        time.monotonic() + self.dice.uniform(0, 2) * FAULT_SECONDS
                    )
                progress.update(task, completed=self.seen())
        self.finish()
        return self.report

    def write(self) -> None:
        ids = list(self.ids.values())
        for writer in self.writers:
            writer.begin(ids, self.dice.random(), CALLS, WIDE)
        while any(writer.left for writer in self.writers):
            for writer in self.writers:
                writer.read()
            time.sleep(0.01)
        time.sleep(PAUSE_SECONDS)

    def break_one(self) -> None:
        """Kill, stop, or suspend an acceptor while another one serves; or Redis."""
        acceptor = self.dice.choice(self.acceptors)
        fault = self.dice.choice(("kill", "stop", "suspend", "Redis"))
        others = [one for one in self.acceptors if one is not acceptor]
        if fault == "Redis":
            self.cache.kill_or_start()
        elif not acceptor.listens() or not any(one.listens() for one in others):
            return
        elif fault == "kill":
            acceptor.kill()
        elif fault == "stop":
            acceptor.restart()
        else:
            acceptor.sleep(self.dice.uniform(0, SLEEP_SECONDS))
        self.report.faults[fault] += 1

    def finish(self) -> None:
        """Wait until each client has the last books, and judge all that came."""
        for observer in self.observers:
            observer.stopped.set()
        for acceptor in self.acceptors:
            acceptor.wait()
        self.instants |= read_books(self.ids)
        ends_of(list(self.ids.values()))
        logs = read_logs(self.ids)
        deadline = time.monotonic() + REACH_SECONDS
        while (left := self.unreached(logs)) and time.monotonic() < deadline:
            time.sleep(1)
        for observer in self.observers:
            observer.leaving.set()
        for observer in self.observers:
            observer.join()
        for acceptor in self.acceptors:
            acceptor.stop()
        self.note(logs, left)

    def unreached(self, logs: dict[str, Log]) -> list[str]:
        found = []
        for observer in self.observers:
            connection = observer.connection
            if not connection.requests:
                found.append("a client is not logged on")
            elif one := unreached(connection, logs):
                found.append(one)
        return found

    def note(self, logs: dict[str, Log], left: list[str]) -> None:
        report = self.report
        report.unreached = left[:EXAMPLES]
        for observer in self.observers:
            report.done.update(observer.done)
            report.connections += len(observer.connections)
            for connection in observer.connections:
                verdict = judge(connection, logs)
                report.states += verdict.states.total()
                conflation = CONFLATIONS[connection.acceptor]
                for depth, count in verdict.states.items():
                    report.by[f"{conflation} ms, depth {depth}"] += count
                if verdict.wrong:
                    report.wrong += 1
                    report.examples.append(verdict.wrong)
        wrong = wrong_logs(logs, self.instants)
        report.instants, report.wrong_instants = len(self.instants), len(wrong)
        tracebacks = [one for each in self.acceptors for one in each.tracebacks()]
        report.tracebacks = len(tracebacks)
        report.examples = [*report.examples, *wrong, *tracebacks][:EXAMPLES]
        report.changes = sum(len(log.changes) for log in logs.values())
        report.trades = sum(len(log.trades) for log in logs.values())

    def end(self) -> None:
        for writer in self.writers:
            writer.process.kill()
        for acceptor in self.acceptors:
            acceptor.process.kill()
            acceptor.process.wait()


def trial(states: int, dice: random.Random, logs: Path) -> Report:
    began = time.monotonic()
    with breakable_installation() as (processes, database):
        trial = Trial(states, dice, logs, Cache(database, processes))
        try:
            report = trial.run()
        finally:
            trial.end()
    report.seconds = time.monotonic() - began
    report.load = os.getloadavg()[0]
    return report


def show(report: Report) -> None:
    table = Table("", "", title=f"{report.states:,} states of FIX clients")
    for name, text in {
        "connections with a wrong state": report.wrong,
        "clients without the last books": len(report.unreached),
        "books of the database compared with the log": f"{report.instants:,}",
        "of them unlike it": report.wrong_instants,
        "tracebacks in the acceptors' logs": report.tracebacks,
        **dict(sorted(report.by.items())),
        "connections": f"{report.connections:,}",
        "changes and trades of the logs": f"{report.changes:,}, {report.trades:,}",
        "done": ", ".join(f"{name} {n:,}" for name, n in report.done.most_common()),
        "faults": ", ".join(f"{name} {n:,}" for name, n in report.faults.items()),
        "all took": f"{report.seconds:.0f} s, load {report.load:.1f}",
        **{
            f"example {n}": one
            for n, one in enumerate([*report.examples, *report.unreached], 1)
        },
    }.items():
        table.add_row(name, str(text))
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.fix_truth",
        description="Compares what FIX clients receive with the log of the database, "
        "while acceptors fail over and clients lose messages.",
        epilog="Example: python -m tests.chaos.fix_truth --states 3000",
    )
    parser.add_argument(
        "--states", type=int, default=STATES, help=f"how many at least ({STATES})"
    )
    parser.add_argument("--seed", type=int, default=7, help="of the dice (7)")
    parser.add_argument("--logs", type=Path, help="where the acceptors' logs are kept")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        logs = options.logs or Path(directory)
        report = trial(options.states, random.Random(options.seed), logs)
    if options.json:
        sys.stdout.write(json.dumps(vars(report), default=vars) + "\n")
    else:
        show(report)
    if not report.passed:
        sys.exit("not as the log")


if __name__ == "__main__":
    main()
