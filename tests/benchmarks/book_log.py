"""Measure writes to the logs of order books, with every commit on the disk.

Run it on a quiet machine: `python -m tests.benchmarks.book_log`. One writer, one by one
and in batches, is compared with a bare INSERT and its commit per change. Then eight
processes write to one log and to eight, and the numbers that they got are compared with
the logs. It ends with exit code 1 where a number would be missed on idle cores, or a
change is missing.
"""

import argparse
import io
import multiprocessing
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from time import perf_counter
from typing import Any, NamedTuple
from uuid import UUID

from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import Pace, yardstick
from tests.installation import throw_away_installation

ROUNDS = 5
WRITERS = 8
BATCH = 100
ONE_BY_ONE, BATCHED = 1_000, 20_000
"""Changes a second that are promised."""
BARE = """
    INSERT INTO tests.bare
        (token_id, sequence, side, price_cents, quantity, ends_message, at)
    VALUES (%s, %s, %s, %s, %s, TRUE, now())
"""


class Written(NamedTuple):
    """The numbers that a writer got, and the levels that it left."""

    ends: list[tuple[int, int]]
    levels: dict[int, int]
    slowest: float


def changes(dice: random.Random, lowest: int, own: dict[int, int]) -> Iterator[Any]:
    """Bids of a writer's own hundred prices; every fifth of them takes one away."""
    from marketdata.books.orderbook import BID, Change

    while True:
        price = lowest + dice.randrange(100)
        quantity = dice.randrange(1, 1000)
        if price in own and dice.random() < 0.2:
            del own[price]
            quantity = 0
        else:
            own[price] = quantity
        yield Change(BID, price, quantity)


def write(token_id: UUID, number: int, calls: int, size: int) -> Written:
    from marketdata.books.log import Message, record

    own: dict[int, int] = {}
    source = changes(random.Random(number), 1 + 100 * number, own)
    ends, slowest = [], 0.0
    for _ in range(calls):
        messages = [Message([next(source)]) for _ in range(size)]
        began = perf_counter()
        ends.append((record(token_id, messages, "benchmark").sequence, size))
        slowest = max(slowest, perf_counter() - began)
    return Written(ends, own, slowest)


def write_in_process(
    token_id: UUID, number: int, calls: int, size: int, ready: Barrier, told: Any
) -> None:
    import django

    django.setup()
    from django.db import connection

    connection.ensure_connection()
    ready.wait()
    told.put((token_id, write(token_id, number, calls, size)))


def traded(symbol: str) -> UUID:
    from tests.marketdata.books.markets import traded

    return traded(symbol).pk


def write_bare(token_id: UUID, first: int, count: int) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        for sequence in range(first, first + count):
            cursor.execute(BARE, [token_id, sequence, 0, 1000 + sequence % 100, 5])


def one_writer(number: int) -> dict[str, list[float]]:
    """Changes a second of each way to write, in rounds that come in turn."""
    from django.db import connections

    from partnerapi.core.owner import owner_alias

    token_id = traded("ALONE")
    with connections[owner_alias()].cursor() as cursor:
        cursor.execute(
            "CREATE TABLE tests.bare (LIKE marketdata_bookchange INCLUDING ALL)"
        )
        cursor.execute("GRANT INSERT ON tests.bare TO PUBLIC")
    rates: dict[str, list[float]] = {"one by one": [], "in batches": [], "bare": []}
    # Whoever comes first would pay for what only the first has to do.
    write(token_id, 0, 50, 1)
    write_bare(token_id, 0, 50)
    calls = 5 * number // BATCH
    ways: dict[str, tuple[int, Callable[[int], object]]] = {
        "one by one": (number, lambda turn: write(token_id, turn, number, 1)),
        "in batches": (
            calls * BATCH,
            lambda turn: write(token_id, 50 + turn, calls, BATCH),
        ),
        "bare": (number, lambda turn: write_bare(token_id, turn * number, number)),
    }
    for turn in range(1, ROUNDS + 1):
        for name, (count, work) in ways.items():
            began = perf_counter()
            work(turn)
            rates[name].append(count / (perf_counter() - began))
    return rates


