"""How many orders a second the market takes, with every commit on the disk.

Run it on a quiet machine: `python -m tests.benchmarks.trading`. Half of the orders
trade, one in ten is immediate-or-cancel, all guards are on. Beside each figure stand
what one order costs of the processors, PostgreSQL's and Python's, and of the
write-ahead log, and how long a bare commit of one row takes at that moment. Lone orders
of one writer are compared with the transactions of `pgbench -N` on the same server.
After all of it the rules of `verify market` are judged. It ends with exit code 1 where
a number would be missed on idle cores, an order is refused, or a rule is broken.
"""

import argparse
import multiprocessing
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
from functools import cache
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple
from uuid import UUID

from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import Pace, yardstick
from tests.installation import throw_away_installation

CLIENTS, TOKENS = 200, 8
TICKS = os.sysconf("SC_CLK_TCK")


class Variant(NamedTuple):
    """`promised` orders a second, and milliseconds of processor an order or p99.

    All clients trade a lone token, so that none reaches the limit of its open orders.
    """

    name: str
    size: int
    writers: int
    tokens: int
    are_own: bool
    promised: int
    slowest: float | None = None
    processor: float | None = None


VARIANTS = [
    Variant("lists of 100, one writer, one token", 100, 1, 1, False, 800, None, 0.8),
    Variant("lists of 100, eight writers, one token", 100, 8, 1, False, 800),
    Variant("lists of 100, eight on eight, own clients", 100, 8, 8, True, 1500),
    Variant("lists of 100, eight on eight, shared clients", 100, 8, 8, False, 1000),
    Variant("one by one, one writer, one token", 1, 1, 1, False, 100, 30),
    Variant("one by one, eight on eight", 1, 8, 8, True, 160),
]


class Done(NamedTuple):
    orders: int
    seconds: float
    calls: list[float]
    python: float
    postgresql: float
    trades: int
    refused: int


@cache
def login_of(account: UUID) -> str:
    """Of its partner, which asks for its orders."""
    from accounts.accounts.models import Account

    return Account.objects.values_list("partner__login", flat=True).get(pk=account)


def flow(dice: random.Random, accounts: list[UUID], size: int) -> list[Any]:
    """Orders around 100 euros, of which half trade."""
    from marketdata.trading.market import Request

    requests = []
    for _ in range(size):
        side = dice.randrange(2)
        away = round(dice.gauss(0, 12)) + 3
        price = 10_000 - away * 5 if side == 0 else 10_000 + away * 5
        time_in_force = "IOC" if dice.random() < 0.1 else "GTC"
        account = dice.choice(accounts)
        requests.append(
            Request(
                account,
                side,
                dice.randint(1, 20),
                price,
                login_of(account),
                time_in_force,
            )
        )
    return requests


