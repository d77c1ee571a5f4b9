"""Many FIX sessions on many books that change ten times a second, for a minute.

Run it on a quiet machine: `python -m tests.benchmarks.fix_load`. The acceptor, the
writer of the books and all clients are a process each. A slot is a tenth of a second in
which a book changed once; each session is to get one X for it. It ends with exit code
1 when fewer than 99 % of the slots got exactly one, or a client's book differs from
the log, or when on idle cores the 99th percentile from commit to client would be above
150 ms, or the acceptor's CPU time is more than half a core's.

All clients have one address: FIX_CONNECTIONS_PER_ADDRESS is raised for them. All other
limits are as usual: 1,000 sessions log on at once.
"""

import argparse
import multiprocessing
import os
import random
import selectors
import socket
import sys
import tempfile
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil
from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import (
    IDLE_SECONDS,
    Pace,
    cpu_of_additions,
    yardstick,
)
from tests.installation import throw_away_installation

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Event

SLOT_SECONDS = 0.1
LOWEST_SHARE, HIGHEST_P99, HIGHEST_CORES = 0.99, 0.150, 0.5
LOGONS_SECONDS, SETTLE_SECONDS = 120.0, 3.0
FIRST_QUANTITY = 1_000
SOH = b"\x01"

Commits = dict[str, list[float]]
"""By symbol, when each change was committed; the n-th has quantity 1000 + n."""


class Session:
    """A FIX session with hardly any work for each message: bytes are kept for later."""

    def __init__(self, port: int, comp_id: str, key: str) -> None:
        self.comp_id = comp_id.encode()
        self.number = 0
        self.chunks: list[tuple[float, bytes]] = []
        self.snapshots = 0
        self.tail = b""
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.send(b"A", b"98=0", b"108=30", b"141=Y", b"554=" + key.encode())

    def send(self, message_type: bytes, *fields: bytes) -> None:
        self.number += 1
        now = time.time()
        instant = time.strftime("%Y%m%d-%H:%M:%S", time.gmtime(now)).encode()
        head = b"35=%s|34=%d|49=%s|52=%s|56=PARTNERAPI|" % (
            message_type, self.number, self.comp_id, instant
        )  # fmt: skip
        body = head.replace(b"|", SOH) + b"".join(field + SOH for field in fields)
        text = b"8=FIX.4.4\x019=%d\x01%s" % (len(body), body)
        self.socket.sendall(text + b"10=%03d\x01" % (sum(text) % 256))

    def subscribe(self, symbols: list[str]) -> None:
        self.send(
            b"V", b"262=all", b"263=1", b"264=0", b"265=1",
            b"267=2", b"269=0", b"269=1", b"146=%d" % len(symbols),
            *(b"55=" + symbol.encode() for symbol in symbols),
        )  # fmt: skip

    def receive(self) -> None:
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError(f"{self.comp_id!r} was cut off")
        self.chunks.append((time.time(), data))
        # A message may lie across two chunks.
        self.snapshots += (self.tail[-5:] + data).count(b"\x0135=W\x01")
        text = self.tail + data
        found = text.rfind(b"\x0135=1\x01")
        if found >= 0 and (end := text.find(b"\x0110=", found)) >= 0:
            begin = text.index(b"\x01112=", found, end) + 1
            self.send(b"0", text[begin : text.index(SOH, begin)])
            self.tail = text[end:][-400:]
        else:
            self.tail = text[-400:]


def receive(
    port: int,
    members: list[tuple[str, str]],
    symbols: list[str],
    written: "Event",
    out: "Queue",
) -> None:
    """The clients' process: log on, subscribe, receive; put what came into a queue.

    It reports when each session has all books, and ends once everything is written, and
    has been sent.
    """
    selector = selectors.DefaultSelector()
    sessions = [Session(port, comp_id, key) for comp_id, key in members]
    for session in sessions:
        selector.register(session.socket, selectors.EVENT_READ, session)
        session.subscribe(symbols)
    without_books = set(sessions)
    beat_at = time.time() + 20
    while not written.is_set():
        if without_books:
            without_books = {
                one for one in without_books if one.snapshots < len(symbols)
            }
            if not without_books:
                out.put("subscribed")
        for key, _ in selector.select(0.1):
            key.data.receive()
        if time.time() > beat_at:
            beat_at = time.time() + 20
            for session in sessions:
                session.send(b"0")
    out.put([session.chunks for session in sessions])


