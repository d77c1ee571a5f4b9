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
from functools import partial
from time import perf_counter, sleep
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.installation import throw_away_installation
from tests.system import free_port

SMALLER = 50_000
"""Holders of the token that is answered over HTTP, and of those of several lengths."""
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
PEOPLE = """
INSERT INTO accounts_user (id, password, is_superuser, type, first_name, last_name,
    address, postal_code, city, is_active, is_staff, created_at)
SELECT gen_random_uuid(), '!', FALSE, 'INDIVIDUAL', 'Holder', n::text, '', '', '', TRUE,
    FALSE, '2020-01-01Z' FROM generate_series(1, {holders}) n;
INSERT INTO accounts_userholder (id, user_id, name)
SELECT gen_random_uuid(), id, 'Holder ' || last_name FROM accounts_user
WHERE first_name = 'Holder';
INSERT INTO issuers_ledgeraccount (id, kind, holder_id, user_id)
SELECT u.last_name::bigint, 'HOLDER', h.id, u.id
FROM accounts_user u JOIN accounts_userholder h ON h.user_id = u.id
WHERE u.first_name = 'Holder' ORDER BY 1;
SELECT setval(pg_get_serial_sequence('issuers_ledgeraccount', 'id'), {holders});
"""
# A mint for each holder, then transfers, most of them from the first holders.
HISTORY = """
SELECT setseed(0.42);
CREATE TEMP TABLE raw AS
SELECT seq,
    CASE WHEN seq > {holders}
        THEN 1 + floor(power(random(), 2) * {holders})::bigint END AS f,
    CASE WHEN seq <= {holders} THEN seq
        ELSE 1 + floor(random() * {holders})::bigint END AS t,
    CASE WHEN seq <= {holders} THEN 10000000
        ELSE 1 + floor(random() * 100)::bigint END AS amount
FROM generate_series(1, {transactions}) seq;
UPDATE raw SET t = t % {holders} + 1 WHERE t = f;
INSERT INTO issuers_ledgertransaction (token_id, seq, kind, source_id, target_id,
    amount, effective_at, recorded_at, supply_after, held_after, holders_after, actor,
    reason)
SELECT '{token}', seq, CASE WHEN f IS NULL THEN 'MINT' ELSE 'TRANSFER' END, f, t,
    amount, '2020-01-01Z'::timestamptz + seq * interval '10 seconds', now(),
    least(seq, {holders})::numeric * 10000000,
    least(seq, {holders})::numeric * 10000000,
    least(seq, {holders}), 'benchmark', '' FROM raw ORDER BY seq;
INSERT INTO issuers_ledgerposting (token_id, seq, leg, account_id, delta, balance_after)
SELECT '{token}', seq, leg, account, delta,
    sum(delta) OVER (PARTITION BY account ORDER BY seq)
FROM (SELECT seq, 1 AS leg, f AS account, -amount AS delta FROM raw WHERE f IS NOT NULL
      UNION ALL SELECT seq, 2, t, amount FROM raw) x ORDER BY seq, leg;
DROP TABLE raw;
UPDATE issuers_tokenledgerhead SET last_seq = {transactions},
    last_effective_at = '2020-01-01Z'::timestamptz
        + {transactions} * interval '10 seconds',
    supply = {holders}::numeric * 10000000, held = {holders}::numeric * 10000000,
    holder_count = {holders} WHERE token_id = '{token}';
"""


