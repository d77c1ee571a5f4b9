"""Traders on internal markets, while web workers, sessions and PostgreSQL are killed.

Run it with `python -m tests.chaos.trading`; `--seconds 5` is a short form. With
`--tokens 1 --workers 2` those that wait for the market go together. Sixteen clients
place, amend and cancel orders over HTTP, each request with a key, until it is answered.
Web workers get SIGKILL, sessions of PostgreSQL are ended during their work, and two of
them get SIGKILL, after which the server recovers. It ends with exit code 1 when an
order is there twice or lost, when cash or units have changed in all, when a rule of
`verify market`, `verify cash` or `verify register` is broken, when PostgreSQL met a
deadlock or an internal error was answered; and when a control does no harm: such
traders without idempotency, over a server that does not write its commits.
"""

import argparse
import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from tests.administration import administrator_of
from tests.benchmarks.yardstick import yardstick
from tests.chaos.ending import end
from tests.chaos.installation import (
    Web,
    breakable_installation,
    close_connection,
)
from tests.chaos.traders import Intention, Member, Trader
from tests.waiting import until

if TYPE_CHECKING:
    from tests.chaos.trading_findings import Findings

SECONDS = 60.0
CLIENTS, PARTNERS, TOKENS = 16, 4, 8
CASH, UNITS = 10**12, 10**9
WORKER_EVERY, SESSION_EVERY = 2.0, 0.7
"""Seconds between two that die, on the average."""
CRASHES = 2
RECOVERY_SECONDS = 60
CONTROL_INTENTIONS = 80
CONTROL_CLIENTS, CONTROL_TOKENS = 8, 2
BUSY = """
    SELECT pid FROM pg_stat_activity
    WHERE usename = %s AND datname = %s AND state <> 'idle'
    ORDER BY random() LIMIT 1
"""
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = %s"
WRITER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"


@dataclass
class Report:
    """`control` is what was found where harm must be found; `seconds` in all."""

    findings: "Findings"
    repeated: dict[str, int]
    longest: float
    workers_killed: int
    sessions_ended: int
    crashes: int
    storm_seconds: float
    control: "Findings"
    seconds: float

    @property
    def passed(self) -> bool:
        harm = self.control.twice + self.control.lost
        return not self.findings.broken and harm > 0 and self.crashes == CRASHES


class Sessions:
    """The web server's sessions of PostgreSQL: ended, or killed."""

    def __init__(self) -> None:
        self.name, self.database = "", ""
        with psycopg.connect(os.environ["DATABASE_URL"]) as session:
            self.name, self.database = session.info.user, session.info.dbname
        self.ended = self.killed = 0
        self.deadlocks = 0

    def note_deadlocks(self, session: psycopg.Connection) -> None:
        """Add what the server has counted since it began, or since it recovered."""
        row = session.execute(DEADLOCKS, [self.database]).fetchone()
        assert row is not None
        self.deadlocks += row[0]

    def busy(self, session: psycopg.Connection) -> int | None:
        """The process of one that works for a client now."""
        row = session.execute(BUSY, [self.name, self.database]).fetchone()
        return row[0] if row else None

    def end_one(self) -> None:
        """End one by pg_terminate_backend, if the server runs and one works."""
        try:
            with administrator_of(os.environ["DATABASE_OWNER_URL"]) as session:
                if pid := self.busy(session):
                    session.execute("SELECT pg_terminate_backend(%s)", [pid])
                    self.ended += 1
        except psycopg.OperationalError:
            # It recovers from a crash.
            return

    def kill_one(self) -> None:
        """Kill one: the server ends all others, and recovers as after a crash.

        Raises:
            TimeoutError: none works.
        """
        deadline = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < deadline:
            try:
                with administrator_of(os.environ["DATABASE_OWNER_URL"]) as session:
                    if pid := self.busy(session):
                        self.note_deadlocks(session)
                        psutil.Process(pid).kill()
                        self.killed += 1
                        return
            except psycopg.OperationalError:
                time.sleep(0.1)
            except psutil.NoSuchProcess:
                # It has ended since: look for another.
                continue
        raise TimeoutError(f"no session worked within {RECOVERY_SECONDS} s")