def many_writers(name: str, token_ids: list[UUID], calls: int, size: int) -> list[str]:
    """A row of the table; ends the program if anything was lost."""
    spawn = multiprocessing.get_context("spawn")
    told: Any = spawn.Queue()
    ready = spawn.Barrier(WRITERS + 1)
    writers = [
        spawn.Process(
            target=write_in_process,
            args=(token_ids[n % len(token_ids)], n, calls, size, ready, told),
        )
        for n in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    ready.wait(timeout=60)
    began = perf_counter()
    written = [told.get(timeout=300) for _ in writers]
    seconds = perf_counter() - began
    for writer in writers:
        writer.join()
    for token_id in token_ids:
        check(token_id, [one for owner, one in written if owner == token_id])
    rate = WRITERS * calls * size / seconds
    slowest = max(one.slowest for _, one in written)
    return [name, f"{rate:,.0f}", "", "", f"{slowest * 1e3:.0f} ms", load()]


def check(token_id: UUID, written: list[Written]) -> None:
    """Each number was issued once, and the levels are those that the writers left."""
    from marketdata.models import BookChange, BookLevel

    told = sorted(
        number
        for one in written
        for end, size in one.ends
        for number in range(end - size + 1, end + 1)
    )
    rows = BookChange.objects.filter(token=token_id).order_by("sequence")
    stored = list(rows.values_list("sequence", flat=True))
    if not told == stored == list(range(1, len(told) + 1)):
        sys.exit(f"{token_id}: the numbers returned are not those that are there")
    levels = {price: left for one in written for price, left in one.levels.items()}
    found = BookLevel.objects.filter(token=token_id)
    if dict(found.values_list("price_cents", "quantity")) != levels:
        sys.exit(f"{token_id}: the levels are not those that the writers left")


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def measure(number: int, pace: Pace) -> tuple[Table, list[str]]:
    from django.core.management import call_command
    from django.db import connection

    with connection.cursor() as cursor:
        shown = {}
        for name in ("synchronous_commit", "fsync"):
            cursor.execute(f"SHOW {name}")
            [(shown[name],)] = cursor.fetchall()
    said = ", ".join(f"{name} = {value}" for name, value in shown.items())
    if set(shown.values()) != {"on"}:
        sys.exit(f"{said}: commits would not be on the disk")
    table = Table(
        "",
        "changes/s",
        "on idle cores",
        "promised",
        "slowest call",
        "load",
        title=f"Book log, {said}",
    )
    rates = one_writer(number)
    load_of_one = load()
    calls = number // 4
    eight = [[traded(f"S{n}{size}") for n in range(WRITERS)] for size in (1, BATCH)]
    many = [
        many_writers("8 writers, 1 log", [traded("ONE")], calls, 1),
        many_writers("… in batches", [traded("BATCH")], calls // 5, BATCH),
        many_writers("8 writers, 8 logs", eight[0], calls, 1),
        many_writers("… in batches", eight[1], calls // 5, BATCH),
    ]
    median = {name: statistics.median(found) for name, found in rates.items()}
    idle = {}
    for name, promised in (
        ("one by one", f"{ONE_BY_ONE:,}"),
        ("in batches", f"{BATCHED:,}"),
        ("bare", ""),
    ):
        idle[name] = pace.idle_rate(median[name])
        table.add_row(
            name,
            f"{median[name]:,.0f}",
            f"{idle[name]:,.0f}",
            promised,
            "",
            load_of_one,
        )
    ratio = statistics.median(
        one / bare for one, bare in zip(rates["one by one"], rates["bare"], strict=True)
    )
    table.caption = f"one by one: {ratio:.2f} of a bare INSERT with its commit"
    for row in many:
        table.add_row(*row)
    call_command("verify", "books", stdout=io.StringIO())
    missed = [
        f"{name}: {idle[name]:,.0f} changes/s on idle cores, promised are {promised:,}"
        for name, promised in (("one by one", ONE_BY_ONE), ("in batches", BATCHED))
        if idle[name] < promised
    ]
    return table, missed


def main(pace: Pace) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.book_log",
        description="Measures how fast the logs of order books are written.",
        epilog="Example: python -m tests.benchmarks.book_log --changes 500",
    )
    parser.add_argument(
        "--changes", type=int, default=2_000, help="one by one in a round (2000)"
    )
    number = parser.parse_args().changes
    with throw_away_installation(durable=True):
        table, missed = measure(number, pace)
    Console().print(table)
    if missed:
        sys.exit("; ".join(missed))


if __name__ == "__main__":
    with yardstick() as pace:
        main(pace)
