"""How fast each change of a log becomes an X, against QuickFIX's bare send loop.

Run it on a quiet machine: `python -m tests.benchmarks.fix_send`. With
FIX_CONFLATION_MS=0, one session is sent what a book's log holds, message by message;
then the same texts are sent again, each built and handed to QuickFIX in a loop that
does nothing else. It ends with exit code 1 when the median of the rounds' ratios is
below 0.5.
"""

import argparse
import multiprocessing
import os
import random
import statistics
import sys
import time
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

from rich.console import Console
from rich.progress import track

from tests.installation import throw_away_installation

LOWEST_RATIO = 0.5
LOT = 1_000
"""Changes read at once; the feed reads as many and more when it is behind."""
LEVELS = 40


def drain(port: int, comp_id: str, ticket: str, ready: Any) -> None:
    """The client's process: subscribes, answers TestRequests, reads on."""
    from tests.benchmarks.fix_load import Session

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    session = Session(port, comp_id, ticket)
    session.subscribe(["LUM"])
    ready.set()
    while True:
        session.receive()
        session.chunks.clear()


def rows_of_a_log(number: int) -> list[tuple[int, int, int, int, bool, int]]:
    """An opening of LEVELS a side as one message, then a message for each change."""
    chance = random.Random(7)
    opening = [(side, price) for side in (0, 1) for price in prices(side)]
    changes = [(side, price, 100) for side, price in opening]
    there = set(opening)
    for _ in range(number):
        side, price = level = chance.choice(opening)
        quantity = (
            0 if level in there and chance.random() < 0.3 else chance.randint(1, 999)
        )
        (there.discard if quantity == 0 else there.add)(level)
        changes.append((side, price, quantity))
    numbers = count(1)
    return [
        (n, side, price, quantity, n >= len(opening), 0)
        for n, (side, price, quantity) in zip(numbers, changes, strict=False)
    ]


def prices(side: int) -> range:
    return (
        range(1000 + side, 1000 + side + LEVELS) if side else range(1000 - LEVELS, 1000)
    )


class Speed(NamedTuple):
    """Messages a second, and microseconds of processor time that one took."""

    per_second: float
    microseconds: float


class Watch:
    """Tells how fast `number` messages were sent since it was made."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.busy = time.process_time()

    def speed(self, number: int) -> Speed:
        busy = time.process_time() - self.busy
        return Speed(number / (time.perf_counter() - self.began), busy / number * 1e6)


def measure(rounds: int, number: int) -> list[tuple[Speed, Speed]]:
    """Of each round: ours, and the bare loop's."""
    from django.conf import settings

    settings.FIX_CONFLATION_MS = 0
    import quickfix as fix

    from marketdata.fix.acceptor.quickfix import engine
    from marketdata.fix.acceptor.quickfix.interpreter import (
        collect_seldom,
        stay_on_one_processor,
    )

    # As run_fix_acceptor does; the bare loop then has the same advantage.
    stay_on_one_processor()

    # The bare loop sends from this thread, on a descriptor of the engine's.
    engine.keep_apart = lambda: None

    from marketdata.books.feed import Feed, LiveBook
    from marketdata.fix.acceptor.quickfix.settings import STOCK_DICTIONARY, session_id
    from tests.marketdata.fix.engines import Bench

    rows = rows_of_a_log(number * rounds)
    book = LiveBook(uuid4(), "LUM", "FR0000120271", "Lumen", str(uuid4()), True)
    opening = 2 * LEVELS
    book.extend(rows[:opening])
    # A feed that is not started: this loop reads for it, from no database.
    feed = Feed([])
    feed.books = {book.token_id: book}
    bench = Bench(feed)
    bench.start()
    collect_seldom()
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    comp_id = bench.comp_ids[0]
    ticket = bench.admit().ticket
    client = context.Process(
        target=drain, args=(bench.engine.port, comp_id, ticket, ready), daemon=True
    )
    client.start()
    ready.wait(30)
    time.sleep(1)
    session = bench.sessions.live[comp_id]
    subscription = session.subscriptions.by_request["all"][0]
    dictionary = fix.DataDictionary(str(STOCK_DICTIONARY))
    wire = session_id(comp_id)
    results = []
    at = opening
    for _ in track(range(rounds), console=Console(stderr=True)):
        sent_before = session.messages_sent
        watch = Watch()
        for end in range(at + LOT, at + number + 1, LOT):
            book.extend(rows[end - LOT : end])
            for on_change in feed.subscribers:
                on_change([book])
            # A feed reads on while sessions are sent to, but not without bounds.
            while subscription.shown.sequence < end - 2 * LOT:
                time.sleep(0.0005)
        while subscription.shown.sequence < at + number:
            time.sleep(0.0005)
        ours = watch.speed(number)
        at += number
        # The last one may still be on its way.
        assert session.messages_sent - sent_before >= number - 1
        text = sample(rows[at - 1])
        watch = Watch()
        for _ in range(number):
            fix.Session.sendToTarget(fix.Message(text, dictionary, False), wire)
        results.append((ours, watch.speed(number)))
        time.sleep(0.5)
    client.kill()
    bench.stop("The measurement is over.")
    return results


def sample(row: tuple[int, int, int, int, bool, int]) -> str:
    """A whole message of the size that changes have."""
    from marketdata.books.orderbook import CHANGE, Update
    from marketdata.fix.protocol import messages

    updates = [Update(CHANGE, row[1], row[2], 500)]
    rest = messages.increment(messages.level_entries("LUM", updates))
    body = f"35=X\x01{messages.market_data('all', rest)}"
    return f"8=FIX.4.4\x019={len(body)}\x01{body}10=000\x01"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=20_000)
    options = parser.parse_args()
    with throw_away_installation():
        results = measure(options.rounds, options.messages)
    console = Console()
    for ours, bare in results:
        console.print(
            f"{ours.per_second:8,.0f} /s ({ours.microseconds:.1f} µs) of ours, "
            f"{bare.per_second:8,.0f} /s ({bare.microseconds:.1f} µs) bare: "
            f"{ours.per_second / bare.per_second:.2f}"
        )
    ratio = statistics.median(
        ours.per_second / bare.per_second for ours, bare in results
    )
    load = os.getloadavg()[0]
    console.print(f"median ratio {ratio:.2f}; {os.cpu_count()} cores, load {load:.1f}")
    return 0 if ratio >= LOWEST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