@dataclass
class Floor:
    """Markets, and who trades there."""

    tokens: list[UUID]
    members: list[Member]

    @property
    def accounts(self) -> list[UUID]:
        return [member.account for member in self.members]


def open_floor(tokens: int, clients: int, partners: int = PARTNERS) -> Floor:
    """New markets, and new clients of some partners with cash and units of each."""
    from accounts.access import Scope
    from partnerapi.sandbox.data.approvals import approved_key
    from tests.marketdata.trading.trading import (
        deposit,
        give,
        new_clients,
        new_market,
        new_partner,
    )

    markets = [new_market(10_000) for _ in range(tokens)]
    accounts, members = [], []
    for _ in range(partners):
        partner = new_partner()
        _, key = approved_key(partner, list(Scope))
        own = new_clients(clients // partners, partner)
        accounts += own
        members += [Member(account.pk, key) for account in own]
    for account in accounts:
        deposit(account, CASH)
    for market in markets:
        give(market, dict.fromkeys(accounts, UNITS))
    close_connection()
    return Floor([market.pk for market in markets], members)


Fault = Callable[[], None]


def schedule(
    seconds: float, web: Web, sessions: Sessions, dice: random.Random
) -> list[tuple[float, Fault]]:
    """What is broken, and how many seconds after the beginning."""

    def at_random(every: float, fault: Fault) -> list[tuple[float, Fault]]:
        return [
            (dice.uniform(0, seconds), fault) for _ in range(round(seconds / every))
        ]

    crashes: list[tuple[float, Fault]] = [
        (seconds * n / (CRASHES + 1), sessions.kill_one) for n in range(1, CRASHES + 1)
    ]
    faults = at_random(WORKER_EVERY, web.kill_worker)
    faults += at_random(SESSION_EVERY, sessions.end_one)
    return sorted(faults + crashes, key=lambda fault: fault[0])


async def break_in_time(seconds: float, faults: list[tuple[float, Fault]]) -> None:
    """Cause the faults, one after the other, at their times, for so many seconds."""
    began = time.monotonic()
    for at, fault in faults:
        await asyncio.sleep(began + at - time.monotonic())
        await asyncio.to_thread(fault)
    await asyncio.sleep(began + seconds - time.monotonic())


async def break_after(traders: list[Trader], intentions: int, fault: Fault) -> None:
    """Cause the fault once the traders have sent this many requests."""
    while len(all_of(traders)) < intentions:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(fault)


async def run_traders(
    traders: list[Trader], breaking: Coroutine[Any, Any, None]
) -> None:
    """Run the traders while faults happen."""
    async with asyncio.TaskGroup() as group:
        broken = group.create_task(breaking)
        for trader in traders:
            group.create_task(trader.run(lambda: not broken.done()))


def storm(seconds: float, workers: int, tokens: int, seed: int) -> Report:
    began = time.monotonic()
    dice = random.Random(seed)
    with breakable_installation() as (processes, _):
        from tests.chaos.trading_findings import examine, judge, totals

        floor = open_floor(tokens, CLIENTS)
        other_floor = open_floor(CONTROL_TOKENS, CONTROL_CLIENTS)
        before = totals()
        close_connection()

        sessions = Sessions()
        web = Web(processes, workers)
        traders = [
            Trader(web.port, member, floor.tokens, seed + number)
            for number, member in enumerate(floor.members)
        ]
        storm_began = time.monotonic()
        faults = schedule(seconds, web, sessions, dice)
        asyncio.run(run_traders(traders, break_in_time(seconds, faults)))
        storm_seconds = time.monotonic() - storm_began
        web.close()
        with administrator_of(os.environ["DATABASE_OWNER_URL"]) as session:
            sessions.note_deadlocks(session)
        findings = examine(
            all_of(traders), repeats(traders), sessions.deadlocks, floor.accounts
        )
        judge(findings, before)
        close_connection()

        writer = stop_writing()
        control = Web(processes, workers, "tests.chaos.control")
        impatient = [
            Trader(control.port, member, other_floor.tokens, seed + number, 1.0)
            for number, member in enumerate(other_floor.members)
        ]
        crash = break_after(impatient, CONTROL_INTENTIONS, writer.kill)
        asyncio.run(run_traders(impatient, crash))
        control.close()
        # The traders may have given up before the server has recovered.
        until(is_accepting)
        return Report(
            findings=findings,
            repeated=dict(repeats(traders).most_common()),
            longest=max(trader.longest for trader in traders),
            workers_killed=web.killed_workers,
            sessions_ended=sessions.ended,
            crashes=sessions.killed,
            storm_seconds=storm_seconds,
            control=examine(
                all_of(impatient), repeats(impatient), 0, other_floor.accounts
            ),
            seconds=time.monotonic() - began,
        )


def all_of(traders: list[Trader]) -> list[Intention]:
    return [intention for trader in traders for intention in trader.intentions]


def repeats(traders: list[Trader]) -> Counter[str]:
    return sum((trader.repeated for trader in traders), Counter[str]())


def is_accepting() -> bool:
    from django.db import OperationalError, connection

    try:
        connection.ensure_connection()
    except OperationalError:
        return False
    return True


def stop_writing() -> psutil.Process:
    """Make the server answer before a commit is written; return the writing process.

    When that process is killed, the server forgets these commits, and recovers.
    """
    with administrator_of(os.environ["DATABASE_OWNER_URL"]) as session:
        session.execute("ALTER SYSTEM SET synchronous_commit = off")
        session.execute("SELECT pg_reload_conf()")
        row = session.execute(WRITER).fetchone()
    assert row is not None
    writer = psutil.Process(row[0])
    writer.suspend()
    return writer


def show(report: Report) -> None:
    found, control = report.findings, report.control
    table = Table("", "", title=f"{CLIENTS} traders, {report.storm_seconds:.0f} s")
    for name, value in {
        "requests / orders / trades": f"{found.intentions:,} / {found.orders:,} / "
        f"{found.trades:,}",
        "orders twice": found.twice,
        "orders lost": found.lost,
        "keys with two answers": found.with_two_answers,
        "answers that are not so any more": found.other_than_answered,
        "never answered": found.unanswered,
        "deadlocks": found.deadlocks,
        "internal errors answered": found.internal_errors,
        "totals that changed": found.changed_totals or 0,
        "rules broken": found.broken_rules or 0,
        "the longest wait for an answer": f"{report.longest:.1f} s",
        "workers killed": report.workers_killed,
        "sessions ended / killed": f"{report.sessions_ended} / {report.crashes}",
        "sent again after": listed(report.repeated),
        "refused for good": listed(found.codes),
        "the control": f"{control.twice} twice, {control.lost} lost of "
        f"{control.orders:,} orders",
        "all took": f"{report.seconds:.0f} s",
    }.items():
        table.add_row(name, str(value))
    Console().print(table)


def listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{many} × {name}" for name, many in counts.items()) or "nothing"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.trading",
        description="Lets traders place, amend and cancel orders over HTTP while "
        "servers are killed, and examines what has happened.",
        epilog="Example: python -m tests.chaos.trading --seconds 5",
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of it (60)")
    parser.add_argument("--workers", type=int, default=4, help="web workers (4)")
    parser.add_argument(
        "--tokens", type=int, default=TOKENS, help="on one, orders go in groups (8)"
    )
    parser.add_argument("--seed", type=int, default=7, help="who does what (7)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    random.seed(options.seed)
    report = storm(options.seconds, options.workers, options.tokens, options.seed)
    broken = report.findings.broken or "the control did no harm"
    wrong = "" if report.passed else f"not as promised: {broken}"
    end(report, options.json, show, wrong)


if __name__ == "__main__":
    with yardstick():
        main()
