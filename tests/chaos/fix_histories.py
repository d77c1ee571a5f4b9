"""Random histories of FIX clients, under faults, against the log of the books.

Run it with `python -m tests.chaos.fix_histories --histories 1000`. A history is what a
client of the feed does on several books that processes write at once: it subscribes,
in every way there is, loses connections and messages, and comes back, while acceptors,
writers and Redis are killed and the log is pruned. It ends with exit code 1 when a
client then holds another book than the dictionary of what was acknowledged, or has
missed a trade, or was sent anything that may not come.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from uuid import UUID

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from marketdata.books.orderbook import OrderBook
from tests.benchmarks.yardstick import yardstick
from tests.chaos.book_actors import NARROW, Writer
from tests.chaos.book_findings import truth
from tests.chaos.book_logs import ends_of, open_books, prune
from tests.chaos.books import Cache
from tests.chaos.fix_acceptors import AcceptorProcess
from tests.chaos.fix_player import Outcome, Players, Seat
from tests.chaos.fix_verdicts import Known
from tests.chaos.installation import breakable_installation, close_connection
from tests.system import limited

HISTORIES = 1_000
SEATS = 25
"""Clients of an acceptor at a time."""
CONFLATIONS = (100, 0)
"""FIX_CONFLATION_MS of each acceptor."""
BOOKS = 6
WRITERS = 3
CALLS = 200
"""That a writer makes, over all histories of its time."""
WIDE = 70
"""Prices of a side: more than a client is ever shown."""
LONGEST_CALM_SECONDS = 1.0
SAMPLE_SECONDS = 0.05
EXAMPLES = 10


@dataclass
class Report:
    """What was done, and how many histories had something wrong in them."""

    histories: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)
    other_logs: int = 0
    lost_without_an_end: int = 0
    tracebacks: int = 0
    books: int = 0
    trades: int = 0
    changes: int = 0
    done: Counter[str] = field(default_factory=Counter)
    acceptors_killed: int = 0
    acceptors_restarted: int = 0
    acceptors_put_to_sleep: int = 0
    redis_killed: int = 0
    writers_killed: int = 0
    pruned: int = 0
    seconds: float = 0
    load: float = 0

    @property
    def passed(self) -> bool:
        return not (
            self.wrong or self.other_logs or self.lost_without_an_end or self.tracebacks
        )


class Watch:
    """Where the logs stood at which instant."""

    def __init__(self, ids: dict[str, UUID]) -> None:
        self.ids = ids
        self.samples: dict[UUID, list[tuple[float, int]]] = {
            token_id: [(0.0, 0)] for token_id in ids.values()
        }
        self.look_at = 0.0

    def look(self) -> None:
        from marketdata.models import OrderBookHead

        now = time.monotonic()
        if now < self.look_at:
            return
        heads = OrderBookHead.objects.filter(token__in=self.samples)
        for token_id, last in list(heads.values_list("token_id", "last_trade")):
            self.samples[token_id].append((now, last))
        self.look_at = time.monotonic() + SAMPLE_SECONDS


class Storm:
    def __init__(
        self,
        acceptors: list[AcceptorProcess],
        players: list[Players],
        cache: Cache,
        dice: random.Random,
    ) -> None:
        self.acceptors = acceptors
        self.players = players
        self.cache = cache
        self.dice = dice
        self.writers = [Writer() for _ in range(WRITERS)]
        self.report = Report()
        self.next = open_books(BOOKS)

    def round(self) -> None:
        """A history for every seat, at once."""
        # Those of the next round, which acceptors have heard of by then.
        token_ids, self.next = self.next, open_books(BOOKS)
        ids = symbols_of(token_ids)
        ends = self.ends_of_acceptors()
        watch = Watch(ids)
        for players in self.players:
            players.pipe.send((ids, self.dice.random()))
        width = self.dice.choice((NARROW, WIDE))
        for writer in self.writers:
            writer.begin(token_ids, self.dice.random(), CALLS, width)
        self.rage(token_ids, watch)
        for acceptor in self.acceptors:
            acceptor.wait()
        known = self.known(watch)
        close_connection()
        for players in self.players:
            players.pipe.send(known)
        outcomes: list[Outcome] = []
        for players in self.players:
            outcomes += players.pipe.recv()
        self.note(outcomes)
        # One that ends in good order waits a second for its Logouts to be read.
        if ends == self.ends_of_acceptors():
            self.report.lost_without_an_end += sum(
                outcome.lost_connections for outcome in outcomes
            )

    def ends_of_acceptors(self) -> int:
        return sum(acceptor.kills + acceptor.restarts for acceptor in self.acceptors)

    def rage(self, token_ids: list[UUID], watch: Watch) -> None:
        """Cause faults until all clients have played and all writers have written."""
        fault_at = time.monotonic() + self.dice.uniform(0, LONGEST_CALM_SECONDS)
        may_kill = True
        playing = list(self.players)
        while playing or any(writer.left for writer in self.writers):
            watch.look()
            calm = max(0.0, min(fault_at - time.monotonic(), SAMPLE_SECONDS))
            writing = [writer for writer in self.writers if writer.left]
            ready = wait([one.pipe for one in [*playing, *writing]], timeout=calm)
            for writer in writing:
                if writer.pipe in ready:
                    writer.read()
            for players in list(playing):
                if players.pipe in ready:
                    players.pipe.recv()
                    playing.remove(players)
            if time.monotonic() < fault_at:
                continue
            if writing and may_kill and self.dice.random() < 0.4:
                # The one that replaces it is forked, and must not share our session.
                close_connection()
                self.dice.choice(writing).kill(token_ids, self.dice.random())
                # Of two calls without an answer no one could say which was made.
                may_kill = False
            else:
                self.break_one(token_ids)
            fault_at = time.monotonic() + self.dice.uniform(0, LONGEST_CALM_SECONDS)

    def break_one(self, token_ids: list[UUID]) -> None:
        acceptor = self.dice.choice(self.acceptors)
        fault = self.dice.choice(("kill", "restart", *["sleep", "redis", "prune"] * 3))
        if fault in ("kill", "restart") and not acceptor.may_end():
            return
        if fault == "kill":
            acceptor.kill()
        elif fault == "restart":
            acceptor.restart()
        elif fault == "sleep":
            acceptor.sleep(self.dice.uniform(0, 1))
        elif fault == "redis":
            self.cache.kill_or_start()
        else:
            prune(token_ids)
            self.report.pruned += 1

    def known(self, watch: Watch) -> dict[str, Known]:
        """The content of the log, if it agrees with the answers to its writers."""
        from marketdata.models import BookLevel

        known = {}
        ends = ends_of(list(watch.ids.values()))
        for symbol, token_id in watch.ids.items():
            end = ends[token_id]
            told = truth(token_id, self.writers, end[:2])
            levels = BookLevel.objects.filter(token=token_id)
            rows = levels.values_list("side", "price_cents", "quantity")
            book = OrderBook(rows)
            by_writers = OrderBook((*level, n) for level, n in told.book.items())
            self.report.other_logs += (told.sequence, len(told.trades), by_writers) != (
                *end[:2],
                book,
            )
            self.report.changes += told.sequence
            known[symbol] = Known(
                book.ladder(),
                told.trades,
                watch.samples[token_id],
                end.trade - end.trades_left,
            )
        return known

    def note(self, outcomes: Sequence[Outcome]) -> None:
        report = self.report
        for outcome in outcomes:
            report.histories += 1
            report.books += outcome.books
            report.trades += outcome.trades
            report.done.update(outcome.done)
            if outcome.wrong:
                report.wrong += 1
                report.examples += outcome.wrong[:2]
        del report.examples[EXAMPLES:]


def symbols_of(token_ids: list[UUID]) -> dict[str, UUID]:
    from issuers.models import Token

    tokens = Token.objects.filter(pk__in=token_ids)
    found = {token.symbol: token.pk for token in tokens}
    close_connection()
    return found


def new_seats(count: int) -> list[Seat]:
    from tests.marketdata.fix.market import new_member

    members = [new_member(number) for number in range(1, count + 1)]
    close_connection()
    return [Seat(member.comp_id, member.key) for member in members]


def storm(histories: int, dice: random.Random, logs: Path) -> Report:
    began = time.monotonic()
    with breakable_installation() as (processes, database):
        seats = new_seats(len(CONFLATIONS) * (SEATS + 1))
        acceptors, players = [], []
        for number, conflation in enumerate(CONFLATIONS):
            *own, spare = seats[number :: len(CONFLATIONS)]
            acceptor = AcceptorProcess(
                logs / f"acceptor{number}.log",
                spare,
                FIX_SESSIONS=str(len(seats)),
                FIX_COMP_ID="PARTNERAPI",
                FIX_CONNECTIONS_PER_ADDRESS=str(2 * SEATS + 20),
                **limited(FIX_CONFLATION_MS=conflation),
            )
            acceptors.append(acceptor)
            players.append(Players(acceptor.port, "PARTNERAPI", own))
        storm = Storm(acceptors, players, Cache(database, processes), dice)
        try:
            for acceptor in acceptors:
                acceptor.wait()
            with Progress(console=Console(stderr=True)) as progress:
                task = progress.add_task("histories", total=histories)
                while storm.report.histories < histories:
                    storm.round()
                    progress.update(task, completed=storm.report.histories)
            for acceptor in acceptors:
                acceptor.stop()
        finally:
            for acceptor in acceptors:
                acceptor.process.kill()
                acceptor.process.wait()
            for one in players:
                one.end()
            for writer in storm.writers:
                writer.process.kill()
        report = storm.report
        tracebacks = [one for acceptor in acceptors for one in acceptor.tracebacks()]
        report.tracebacks = len(tracebacks)
        report.examples += tracebacks[:2]
        report.acceptors_killed = sum(acceptor.kills for acceptor in acceptors)
        report.acceptors_restarted = sum(acceptor.restarts for acceptor in acceptors)
        report.acceptors_put_to_sleep = sum(acceptor.sleeps for acceptor in acceptors)
        report.redis_killed = storm.cache.kills
        report.writers_killed = sum(writer.kills for writer in storm.writers)
    report.seconds = time.monotonic() - began
    report.load = os.getloadavg()[0]
    return report


def show(report: Report) -> None:
    table = Table("", "", title=f"{report.histories:,} histories of FIX clients")
    for name, value in {
        "histories with something wrong": report.wrong,
        "logs other than acknowledged": report.other_logs,
        "connections lost while acceptors ran": report.lost_without_an_end,
        "tracebacks in the acceptors' logs": report.tracebacks,
        "books compared in the end": f"{report.books:,}",
        "trades seen": f"{report.trades:,}",
        "changes of the logs": f"{report.changes:,}",
        "done": ", ".join(f"{name} {n:,}" for name, n in report.done.most_common()),
        "acceptors killed / restarted / put to sleep": f"{report.acceptors_killed} / "
        f"{report.acceptors_restarted} / {report.acceptors_put_to_sleep}",
        "Redis killed": report.redis_killed,
        "writers killed": report.writers_killed,
        "pruned": report.pruned,
        "all took": f"{report.seconds:.0f} s, load {report.load:.1f}",
        **{f"example {n}": text for n, text in enumerate(report.examples, 1)},
    }.items():
        table.add_row(name, str(value))
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.fix_histories",
        description="Lets FIX clients live through random histories while acceptors, "
        "writers and Redis are killed and the log is pruned, and compares their books "
        "and trades with what the writers know.",
        epilog="Example: python -m tests.chaos.fix_histories --histories 100",
    )
    parser.add_argument(
        "--histories", type=int, default=HISTORIES,
        help=f"how many, in rounds of {SEATS * len(CONFLATIONS)} ({HISTORIES})",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=7, help="of the dice (7)")
    parser.add_argument(
        "--logs", type=Path, help="a directory in which the acceptors' logs are kept"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        logs = options.logs or Path(directory)
        report = storm(options.histories, random.Random(options.seed), logs)
    if options.json:
        sys.stdout.write(json.dumps(vars(report), default=vars) + "\n")
    else:
        show(report)
    if not report.passed:
        sys.exit("not as the log")


if __name__ == "__main__":
    with yardstick():
        main()
