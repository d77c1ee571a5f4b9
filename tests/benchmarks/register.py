"""Measure the register: tables over HTTP, against plain SQL, by length, and writing.

python -m tests.benchmarks.register --holders 1000000 --transactions 10000000
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from time import perf_counter, sleep
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.large_registers import SMALLER, load, token
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation
from tests.system import free_port

TOTALS = """
query ($id: ID!) { issuer(id: $id) { capitalizationTable { date totalValue tokens {
  tokenID currentPrice totalBalanceSpecificToken totalBalancesSupply totalTokenValue
  totalSupplyValue } } } }
"""
HOLDERS = """
query ($id: ID!) { issuer(id: $id) { capitalizationTable { totalValue holders {
  user { id displayName } userID userHolder { id name } totalValue percentage
  tokenBalances { tokenID balanceSpecificToken currentPrice totalTokenValue } } } } }
"""
DISTINCT_ON = """
SELECT account_id, b FROM (
    SELECT DISTINCT ON (account_id) account_id, balance_after AS b
    FROM issuers_ledgerposting WHERE token_id = %s AND seq <= %s
    ORDER BY account_id, seq DESC) x
WHERE b > 0
"""
NAIVE = """
SELECT account_id, sum(delta) FROM issuers_ledgerposting
WHERE token_id = %s AND seq <= %s GROUP BY 1 HAVING sum(delta) > 0
"""


class Server:
    """gunicorn with the real application, asked with one key over one connection."""

    def __init__(self) -> None:
        from accounts.access import Scope
        from accounts.keys.models import Partner
        from partnerapi.sandbox.data.approvals import approved_grant, approved_key

        partner = Partner.objects.create(login="reader", name="Reader")
        approved_grant(partner)
        self.key = approved_key(partner, list(Scope))[1]
        self.points = 0
        self.port = free_port()
        command = ["gunicorn", "partnerapi.wsgi", "--worker-class", "gthread"]
        # What is done between two requests may take minutes.
        command += ["--threads", "2", "--keep-alive", "900"]
        command += ["--bind", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command, "--log-level", "error"], env=os.environ
        )
        for _ in range(100):
            try:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
                self.connection.connect()
                return
            except ConnectionRefusedError:
                sleep(0.1)
        raise TimeoutError("gunicorn did not start")

    def ask(self, query: str, one: Any) -> bytes:
        return self.answer(query, {"id": f"Issuer|{one.issuer_id}"})

    def answer(self, query: str, variables: dict[str, Any]) -> bytes:
        body = json.dumps({"query": query, "variables": variables})
        headers = {"Content-Type": "application/json", "X-Token-Auth": self.key}
        self.connection.request("POST", "/graphql", body, headers)
        response = self.connection.getresponse()
        answer = response.read()
        self.points += int(response.headers["X-Query-Cost"])
        assert answer.startswith(b'{"data":'), answer[:500]
        return answer

    def data(self, query: str, variables: dict[str, Any] | None = None) -> Any:
        return json.loads(self.answer(query, variables or {}))["data"]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def median(work: Callable[[], object], rounds: int) -> float:
    taken = []
    for number in range(-1, rounds):
        start = perf_counter()
        work()
        if number >= 0:
            taken.append(perf_counter() - start)
    return statistics.median(taken)


def in_turns(works: list[Callable[[], object]], rounds: int) -> list[float]:
    """The median of each, after a round that does not count."""
    taken: list[list[float]] = [[] for _ in works]
    for number in range(-1, rounds):
        for work, times in zip(works, taken, strict=True):
            start = perf_counter()
            work()
            if number >= 0:
                times.append(perf_counter() - start)
    return [statistics.median(times) for times in taken]


def over_http(tokens: dict[str, Any], show: Callable[..., None]) -> None:
    server = Server()
    try:
        taken = median(lambda: server.ask(TOTALS, tokens["large"]), 200)
        show("table without holders, over HTTP", f"{taken * 1000:.2f} ms", "≤ 5 ms")
        smaller = list(tokens.values())[1]
        taken = median(lambda: server.ask(HOLDERS, smaller), 7)
        show(f"{SMALLER:,} holders over HTTP", f"{taken:.3f} s", "≤ 1.0 s")
        document = HOLDERS.partition("holders")[0] + "holders { percentage } } } }"
        found = json.loads(server.ask(document, smaller))["data"]["issuer"]
        holders = found["capitalizationTable"]["holders"]
        off = abs(sum(holder["percentage"] for holder in holders) - 1)
        show(f"|Σ percentages − 1| of {len(holders):,}", f"{off:.1e}", "< 1e-9")
    finally:
        server.stop()


def against_sql(
    one: Any, holders: int, transactions: int, show: Callable[..., None]
) -> None:
    from django.conf import settings
    from django.db import connection
    from django.utils import timezone

    from issuers.register.captable import capitalization_tables

    settings.PARTNER_API_MAX_HOLDERS = 10**9
    issuer = str(one.issuer_id)

    def run(statement: str, seq: int) -> int:
        with connection.cursor() as cursor:
            cursor.execute(statement, [one.pk, seq])
            return len(cursor.fetchall())

    for part in (0.15, 0.56, 0.999, 1):
        seq = int(transactions * part)
        at = timezone.now()
        if part < 1:
            at = one.transactions.get(seq=seq).effective_at
        counts: set[int] = set()
        tables: list[Any] = []

        def ours(at: Any = at, tables: list[Any] = tables) -> None:
            tables[:] = capitalization_tables([issuer], at, True)

        def theirs(seq: int = seq, counts: set[int] = counts) -> None:
            counts.add(run(DISTINCT_ON, seq))

        def each_holder(tables: list[Any] = tables) -> None:
            for _ in tables[0].holders:
                pass

        # In turns: what else the machine does slows both.
        taken, distinct, looked_at = in_turns([ours, theirs, each_holder], 3)
        assert counts == {len(tables[0].holders)}
        show(
            f"{holders:,} holders at {part:.1%} of the history",
            f"{taken:.2f} s, DISTINCT ON {distinct:.2f} s: {taken / distinct:.2f} ×",
            "≤ 2 ×",
        )
        show("to look at each of them afterwards", f"{looked_at:.2f} s", "")
        if part == 0.56:
            show_percentages(tables[0].holders, show)
        if part in (0.56, 0.999):
            start = perf_counter()
            run(NAIVE, seq)
            naive = perf_counter() - start
            show(
                "naive SUM there",
                f"{naive:.2f} s: {naive / taken:.1f} × as long",
                "≥ 4 ×",
            )


def show_percentages(holders: Any, show: Callable[..., None]) -> None:
    whole = sum(holders.total_values)
    wrong = sum(
        percentage != float(Fraction(value, whole))
        for value, percentage in zip(
            holders.total_values, holders.percentages, strict=True
        )
    )
    show(f"percentages of {len(holders):,} not exactly rounded", f"{wrong}", "0")
    off = abs(sum(holders.percentages) - 1)
    show("|Σ percentages − 1| of them", f"{off:.1e}", "< 1e-9")


def by_length(tokens: dict[str, Any], show: Callable[..., None]) -> None:
    from issuers.register.captable import capitalization_tables

    times = {}
    for name, one in tokens.items():
        if name != "large":
            issuer = str(one.issuer_id)
            read = partial(capitalization_tables, [issuer], None, True)
            times[name] = median(read, 9)
    least = min(times.values())
    shown = ", ".join(f"{float(n):.0e}: {t:.3f} s" for n, t in times.items())
    ratio = max(times.values()) / least
    show("now, by length of the history", f"{shown}: {ratio:.2f} ×", "≤ 1.3 ×")


def writing(seconds: float, show: Callable[..., None]) -> None:
    from django.db import connection, connections

    from issuers.register import ledger
    from issuers.register.models import LedgerAccount
    from tests.approved import approved_record

    accounts = list(
        LedgerAccount.objects.filter(kind="HOLDER").values_list("id", flat=True)[:200]
    )
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        [(commit,)] = cursor.fetchall()
        cursor.execute("SHOW fsync")
        [(fsync,)] = cursor.fetchall()
    for writers, batch in ((1, 1), (1, 100), (1, 1000), (8, 1), (8, 100)):
        one = token(f"written{writers}x{batch}")
        approved_record(
            [ledger.Entry(one.pk, "MINT", 10**9, None, a) for a in accounts], "me"
        )
        done = [0] * writers
        stop = perf_counter() + seconds

        def write(
            number: int, one: Any = one, batch: int = batch, done: list[int] = done,
            stop: float = stop,
        ) -> None:  # fmt: skip
            turn = number
            while perf_counter() < stop:
                entries = []
                for _ in range(batch):
                    turn += 7
                    source = accounts[turn % 200]
                    target = accounts[(turn * 31 + 1) % 200]
                    if source != target:
                        entries.append(
                            ledger.Entry(one.pk, "TRANSFER", 1, source, target)
                        )
                ledger.record(entries, "me")
                done[number] += len(entries)
            connections.close_all()

        start = perf_counter()
        threads = [
            threading.Thread(target=write, args=(number,)) for number in range(writers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        taken = perf_counter() - start
        one.ledger_head.refresh_from_db()
        lost = sum(done) + len(accounts) - one.ledger_head.last_seq
        show(
            f"{writers} writers, batches of {batch} "
            f"(synchronous_commit {commit}, fsync {fsync})",
            f"{sum(done) / taken:,.0f} transfers/s, {lost} lost",
            "≥ 2,000/s, 0 lost",
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.register",
        description="Measure the register on one token with many holders, and on "
        "three with histories of different lengths.",
        epilog="example: python -m tests.benchmarks.register --holders 10000 "
        "--transactions 100000",
    )
    parser.add_argument("--holders", type=int, default=1_000_000)
    parser.add_argument("--transactions", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=5, help="of each writing")
    arguments = parser.parse_args()
    console = Console()
    results = Table("what", "measured", "wanted", title="The register")

    def show(*row: str) -> None:
        console.print(" | ".join(row))
        results.add_row(*row)

    with throw_away_installation(durable=True):
        start = perf_counter()
        tokens = load(arguments.holders, arguments.transactions, console)
        console.print(f"Loaded in {perf_counter() - start:.0f} s")
        over_http(tokens, show)
        by_length(tokens, show)
        against_sql(tokens["large"], arguments.holders, arguments.transactions, show)
        writing(arguments.seconds, show)
    console.print(results)
    return 0


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
