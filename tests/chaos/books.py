"""Random histories of order books, under faults, against a dictionary.

Run it with `python -m tests.chaos.books --histories 1000`. A history is a token that
several processes write at once, while the feed's process is killed or sleeps, Redis is
killed, and the log is pruned. It ends with exit code 1 when a feed's book, or one that
was kept by its journal, is another one than the dictionary of what was acknowledged.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from typing import Any, NamedTuple
from uuid import UUID

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from partnerapi.embedded import private_directory, server_account, start_valkey
from partnerapi.processes import Process, Processes
from tests.chaos.installation import (
    Database,
    breakable_installation,
    close_connection,
)

HISTORIES = 1_000
AT_ONCE = 20
WRITERS = 4
RECORDS = 150
"""That a writer makes, over all histories of its time."""
SNAPSHOT_EVERY = 10
"""Changes; in earnest more, so that these histories would have none."""
REACH_SECONDS = 15.0
FAULTS = ("kill", "sleep", "prune", "redis")

fork = multiprocessing.get_context("fork")


class Acknowledged(NamedTuple):
    """A call that was answered with the log's last numbers after it."""

    token_id: UUID
    sequence: int
    trade: int
    changes: list[tuple[int, int, int]]
    deals: list[tuple[int, int]]


class Seen(NamedTuple):
    """A book as the feed has it, and as a reader of its journal has."""

    sequence: int
    last_trade: int
    book: dict[tuple[int, int], int]
    kept: dict[tuple[int, int], int]
    trades: list[tuple[int, int, int]]
    rebuilt: int


@dataclass
class Report:
    """What was done, and how many histories ended otherwise than acknowledged."""

    histories: int
    messages: int
    changes: int
    trades: int
    refused: int
    other_numbers: int
    other_books: int
    other_journals: int
    other_trades: int
    feeds_killed: int
    feeds_put_to_sleep: int
    redis_killed: int
    pruned: int
    rebuilt: int
    seconds: float = 0

    @property
    def passed(self) -> bool:
        return not (
            self.other_numbers
            or self.other_books
            or self.other_journals
            or self.other_trades
        )


def write(pipe: Pipe) -> None:
    """Write what dice say on the tokens that are named; to be run in a process."""
    import marketdata.log
    from marketdata.log import record
    from marketdata.orderbook import CrossedBook, ImpossibleChange

    marketdata.log.SNAPSHOT_EVERY = SNAPSHOT_EVERY
    while True:
        token_ids, seed = pipe.recv()
        dice = random.Random(seed)
        acknowledged = []
        refused = 0
        for _ in range(RECORDS):
            token_id = dice.choice(token_ids)
            messages = [throw(dice) for _ in range(dice.choice((1, 1, 1, 5)))]
            try:
                recorded = record(token_id, messages, "storm")
            except (ImpossibleChange, CrossedBook):
                refused += 1
                continue
            changes = [tuple(c) for message in messages for c in message.changes]
            deals = [tuple(d) for message in messages for d in message.deals]
            acknowledged.append(
                Acknowledged(
                    token_id, recorded.sequence, recorded.trade, changes, deals
                )
            )
        pipe.send((acknowledged, refused))


def throw(dice: random.Random) -> Any:
    """A message that most books can make: few cross, few take away what is not there.

    Another writer's changes are not known, so that some are refused.
    """
    from marketdata.log import Deal, Message
    from marketdata.orderbook import Change

    changes = []
    for _ in range(dice.choice((0, 1, 1, 1, 2, 4))):
        side = dice.randrange(2)
        # The ranges of both sides meet in two prices.
        price = 100 + (dice.randrange(-1, 11) if side else dice.randrange(-11, 1))
        changes.append(Change(side, price, dice.choice((0, 1, 2, 5, 9))))
    # Never nothing at all: that would have the numbers of the call before.
    least = 0 if changes else 1
    deals = [Deal(100, dice.randrange(1, 9)) for _ in range(dice.randrange(least, 2))]
    return Message(changes, deals)


