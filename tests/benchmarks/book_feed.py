"""Measure the feed: from a commit to its books, and its start over long logs.

python -m tests.benchmarks.book_feed --changes 10000000 --books 200
"""

import argparse
import multiprocessing
import os
import statistics
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter, process_time, sleep, time
from typing import Any
from uuid import UUID

import django
from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

NOWHERE = "redis://127.0.0.1:1/0"
LEVELS = 25
"""Of each side, while a book is full."""
NAIVE_CHANGES = 500_000
SNAPSHOT_EVERY = 1_000
KEY = "marketdata_bookchange_pkey"
# Level by level on both sides in turn; on every seventh round a level is taken away.
# Of four changes, two are one message.
CHANGES = f"""
SELECT n, side, 10000 + CASE side WHEN 0 THEN -1 - level ELSE level END AS price,
    CASE WHEN round > 0 AND (round + level) %% 7 = 0 THEN 0
        ELSE 1 + (n * 7919) %% 1000 END AS quantity,
    n %% 4 <> 1 AS ends
FROM generate_series(1, %s) n,
LATERAL (SELECT n %% 2 AS side, n / 2 %% {LEVELS} AS level, n / {2 * LEVELS} AS round) l
"""
SEED_CHANGES = f"""
INSERT INTO marketdata_bookchange
    (token_id, sequence, side, price_cents, quantity, ends_message, at)
SELECT w.token_id, c.n, c.side, c.price, c.quantity, c.ends,
    '2025-01-01Z'::timestamptz + c.n * interval '1 second'
FROM ({CHANGES}) c CROSS JOIN unnest(%s::uuid[], %s::bigint[]) w (token_id, length)
WHERE c.n <= w.length
"""  # noqa: S608
SEED_TRADES = """
INSERT INTO marketdata_trade (token_id, sequence, price_cents, quantity, at)
SELECT w.token_id, n, 10000, 1 + n %% 50,
    '2025-01-01Z'::timestamptz + n * interval '50 seconds'
FROM unnest(%s::uuid[], %s::bigint[]) w (token_id, length),
    generate_series(1, w.length / 50) n
"""
SEED_SNAPSHOTS = """
INSERT INTO marketdata_booksnapshot (token_id, sequence, trade_sequence, at,
    bid_prices, bid_quantities, ask_prices, ask_quantities)
SELECT w.token_id, %s, %s, '2025-01-01Z'::timestamptz + %s * interval '1 second',
    %s, %s, %s, %s
FROM unnest(%s::uuid[], %s::bigint[]) w (token_id, length) WHERE length >= %s
"""
SEED_LEVELS = """
INSERT INTO marketdata_booklevel (token_id, side, price_cents, quantity)
SELECT %s, * FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[])
"""
SEED_HEADS = f"""
UPDATE marketdata_orderbookhead h SET last_sequence = w.length,
    last_trade = w.length / 50,
    last_snapshot = w.length / {SNAPSHOT_EVERY} * {SNAPSHOT_EVERY},
    last_at = '2025-01-01Z'::timestamptz + w.length * interval '1 second'
FROM unnest(%s::uuid[], %s::bigint[]) w (token_id, length)
WHERE h.token_id = w.token_id
"""  # noqa: S608


