"""What it costs to write the register, by this code and by that of a commit.

Run it with `python -m tests.benchmarks.register_cost --against COMMIT`. Each code has
an installation of its own, and the two write by turns: lone transfers, lone mints with
their approvals, batches, deliveries of legacy shares, dry runs of them, and histories
from before the platform. It prints the processor time of each in Python and in its
session of PostgreSQL, and the median of the rounds' ratios.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

LONE, BATCH, LINES = 100, 1_000, 200
HISTORY_FROM = datetime(2020, 1, 1, tzinfo=UTC)
SYMBOLS = count()


class Spent(NamedTuple):
    """Processor seconds, and how often the work was done in them."""

    python: float
    sql: float
    times: int


def spent() -> tuple[float, float]:
    from django.db import connection

    connection.ensure_connection()
    pid = connection.connection.info.backend_pid
    told = Path(f"/proc/{pid}/schedstat").read_text()
    return time.process_time(), int(told.split()[0]) / 1e9


def metered(work: Callable[[], object], times: int = 1) -> Spent:
    python, sql = spent()
    for _ in range(times):
        work()
    python_after, sql_after = spent()
    return Spent(python_after - python, sql_after - sql, times)


class Works:
    """The works of one code, each on rows that it prepares unmeasured."""

    def __init__(self, history: int) -> None:
        from issuers.register import ledger
        from tests.approved import approved_record
        from tests.issuers.register import new_issuer, people
        from tests.owner import tamper

        # Transfers are written without a second person, mints with one.
        tamper(
            "UPDATE accounts_approvalpolicy SET is_required = FALSE"
            " WHERE kind = 'TRANSFER'"
        )
        self.history_length = history
        self.users = people(200)
        self.accounts = [*ledger.holder_accounts(u.pk for u in self.users).values()]
        self.issuer = new_issuer()
        self.token = self.new_token(self.issuer)
        self.prices = [1]
        approved_record(
            [ledger.Entry(self.token, "MINT", 10**9, None, a) for a in self.accounts],
            "bench",
        )

    def new_token(self, issuer: Any, **said: Any) -> Any:
        from issuers.models import Token

        symbol = f"BENCH{next(SYMBOLS)}"
        return Token.objects.create(
            issuer=issuer, name=symbol, symbol=symbol, **said
        ).pk

    def transfers(self, number: int) -> list[Any]:
        from issuers.register import ledger

        return [
            ledger.Entry(
                self.token,
                "TRANSFER",
                1,
                self.accounts[n * 7 % 199],
                self.accounts[n * 7 % 199 + 1],
            )
            for n in range(number)
        ]

    def lone(self) -> Spent:
        """lone transfer"""
        from issuers.register import ledger

        entries = iter(self.transfers(LONE))
        return metered(lambda: ledger.record([next(entries)], "bench"), LONE)

    def approved(self) -> Spent:
        """lone mint, approved"""
        from accounts.approvals.four_eyes import carrying
        from issuers.models import Token
        from issuers.register import ledger
        from issuers.register.approvals import entry_content
        from partnerapi.sandbox.data.approvals import file_and_approve

        supply = int(Token.objects.get(pk=self.token).ledger_head.supply)
        entry = ledger.Entry(self.token, "MINT", 1, None, self.accounts[0])
        contents = [entry_content(entry, supply + n) for n in range(LONE)]
        requests = iter(file_and_approve("MINT", *contents))

        def mint() -> None:
            with carrying([next(requests).pk]):
                ledger.record([entry], "bench")

        return metered(mint, LONE)

    def batch(self) -> Spent:
        """batch of 1,000 transfers"""
        from issuers.register import ledger

        entries = self.transfers(BATCH)
        return metered(lambda: ledger.record(entries, "bench"))

    def lines(self) -> list[Any]:
        from issuers.legacy.models import LegacyShareholder

        made = LegacyShareholder.objects.bulk_create(
            LegacyShareholder(
                issuer=self.issuer,
                user=user,
                token_id=self.token,
                reference=f"L{next(SYMBOLS)}",
                number_of_shares=10,
                price_cents=100,
            )
            for user in self.users[:LINES]
        )
        return [line.pk for line in made]

    def delivery(self) -> Spent:
        """delivery of 200 lines"""
        from issuers.legacy import delivery
        from tests.approved import released_job

        job = released_job("MINT", self.lines(), "bench")
        return metered(lambda: delivery.deliver_next(job))

    def lone_delivery(self) -> Spent:
        """delivery of one line"""
        from issuers.legacy import delivery
        from tests.approved import released_job

        jobs = iter([released_job("MINT", [pk], "bench") for pk in self.lines()[:20]])
        return metered(lambda: delivery.deliver_next(next(jobs)), 20)

    def dry_run(self) -> Spent:
        """dry run of 200 lines"""
        from issuers.legacy import delivery

        lines = self.lines()
        return metered(lambda: delivery.DryRun("MINT").deliver(lines))

    def history(self) -> Spent:
        """history"""
        from django.db import transaction

        from issuers.register import ledger
        from tests.issuers.register import new_issuer

        def write() -> None:
            with transaction.atomic():
                token = self.new_token(new_issuer(), created_at=HISTORY_FROM)
                events = (
                    ledger.Entry(
                        token,
                        "MINT" if n < 199 else "TRANSFER",
                        10**9 if n < 199 else 1,
                        None if n < 199 else self.accounts[n * 7 % 199],
                        self.accounts[n * 7 % 199 + (n >= 199)],
                        at=HISTORY_FROM + timedelta(seconds=n),
                    )
                    for n in range(self.history_length)
                )
                ledger.write_history([token], events, "bench")

        return metered(write)


NAMES = (
    "lone", "approved", "batch", "delivery", "lone_delivery", "dry_run", "history",
)  # fmt: skip


def serve(history: int) -> None:
    """Do the works that are named on the standard input, one a line."""
    from tests.installation import throw_away_installation

    with throw_away_installation(durable=True):
        works = Works(history)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for line in sys.stdin:
            sys.stdout.write(json.dumps(getattr(works, line.strip())()) + "\n")
            sys.stdout.flush()


class Code:
    """A process that writes a register by the code of a directory."""

    def __init__(self, directory: Path, history: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", Path(__file__).read_text(), "--serve",
             "--history", str(history)],
            cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.answer()

    def answer(self) -> str:
        assert self.process.stdout
        if line := self.process.stdout.readline():
            return line
        raise SystemExit("the code of a commit failed; it has said why")

    def do(self, work: str) -> Spent:
        assert self.process.stdin
        self.process.stdin.write(f"{work}\n")
        self.process.stdin.flush()
        return Spent(*json.loads(self.answer()))

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def main() -> int:
    from tests.chaos.releases import code_of

    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.register_cost",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--against", metavar="COMMIT", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--history", type=int, default=20_000, help="entries of each")
    parser.add_argument("--only", choices=NAMES, nargs="*", default=NAMES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, ExitStack() as ends:
        there = code_of(options.against, Path(made))
        codes = [
            Code(directory, options.history)
            for directory in (Path(__file__).parents[2], there)
        ]
        for code in codes:
            ends.callback(code.close)
        results = Table(
            "ms", "Python", "SQL", f"{options.against:.8} Python", "SQL", "×",
            title="Processor time",
        )  # fmt: skip
        for work in options.only:
            rounds = 1 if work == "history" else options.rounds
            compare(results, work, codes, rounds)
        Console(width=100).print(results)
    return 0


def compare(results: Table, work: str, codes: list[Code], rounds: int) -> None:
    if rounds > 1:
        for code in codes:
            code.do(work)
    pairs = [[code.do(work) for code in codes] for _ in range(rounds)]
    cells = [getattr(Works, work).__doc__ or ""]
    for each in zip(*pairs, strict=True):
        for part in ("python", "sql"):
            taken = statistics.median(getattr(one, part) / one.times for one in each)
            cells.append(f"{taken * 1_000:,.2f}")
    ratio = statistics.median(
        (ours.python + ours.sql) / (theirs.python + theirs.sql)
        for ours, theirs in pairs
    )
    results.add_row(*cells, f"{ratio:.2f}")


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(int(sys.argv[sys.argv.index("--history") + 1]))
    else:
        from tests.benchmarks.yardstick import yardstick

        with yardstick():
            sys.exit(main())