def load(holders: int, transactions: int, console: Console) -> dict[str, Any]:
    """Tokens by name; what the triggers would derive is written directly."""
    from django.db import connection

    from issuers import ledger

    tokens = {"large": token("large")}
    sizes = {"large": (holders, transactions)}
    smaller = min(SMALLER, holders, transactions // 200)
    for length in (transactions // 100, transactions // 10, transactions):
        name = f"{length}"
        tokens[name] = token(name)
        sizes[name] = (smaller, length)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("SET work_mem = '256MB'")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute("SELECT pg_get_indexdef('ledger_balance_at'::regclass)")
        [(index,)] = cursor.fetchall()
        cursor.execute("DROP INDEX ledger_balance_at")
        cursor.execute(PEOPLE.format(holders=holders))
        for name, (held_by, length) in sizes.items():
            console.print(f"Writing {length:,} transactions …")
            cursor.execute(
                HISTORY.format(
                    token=tokens[name].pk, holders=held_by, transactions=length
                )
            )
        cursor.execute(index)
        cursor.execute(
            "INSERT INTO issuers_holderbalance"
            " (token_id, account_id, balance, last_seq)"
            " SELECT DISTINCT ON (token_id, account_id)"
            " token_id, account_id, balance_after, seq FROM issuers_ledgerposting"
            " ORDER BY token_id, account_id, seq DESC"
        )
        for setting in ("session_replication_role", "work_mem", "maintenance_work_mem"):
            cursor.execute(f"RESET {setting}")
        cursor.execute("VACUUM ANALYZE")
    for one in tokens.values():
        ledger.set_price(one.pk, 25, "ISSUE", "benchmark")
    return tokens


def token(name: str) -> Any:
    from accounts.models import User
    from issuers.models import Issuer, Token

    owner, _ = User.objects.get_or_create(
        type=User.Type.INDIVIDUAL, first_name="Ines", last_name="Roca"
    )
    issuer = Issuer.objects.create(
        trading_name=name, slug=name, trading_location="Lyon", owner=owner
    )
    return Token.objects.create(
        issuer=issuer,
        name=name,
        symbol=name.upper(),
        created_at="2020-01-01T00:00:00Z",
    )


class Server:
    """gunicorn with the real application, asked with one key over one connection."""

    def __init__(self) -> None:
        from accounts.callers import Scope
        from accounts.models import ApiKey, Partner
        from issuers.models import IssuerGrant

        partner = Partner.objects.create(login="reader", name="Reader")
        IssuerGrant.objects.create(partner=partner, issuer=None)
        self.key = ApiKey.objects.issue(partner, list(Scope))[1]
        self.port = free_port()
        command = ["gunicorn", "partnerapi.wsgi", "--worker-class", "gthread"]
        command += ["--threads", "2", "--bind", f"127.0.0.1:{self.port}"]
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
        body = json.dumps(
            {"query": query, "variables": {"id": f"Issuer|{one.issuer_id}"}}
        )
        headers = {"Content-Type": "application/json", "X-Token-Auth": self.key}
        self.connection.request("POST", "/graphql", body, headers)
        answer = self.connection.getresponse().read()
        assert answer.startswith(b'{"data":'), answer[:500]
        return answer

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

    from issuers.captable import capitalization_tables

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

        def ours(at: Any = at, counts: set[int] = counts) -> None:
            [table] = capitalization_tables([issuer], at, True)
            counts.add(len(table.holders))

        taken = median(ours, 3)
        distinct = median(partial(run, DISTINCT_ON, seq), 3)
        assert counts == {run(DISTINCT_ON, seq)}
        show(
            f"{holders:,} holders at {part:.1%} of the history",
            f"{taken:.2f} s, DISTINCT ON {distinct:.2f} s: {taken / distinct:.2f} ×",
            "≤ 2 ×",
        )
        if part in (0.56, 0.999):
            start = perf_counter()
            run(NAIVE, seq)
            naive = perf_counter() - start
            show(
                "naive SUM there",
                f"{naive:.2f} s: {naive / taken:.1f} × as long",
                "≥ 4 ×",
            )


def by_length(tokens: dict[str, Any], show: Callable[..., None]) -> None:
    from issuers.captable import capitalization_tables

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

    from issuers import ledger
    from issuers.models import LedgerAccount

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
        ledger.record(
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
    sys.exit(main())