def seed(changes: int, books: int) -> dict[UUID, Any]:
    """Logs of about the same length: each token with the ladder that its log ends at.

    The lengths differ, so that from no change to nearly as many as lie between two
    snapshots follow the newest one. All logs begin alike.
    """
    from django.db import connection

    from issuers.models import Token
    from tests.issuers.register import new_issuer
    from tests.owner import as_owner

    issuer = new_issuer()
    market = Token.MarketType.SECONDARY_MARKET
    tokens = Token.objects.bulk_create(
        Token(issuer=issuer, name=f"B{number}", symbol=f"B{number}", market_type=market)
        for number in range(books)
    )
    ids = [token.pk for token in tokens]
    shortest = max(SNAPSHOT_EVERY, changes // books // SNAPSHOT_EVERY * SNAPSHOT_EVERY)
    lengths = [shortest + 4 * (number * 240 // books) for number in range(books)]
    ends: dict[int, Any] = {}
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute(f"ALTER TABLE marketdata_bookchange DROP CONSTRAINT {KEY}")
        cursor.execute(SEED_CHANGES, [lengths[-1], ids, lengths])
        cursor.execute(
            f"ALTER TABLE marketdata_bookchange ADD CONSTRAINT {KEY}"
            " PRIMARY KEY (token_id, sequence)"
        )
        cursor.execute(SEED_TRADES, [ids, lengths])
        cursor.execute(CHANGES, [lengths[-1]])
        for sequence, book in replayed(cursor.fetchall()):
            if sequence in lengths:
                ends[sequence] = book.ladder()
            if sequence % SNAPSHOT_EVERY == 0:
                columns = [
                    [level[part] for level in side]
                    for side in book.ladder()
                    for part in (0, 1)
                ]
                numbers = [sequence, sequence // 50, sequence]
                cursor.execute(
                    SEED_SNAPSHOTS, [*numbers, *columns, ids, lengths, sequence]
                )
        for token_id, length in zip(ids, lengths, strict=True):
            rows = [(side, *level) for side in (0, 1) for level in ends[length][side]]
            cursor.execute(SEED_LEVELS, [token_id, *map(list, zip(*rows, strict=True))])
        cursor.execute(SEED_HEADS, [ids, lengths])
        cursor.execute("VACUUM ANALYZE")
    return {one: ends[length] for one, length in zip(ids, lengths, strict=True)}


def replayed(rows: Iterable[tuple[int, int, int, int, bool]]) -> Iterator[Any]:
    """A book after each message of a log, with the message's last number."""
    from marketdata.books.orderbook import OrderBook

    book = OrderBook()
    message = []
    for sequence, side, price, quantity, ends in rows:
        message.append((side, price, quantity))
        if ends:
            book.apply(message)
            message = []
            yield sequence, book


def starting(ends: dict[UUID, Any], show: Callable[..., None]) -> None:
    from marketdata.books.feed import Feed

    taken = []
    for _ in range(5):
        feed = Feed()
        start = perf_counter()
        feed.start()
        taken.append(perf_counter() - start)
        found = {one: book.ladder(0) for one, book in feed.books.items()}
        feed.stop()
        assert found == ends
    show(
        f"start with {len(ends)} books",
        f"{statistics.median(taken):.2f} s, longest {max(taken):.2f} s",
        "≤ 5 s",
    )


def against_replay(ends: dict[UUID, Any], show: Callable[..., None]) -> None:
    """The same books by replaying their whole logs, for as many as that is bearable."""
    from django.db import connection

    from marketdata.books.feed import Feed
    from marketdata.models import OrderBookHead

    length = OrderBookHead.objects.order_by("last_sequence")[0].last_sequence
    some = list(ends)[: max(1, NAIVE_CHANGES // length)]
    start = perf_counter()
    total = 0
    for token_id in some:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT sequence, side, price_cents, quantity, ends_message"
                " FROM marketdata_bookchange WHERE token_id = %s ORDER BY sequence",
                [token_id],
            )
            rows = cursor.fetchall()
        total += len(rows)
        [(_, book)] = deque(replayed(rows), maxlen=1)
        assert book.ladder() == ends[token_id]
    naive = perf_counter() - start
    feed = Feed(some)
    start = perf_counter()
    feed.start()
    taken = perf_counter() - start
    feed.stop()
    show(
        f"replay of all {total:,} changes of {len(some)} of the books",
        f"{naive:.2f} s, the feed {taken:.3f} s: {naive / taken:.0f} × as long",
        "",
    )


def write(pipe: Any, token_ids: list[UUID], count: int, seconds: float) -> None:
    """Record so many messages, evenly over the time; to be run in a process.

    Sends for each the token, its number, and when its commit had ended.
    """
    django.setup()
    from django.db import transaction

    from marketdata.books.log import Message, record
    from marketdata.books.orderbook import BID, Change

    start = time()
    written = []
    committed: list[float] = []
    for number in range(count):
        sleep(max(0.0, start + number * seconds / count - time()))
        token_id = token_ids[number * 7 % len(token_ids)]
        # Below all other levels, each time with another quantity.
        message = Message([Change(BID, 1, 1 + number)])
        with transaction.atomic():
            # Before the notification, which goes out at the commit, too.
            transaction.on_commit(lambda: committed.append(time()))
            recorded = record(token_id, [message], "benchmark")
        written.append((token_id, recorded.sequence, committed[-1]))
    pipe.send(written)


def latency(
    name: str, wanted: str, count: int, seconds: float, show: Callable[..., None]
) -> None:
    from marketdata.books.feed import Feed

    feed = Feed()
    seen: dict[UUID, list[tuple[int, float]]] = {one: [] for one in feed.books}

    def heard(books: Iterable[Any]) -> None:
        now = time()
        for book in books:
            seen.setdefault(book.token_id, []).append((book.sequence, now))

    feed.subscribe(heard)
    feed.start()
    start, used = perf_counter(), process_time()
    here, there = multiprocessing.Pipe()
    writer = multiprocessing.get_context("spawn").Process(
        target=write, args=(there, list(feed.books), count, seconds)
    )
    writer.start()
    written = here.recv()
    writer.join()
    taken_seconds = perf_counter() - start
    share = (process_time() - used) / taken_seconds
    sleep(1.5)
    feed.stop()
    taken = []
    for token_id, sequence, committed in written:
        rounds = seen[token_id]
        taken.append(rounds[bisect_left(rounds, (sequence, 0.0))][1] - committed)
    percentiles = statistics.quantiles(taken, n=100)
    show(
        f"{name}, {count / taken_seconds:,.0f} messages/s",
        f"p50 {percentiles[49] * 1000:.1f} ms, p99 {percentiles[98] * 1000:.1f} ms, "
        f"longest {max(taken) * 1000:.1f} ms; {share:.0%} of a core",
        wanted,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.book_feed",
        description="Measure how soon a committed change is in the feed's book, with "
        "notifications and without Redis, and how long the feed takes to start.",
        epilog="example: python -m tests.benchmarks.book_feed --changes 400000",
    )
    parser.add_argument("--changes", type=int, default=10_000_000, help="in all logs")
    parser.add_argument("--books", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20, help="of each writing")
    arguments = parser.parse_args()
    console = Console()
    results = Table("what", "measured", "wanted", title="The feed of order books")

    def show(*row: str) -> None:
        console.print(" | ".join(row))
        results.add_row(*row)

    def show_load() -> None:
        minutes = os.getloadavg()
        show("load, 1 and 5 minutes", f"{minutes[0]:.1f}, {minutes[1]:.1f}", "")

    with throw_away_installation(durable=True):
        from django.conf import settings

        start = perf_counter()
        ends = seed(arguments.changes, arguments.books)
        console.print(f"Seeded in {perf_counter() - start:.0f} s")
        show_load()
        starting(ends, show)
        against_replay(ends, show)
        seconds = arguments.seconds
        notified, soon = "from a commit, with notifications", "p99 ≤ 20 ms"
        latency(notified, soon, int(100 * seconds), seconds, show)
        latency(notified, soon, int(1000 * seconds), seconds, show)
        settings.REDIS_URL = os.environ["REDIS_URL"] = NOWHERE
        away = "from a commit, without Redis"
        latency(away, "p99 ≤ 1.1 s", int(20 * seconds), seconds, show)
        show_load()
    console.print(results)
    return 0


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