def backend_seconds() -> float:
    """Of processor that this session's backend has had."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [(pid,)] = cursor.fetchall()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def write(
    token_id: UUID, accounts: list[UUID], seed: int, size: int, seconds: float
) -> Done:
    from marketdata.trading.market import Placed, place_each

    dice = random.Random(seed)
    calls: list[float] = []
    trades = orders = refused = 0
    postgresql, python = backend_seconds(), process_time()
    began = perf_counter()
    while perf_counter() - began < seconds:
        requests = flow(dice, accounts, size)
        before = perf_counter()
        results = place_each(token_id, requests)
        calls.append(perf_counter() - before)
        orders += size
        placed = [r for r in results if isinstance(r, Placed)]
        trades += sum(len(r.executions) for r in placed)
        refused += size - len(placed)
    took = perf_counter() - began
    return Done(
        orders, took, calls, process_time() - python,
        backend_seconds() - postgresql, trades, refused,
    )  # fmt: skip


def write_in_process(
    token_id: UUID,
    accounts: list[UUID],
    seed: int,
    size: int,
    seconds: float,
    ready: Barrier,
    told: Any,
) -> None:
    import django

    django.setup()
    from django.db import connection

    connection.settings_dict["OPTIONS"]["options"] += " -c lock_timeout=60000"
    connection.ensure_connection()
    write(token_id, accounts, seed + 1000, size, 0.5)
    ready.wait()
    told.put(write(token_id, accounts, seed, size, seconds))


def run(
    variant: Variant, tokens: list[UUID], accounts: list[list[UUID]], seconds: float
) -> Done:
    """All writers' figures together."""
    spawn = multiprocessing.get_context("spawn")
    told: Any = spawn.Queue()
    ready = spawn.Barrier(variant.writers + 1)
    everybody = [account for own in accounts for account in own]
    writers = []
    for number in range(variant.writers):
        place = number % variant.tokens
        clients = accounts[place] if variant.are_own else everybody
        arguments = (
            tokens[place], clients, number, variant.size, seconds, ready, told,
        )  # fmt: skip
        writers.append(spawn.Process(target=write_in_process, args=arguments))
    for writer in writers:
        writer.start()
    ready.wait(timeout=120)
    done = [told.get(timeout=seconds + 120) for _ in writers]
    for writer in writers:
        writer.join()
    return Done(
        sum(d.orders for d in done),
        max(d.seconds for d in done),
        [call for d in done for call in d.calls],
        sum(d.python for d in done),
        sum(d.postgresql for d in done),
        sum(d.trades for d in done),
        sum(d.refused for d in done),
    )


def bare_commit() -> float:
    """Milliseconds of a commit of one row: the median of 200."""
    from django.db import connection

    times = []
    with connection.cursor() as cursor:
        for number in range(200):
            began = perf_counter()
            cursor.execute("INSERT INTO tests.bare VALUES (%s)", [number])
            times.append(perf_counter() - began)
    return statistics.median(times) * 1000


