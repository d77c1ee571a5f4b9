"""Random histories of order books, under faults, against a dictionary.

Run it with `python -m tests.chaos.books --histories 1000`. A history is a token that
several processes write at once, while they and the feed's process are killed, the feed
sleeps, Redis is killed, and the log is pruned. It ends with exit code 1 when a feed's
book, or one that was kept by its journal, is another one than the dictionary of what
was acknowledged.
"""

import argparse
import random
import time
from multiprocessing.connection import wait
from uuid import UUID

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from partnerapi.sandbox.run.places import private_directory, server_account
from partnerapi.sandbox.run.processes import Process, Processes
from partnerapi.sandbox.run.valkey import start_valkey
from tests.benchmarks.yardstick import yardstick
from tests.chaos.book_actors import NARROW, FeedProcess, Writer
from tests.chaos.book_findings import Report, examine
from tests.chaos.book_logs import open_books, prune
from tests.chaos.ending import end
from tests.chaos.installation import Database, breakable_installation

HISTORIES = 1_000
AT_ONCE = 20
WRITERS = 4
CALLS = 150
"""That a writer makes, over all histories of its time."""
LONGEST_CALM_SECONDS = 0.5
SHARE_OF_WRITERS = 0.4
"""Of the faults until one of them was killed."""


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


def storm(histories: int, dice: random.Random) -> Report:
    began = time.monotonic()
    report = Report(histories)
    with breakable_installation() as (processes, database):
        writers = [Writer() for _ in range(WRITERS)]
        cache = Cache(database, processes)
        feed = FeedProcess()
        with Progress(console=Console(stderr=True)) as progress:
            task = progress.add_task("histories", total=histories)
            for done in range(0, histories, AT_ONCE):
                token_ids = open_books(min(AT_ONCE, histories - done))
                rage(token_ids, writers, feed, cache, dice, report)
                examine(token_ids, writers, feed, report)
                progress.advance(task, len(token_ids))
        feed.end()
        for writer in writers:
            writer.process.kill()
            report.refused += writer.refused
            report.writers_killed += writer.kills
        report.feeds_killed, report.feeds_put_to_sleep = feed.kills, feed.sleeps
        report.redis_killed = cache.kills
    report.seconds = time.monotonic() - began
    return report


def rage(
    token_ids: list[UUID],
    writers: list[Writer],
    feed: FeedProcess,
    cache: Cache,
    dice: random.Random,
    report: Report,
) -> None:
    """Cause faults while the writers write, and at the end."""
    for writer in writers:
        writer.begin(token_ids, dice.random(), CALLS, NARROW)
    fault_at = time.monotonic() + dice.uniform(0, LONGEST_CALM_SECONDS)
    may_kill = True
    while writing := [writer for writer in writers if writer.left]:
        calm = max(0.0, fault_at - time.monotonic())
        ready = wait([writer.pipe for writer in writing], timeout=calm)
        for writer in writing:
            if writer.pipe in ready:
                writer.read()
        if time.monotonic() < fault_at:
            continue
        if may_kill and dice.random() < SHARE_OF_WRITERS:
            dice.choice(writing).kill(token_ids, dice.random())
            # Of two calls without an answer no one could say which was made.
            may_kill = False
        else:
            break_one(token_ids, feed, cache, dice, report)
        fault_at = time.monotonic() + dice.uniform(0, LONGEST_CALM_SECONDS)
    break_one(token_ids, feed, cache, dice, report)


def break_one(
    token_ids: list[UUID],
    feed: FeedProcess,
    cache: Cache,
    dice: random.Random,
    report: Report,
) -> None:
    fault = dice.choice(("kill", "sleep", "prune", "redis"))
    if fault == "kill":
        feed.kill()
    elif fault == "sleep":
        feed.sleep(dice.uniform(0, 0.6), token_ids)
    elif fault == "prune":
        prune(token_ids)
        report.pruned += 1
    else:
        cache.kill_or_start()


def show(report: Report) -> None:
    table = Table("", "", title=f"{report.histories:,} histories of order books")
    for name, value in {
        "calls acknowledged / refused": f"{report.calls:,} / {report.refused:,}",
        "changes / trades": f"{report.changes:,} / {report.trades:,}",
        "histories with numbers that no one wrote": report.other_numbers,
        "with another book": report.other_books,
        "with another book by the journal": report.other_journals,
        "with other trades": report.other_trades,
        "writers killed": report.writers_killed,
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
    end(report, options.json, show, "" if report.passed else "not as acknowledged")


if __name__ == "__main__":
    with yardstick():
        main()