def write(database: str, symbols: list[str], seconds: float, out: "Queue") -> None:
    """The writer's process: each book changes once in a slot, all at other moments."""
    os.environ["DATABASE_URL"] = database
    import django

    django.setup()
    from issuers.models import Token
    from marketdata.books.log import Message, record
    from marketdata.books.orderbook import Change
    from tests.marketdata.fix.market import OPENING

    chance = random.Random(1)
    ids = dict(Token.objects.values_list("symbol", "pk"))
    commits: Commits = {symbol: [] for symbol in symbols}
    begin = time.time()
    for slot in range(int(seconds / SLOT_SECONDS)):
        for place, symbol in enumerate(symbols):
            due = begin + (slot + place / len(symbols)) * SLOT_SECONDS
            time.sleep(max(0.0, due - time.time()))
            side = chance.choice((0, 1))
            quantity = FIRST_QUANTITY + len(commits[symbol])
            change = Change(side, chance.choice(OPENING[side]), quantity)
            record(ids[symbol], [Message([change])], "load")
            commits[symbol].append(time.time())
    out.put(commits)


class Increment(NamedTuple):
    """An X of a book: when it came, and the newest change that it holds."""

    at: float
    newest: int


def replay(
    chunks: list[tuple[float, bytes]],
) -> tuple[dict[str, list[Increment]], dict[str, dict[tuple[str, str], int]]]:
    """By symbol: the X that came, and the book that follows from W and X."""
    increments: dict[str, list[Increment]] = defaultdict(list)
    books: dict[str, dict[tuple[str, str], int]] = {}
    rest = b""
    for at, data in chunks:
        # A message ends in 10=nnn and SOH, and no other field's text begins so.
        *messages, rest = (rest + data).split(b"\x0110=")
        for message in messages:
            fields = [
                part.split(b"=", 1) for part in message.split(SOH) if b"=" in part
            ]
            named = dict(fields)
            kind = named.get(b"35")
            if kind not in (b"W", b"X"):
                continue
            symbol = named[b"55"].decode()
            if kind == b"W":
                books[symbol] = {}
            newest = 0
            side = price = action = ""
            for tag, raw in fields:
                if tag == b"279":
                    action = raw.decode()
                elif tag == b"269":
                    side = raw.decode()
                elif tag == b"270":
                    price = raw.decode()
                    if action == "2":
                        del books[symbol][side, price]
                elif tag == b"271":
                    books[symbol][side, price] = int(raw)
                    newest = max(newest, int(raw))
            if kind == b"X":
                increments[symbol].append(Increment(at, newest))
    return increments, books


class Result(NamedTuple):
    slots: int
    exactly_one: int
    latencies: list[float]
    wrong_books: int
    increments: int


def judge(readings: list[list[tuple[float, bytes]]], commits: Commits) -> Result:
    from issuers.models import Token
    from tests.marketdata.fix.market import book_rows

    slots = exactly_one = wrong_books = number = 0
    latencies: list[float] = []
    expected = {}
    for symbol in commits:
        rows = book_rows(Token.objects.get(symbol=symbol))
        expected[symbol] = {
            (str(side), f"{price // 100}.{price % 100:02d}"): quantity
            for side, price, quantity in rows
        }
    for chunks in readings:
        increments, books = replay(chunks)
        for symbol, times in commits.items():
            wrong_books += books.get(symbol) != expected[symbol]
            slots += len(times)
            number += len(increments[symbol])
            start = Increment(0.0, FIRST_QUANTITY - 1)
            for before, one in pairwise([start, *increments[symbol]]):
                exactly_one += one.newest == before.newest + 1
                latencies += [
                    one.at - times[change - FIRST_QUANTITY]
                    for change in range(before.newest + 1, one.newest + 1)
                ]
    return Result(slots, exactly_one, sorted(latencies), wrong_books, number)