def follow(pipe: Pipe) -> None:
    """Run a feed, and answer with its books once they stand at given numbers."""
    from marketdata.feed import Feed, LiveBook
    from marketdata.orderbook import OrderBook

    feed = Feed()
    kept: dict[UUID, tuple[LiveBook, int, OrderBook]] = {}

    def keep(books: Iterable[LiveBook]) -> None:
        """Go by the journal wherever it leads on, as one who sends every change."""
        for book in books:
            known, sequence, mine = kept.get(book.token_id, (None, 0, OrderBook()))
            messages = book.since(sequence) if known is book else None
            if messages is None:
                sequence, ladder = book.numbered_ladder(0)
                mine = OrderBook(
                    (side, *level) for side in (0, 1) for level in ladder[side]
                )
            else:
                for _, changes in messages:
                    mine.apply(changes)
                if messages:
                    sequence, _ = messages[-1]
            kept[book.token_id] = book, sequence, mine

    feed.listen(keep)
    feed.start()
    keep(feed.books.values())
    while True:
        wanted: dict[UUID, tuple[int, int]] = pipe.recv()
        deadline = time.monotonic() + REACH_SECONDS
        while time.monotonic() < deadline and any(
            one not in feed.books
            or feed.books[one].sequence < sequence
            or kept[one][1] < sequence
            or feed.books[one].last_trade < trade
            for one, (sequence, trade) in wanted.items()
        ):
            time.sleep(0.005)
        seen = {}
        for token_id in wanted.keys() & feed.books.keys():
            book = feed.books[token_id]
            seen[token_id] = Seen(
                book.sequence,
                book.last_trade,
                as_dictionary(book.ladder(0)),
                as_dictionary(kept[token_id][2].ladder()),
                [trade[:3] for trade in book.trades],
                book.rebuilt,
            )
        pipe.send(seen)


def as_dictionary(ladder: Any) -> dict[tuple[int, int], int]:
    return {
        (side, price): quantity for side in (0, 1) for price, quantity in ladder[side]
    }


class Cache:
    """The server behind REDIS_URL: killed, and started again."""

    def __init__(self, database: Database, processes: Processes) -> None:
        self.directory = database.directory
        self.processes = processes
        self.kills = 0

    @property
    def servers(self) -> list[Process]:
        return [one for one in self.processes.running if one.name == "valkey"]

    def kill_or_start(self) -> None:
        if self.servers:
            [server] = self.servers
            server.popen.kill()
            server.popen.wait()
            self.processes.running.remove(server)
            self.kills += 1
        else:
            account = server_account(self.directory / "servers")
            private = private_directory(self.directory, account)
            start_valkey(private, account, self.processes)


def prune(token_ids: list[UUID]) -> None:
    """Delete what the newest snapshots cover."""
    from marketdata.models import BookChange, BookSnapshot

    for token_id in token_ids:
        snapshots = BookSnapshot.objects.filter(token=token_id)
        newest = snapshots.order_by("-sequence").first()
        if newest is not None:
            snapshots.filter(sequence__lt=newest.sequence).delete()
            BookChange.objects.filter(
                token=token_id, sequence__lt=newest.sequence
            ).delete()
    close_connection()