def wal_position() -> int:
    """Bytes that the server has written to its log since it was made."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn() - pg_lsn '0/0'")
        [(position,)] = cursor.fetchall()
    return int(position)


def pgbench_rate(program: str, seconds: float) -> float:
    """Transactions a second of `pgbench -N`: one client, ten branches."""
    from django.db import connections

    from partnerapi.core.owner import owner_alias

    with connections[owner_alias()].cursor() as cursor:
        cursor.execute("CREATE DATABASE pgbench")
    server = connections[owner_alias()].settings_dict
    environment = os.environ | {
        "PGHOST": server["OPTIONS"]["host"],
        "PGPORT": str(server["PORT"]),
        "PGUSER": server["USER"],
        "PGPASSWORD": server["PASSWORD"],
        "PGDATABASE": "pgbench",
    }

    def run_it(*options: str) -> str:
        done = subprocess.run(
            [program, *options], env=environment, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return done.stdout

    run_it("--initialize", "--quiet", "--scale", "10")
    told = run_it("--skip-some-updates", "--client", "1", "--time", f"{seconds:.0f}")
    [rate] = re.findall(r"tps = ([\d.]+)", told)
    return float(rate)


def make_bare() -> None:
    """A table of one column, which the application may write."""
    from django.db import connections

    from partnerapi.core.owner import owner_alias

    with connections[owner_alias()].cursor() as cursor:
        cursor.execute("CREATE TABLE tests.bare (number bigint)")
        cursor.execute("GRANT INSERT ON tests.bare TO PUBLIC")


def make_markets() -> tuple[list[UUID], list[list[UUID]]]:
    """Markets, and clients of their own with cash and units of each."""
    from tests.marketdata.trading.trading import (
        deposit,
        give,
        new_clients,
        new_market,
        new_partner,
    )

    tokens = [new_market(10_000) for _ in range(TOKENS)]
    partners = [new_partner() for _ in range(4)]
    clients = [
        account
        for partner in partners
        for account in new_clients(CLIENTS // len(partners), partner)
    ]
    for account in clients:
        deposit(account, 10**12)
    for token in tokens:
        give(token, dict.fromkeys(clients, 10**9))
    own = [[a.pk for a in clients[n::TOKENS]] for n in range(TOKENS)]
    return [token.pk for token in tokens], own


def trade_a_while(tokens: list[UUID], accounts: list[list[UUID]]) -> None:
    """Place orders on each market, and update PostgreSQL's statistics, as in a market
    that has been open for a minute."""
    from django.db import connections

    from partnerapi.core.owner import owner_alias

    for place, token in enumerate(tokens):
        write(token, accounts[place], place, 100, 0.5)
    with connections[owner_alias()].cursor() as cursor:
        cursor.execute("ANALYZE")


def main(pace: Pace) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.trading",
        description="Measure the market: orders a second, and what one costs.",
    )
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", default="", help="variants with this in their name")
    parser.add_argument("--no-verify", action="store_true")
    arguments = parser.parse_args()
    table = Table(
        "", "orders/s", "promised", "trades an order", "refused", "p50 ms", "p99 ms",
        "PostgreSQL + Python ms an order", "bare commit ms",
        "WAL kB an order", "on idle cores: orders/s", "p99 ms", "ms an order",
    )  # fmt: skip
    runs = []
    missed = False
    program, lone = shutil.which("pgbench"), ""
    with throw_away_installation(durable=True):
        from django.db import transaction

        from marketdata.trading.verification import INVARIANTS
        from partnerapi.core.invariants import check_invariants
        from tests.owner import tamper

        with transaction.atomic():
            tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
        make_bare()
        tokens, accounts = make_markets()
        trade_a_while(tokens, accounts)
        for variant in VARIANTS:
            if arguments.only not in variant.name:
                continue
            bare = bare_commit()
            wal = wal_position()
            done = run(variant, tokens, accounts, arguments.seconds)
            runs.append((variant, bare, done, wal_position() - wal))
        for variant, bare, done, wal in runs:
            rate = done.orders / done.seconds
            calls = sorted(done.calls)
            p99 = calls[int(len(calls) * 0.99)] * 1000
            cost = (done.postgresql + done.python) / done.orders * 1000
            idle_rate, idle_p99 = pace.idle_rate(rate), pace.idle(p99)
            idle_cost = pace.idle(cost)
            missed |= idle_rate < variant.promised or bool(done.refused)
            missed |= variant.slowest is not None and idle_p99 > variant.slowest
            missed |= variant.processor is not None and idle_cost > variant.processor
            table.add_row(
                variant.name, f"{rate:,.0f}", f"{variant.promised:,}",
                f"{done.trades / done.orders:.2f}", f"{done.refused:,}",
                f"{statistics.median(calls) * 1000:.1f}", f"{p99:.1f}",
                f"{done.postgresql / done.orders * 1000:.2f} + "
                f"{done.python / done.orders * 1000:.2f}", f"{bare:.2f}",
                f"{wal / done.orders / 1000:.1f}",
                f"{idle_rate:,.0f}", f"{idle_p99:.1f}", f"{idle_cost:.2f}",
            )  # fmt: skip
            if (variant.size, variant.writers) == (1, 1) and program:
                compared = pgbench_rate(program, arguments.seconds)
                lone = (
                    f"pgbench -N, one client: {compared:,.0f}/s; lone orders × "
                    f"{rate / compared:.2f}\n"
                )
        Console(width=190).print(table)
        sys.stdout.write(lone)
        if not arguments.no_verify:
            broken = [found for found in check_invariants(INVARIANTS) if found.breaches]
            for found in broken:
                sys.stdout.write(f"BROKEN {found.breaches} times: {found.rule}\n")
            missed |= bool(broken)
    return int(missed)


if __name__ == "__main__":
    with yardstick() as pace:
        sys.exit(main(pace))