def measure(sessions: int, books: int, seconds: float) -> tuple[Result, float, Table]:
    from django.conf import settings

    from tests.marketdata.fix.acceptor_process import running_acceptor
    from tests.marketdata.fix.market import new_member, new_token

    symbols = [f"TKN{number:02d}" for number in range(books)]
    for symbol in symbols:
        new_token(symbol)
    members = [new_member(number) for number in range(1, sessions + 1)]
    keys = [(member.comp_id, member.key) for member in members]
    context = multiprocessing.get_context("spawn")
    received, written = context.Queue(), context.Queue()
    is_over = context.Event()
    environment = {
        "FIX_SESSIONS": str(sessions),
        "FIX_CONNECTIONS_PER_ADDRESS": str(sessions + 20),
        "FIX_COMP_ID": settings.FIX_COMP_ID,
    }
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "acceptor.log"
        with running_acceptor(log, members, **environment) as acceptor:
            clients = context.Process(
                target=receive,
                args=(acceptor.port, keys, symbols, is_over, received),
            )
            clients.start()
            received.get(timeout=LOGONS_SECONDS)
            process = psutil.Process(acceptor.process.pid)
            before = process.cpu_times()
            began = time.time()
            writer = context.Process(
                target=write,
                args=(os.environ["DATABASE_URL"], symbols, seconds, written),
            )
            writer.start()
            commits = written.get(timeout=seconds * 3 + 60)
            after = process.cpu_times()
            took = time.time() - began
            memory = process.memory_info().rss
            threads, files = process.num_threads(), process.num_fds()
            time.sleep(SETTLE_SECONDS)
            is_over.set()
            readings = received.get(timeout=60)
            writer.join()
            clients.join()
    busy = after.user + after.system - before.user - before.system
    cores = busy / took
    table = Table(title=f"{sessions} sessions, {books} books, {seconds:.0f} s")
    table.add_column("what")
    table.add_column("measured", justify="right")
    result = judge(readings, commits)
    table.add_row("X a second", f"{result.increments / seconds:,.0f}")
    table.add_row(
        "slots with exactly one X", f"{result.exactly_one / result.slots:.2%}"
    )
    for share in (0.5, 0.99, 1):
        latency = result.latencies[int(share * (len(result.latencies) - 1))]
        table.add_row(
            f"commit to client, {share:.0%} within", f"{latency * 1000:.1f} ms"
        )
    table.add_row("books unlike the log", str(result.wrong_books))
    cost = busy / max(1, result.increments) * 1e6
    table.add_row("CPU of the acceptor for an X", f"{cost:.1f} µs")
    table.add_row(
        "acceptor",
        f"{cores:.2f} cores, {memory / 1e6:.0f} MB, {threads} threads, {files:,} files",
    )
    load = os.getloadavg()[0]
    table.add_row("machine", f"{os.cpu_count()} cores, load {load:.1f}")
    return result, cores, table


def main(pace: Pace) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--books", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with throw_away_installation():
        result, cores, table = measure(options.sessions, options.books, options.seconds)
    p99 = pace.idle(result.latencies[int(0.99 * (len(result.latencies) - 1))])
    table.add_row("on idle cores", f"99% within {p99 * 1000:.1f} ms")
    # CPU by CPU: a busy machine takes longer by the clock, not by the processor.
    cores *= IDLE_SECONDS / cpu_of_additions()
    table.add_row("of the processor of the yardstick", f"{cores:.2f} cores")
    Console().print(table)
    good = (
        result.exactly_one >= LOWEST_SHARE * result.slots
        and p99 <= HIGHEST_P99
        and cores <= HIGHEST_CORES
        and not result.wrong_books
    )
    return 0 if good else 1


if __name__ == "__main__":
    with yardstick() as pace:
        sys.exit(main(pace))