class FeedProcess:
    """A feed in a process of its own, killed and put to sleep."""

    def __init__(self) -> None:
        self.kills = self.sleeps = 0
        self.start()

    def start(self) -> None:
        self.pipe, child = multiprocessing.Pipe()
        self.process = fork.Process(target=follow, args=(child,), daemon=True)
        self.process.start()
        child.close()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def kill(self) -> None:
        self.end()
        self.start()
        self.kills += 1

    def sleep(self, seconds: float, token_ids: list[UUID]) -> None:
        """Let it miss what is pruned before it wakes."""
        os.kill(self.process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        prune(token_ids)
        os.kill(self.process.pid, signal.SIGCONT)
        self.sleeps += 1

    def books(self, wanted: dict[UUID, tuple[int, int]]) -> dict[UUID, Seen]:
        self.pipe.send(wanted)
        seen: dict[UUID, Seen] = self.pipe.recv()
        return seen


def open_books(count: int) -> list[UUID]:
    from issuers.models import Token
    from tests.register import new_issuer

    issuer = new_issuer()
    ids = [
        Token.objects.create(
            issuer=issuer,
            name="Stormy",
            symbol=f"S{time.time_ns()}",
            market_type=Token.MarketType.SECONDARY_MARKET,
        ).pk
        for _ in range(count)
    ]
    close_connection()
    return ids


def storm(histories: int, dice: random.Random) -> Report:
    began = time.monotonic()
    report = Report(histories, *[0] * 13)
    with breakable_installation() as (processes, database):
        writers = []
        for _ in range(WRITERS):
            pipe, child = multiprocessing.Pipe()
            fork.Process(target=write, args=(child,), daemon=True).start()
            writers.append(pipe)
        cache = Cache(database, processes)
        feed = FeedProcess()
        with Progress(console=Console(stderr=True)) as progress:
            task = progress.add_task("histories", total=histories)
            for done in range(0, histories, AT_ONCE):
                token_ids = open_books(min(AT_ONCE, histories - done))
                acknowledged = rage(token_ids, writers, feed, cache, dice, report)
                examine(token_ids, acknowledged, feed, report)
                progress.advance(task, len(token_ids))
        feed.end()
        report.feeds_killed, report.feeds_put_to_sleep = feed.kills, feed.sleeps
        report.redis_killed = cache.kills
    report.seconds = time.monotonic() - began
    return report


def rage(
    token_ids: list[UUID],
    writers: list[Pipe],
    feed: FeedProcess,
    cache: Cache,
    dice: random.Random,
    report: Report,
) -> list[Acknowledged]:
    """Let the writers write, and break things meanwhile; what was acknowledged."""
    for pipe in writers:
        pipe.send((token_ids, dice.random()))
    acknowledged = []
    writing = list(writers)
    while writing:
        for pipe in wait(writing, timeout=dice.uniform(0, 0.2)):
            answered, refused = pipe.recv()
            acknowledged += answered
            report.refused += refused
            writing.remove(pipe)
        fault = dice.choice(FAULTS)
        if fault == "kill":
            feed.kill()
        elif fault == "sleep":
            feed.sleep(dice.uniform(0, 0.3), token_ids)
        elif fault == "prune":
            prune(token_ids)
            report.pruned += 1
        else:
            cache.kill_or_start()
    return acknowledged


def examine(
    token_ids: list[UUID],
    acknowledged: list[Acknowledged],
    feed: FeedProcess,
    report: Report,
) -> None:
    """Compare the feed's books with those of what was acknowledged."""
    calls: dict[UUID, list[Acknowledged]] = {one: [] for one in token_ids}
    for call in sorted(acknowledged, key=lambda call: (call.sequence, call.trade)):
        calls[call.token_id].append(call)
    wanted = {
        one: (of_one[-1].sequence, of_one[-1].trade) if of_one else (0, 0)
        for one, of_one in calls.items()
    }
    seen = feed.books(wanted)
    for token_id, of_one in calls.items():
        book: dict[tuple[int, int], int] = {}
        deals: list[tuple[int, int]] = []
        sequence = 0
        for call in of_one:
            sequence += len(call.changes)
            deals += call.deals
            report.other_numbers += (call.sequence, call.trade) != (
                sequence,
                len(deals),
            )
            for side, price, quantity in call.changes:
                book.pop((side, price), None)
                if quantity:
                    book[side, price] = quantity
        report.messages += len(of_one)
        report.changes += sequence
        report.trades += len(deals)
        found = seen.get(token_id)
        if found is None:
            report.other_books += 1
            continue
        trades = [(number, *deal) for number, deal in enumerate(deals, 1)]
        report.other_books += (found.sequence, found.book) != (sequence, book)
        report.other_journals += found.kept != book
        report.other_trades += found.last_trade != len(deals) or found.trades != trades
        report.rebuilt += found.rebuilt


def show(report: Report) -> None:
    table = Table("", "", title=f"{report.histories:,} histories of order books")
    for name, value in {
        "calls acknowledged / refused": f"{report.messages:,} / {report.refused:,}",
        "changes / trades": f"{report.changes:,} / {report.trades:,}",
        "calls with other numbers": report.other_numbers,
        "histories with another book": report.other_books,
        "with another book by the journal": report.other_journals,
        "with other trades": report.other_trades,
        "feeds killed / put to sleep": f"{report.feeds_killed} / "
        f"{report.feeds_put_to_sleep}",
        "Redis killed": report.redis_killed,
        "pruned": report.pruned,
        "books made anew": report.rebuilt,
        "all took": f"{report.seconds:.0f} s",
    }.items():
        table.add_row(name, str(value))
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.books",
        description="Writes random histories of order books while the feed and Redis "
        "are killed and the log is pruned, and compares the feed's books with a "
        "dictionary of what was acknowledged.",
        epilog="Example: python -m tests.chaos.books --histories 100",
    )
    parser.add_argument(
        "--histories", type=int, default=HISTORIES, help=f"how many ({HISTORIES})"
    )
    parser.add_argument("--seed", type=int, default=7, help="of the dice (7)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    report = storm(options.histories, random.Random(options.seed))
    if options.json:
        sys.stdout.write(json.dumps(asdict(report)) + "\n")
    else:
        show(report)
    if not report.passed:
        sys.exit("not as acknowledged")


if __name__ == "__main__":
    main()
