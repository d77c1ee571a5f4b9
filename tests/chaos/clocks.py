"""The market clock, killed while markets change phase, without Valkey and workers.

Run it with `python -m tests.chaos.clocks --kills 60`. Three clocks run; no beat and no
worker does, and Valkey gets SIGKILL first. In each round all markets change phase at
one instant: by turns their sessions end and the next ones begin two seconds later, or
their calls end in auctions of two transactions. The clock that works gets SIGKILL some
milliseconds after that instant, later and later, and another is started. Clients send
orders to half of the markets all the time, and one reads what the API says of all. It
ends with exit code 1 where a phase came twice, never or in another order, where an
order was accepted outside a session or after the end of a call, where an answer had the
drawn second of that end before its time, or where a rule of `verify market` is broken.
It says how late phases came.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.chaos.asking import Asking
from tests.chaos.ending import end
from tests.chaos.installation import ROOT, breakable_installation, close_connection
from tests.chaos.web import serving
from tests.waiting import until

if TYPE_CHECKING:
    from accounts.accounts.models import Account
    from issuers.models import Token

KILLS, RUNNING = 60, 3
QUIET, BUSY = 2, 2
"""Markets to which no client sends orders, and others."""
FILLS = 510
"""Of an auction of a quiet market: more than one transaction settles."""
CLOSED_SECONDS = 2
KILL_STEP, LATEST_KILL = 0.025, 0.5
"""Seconds between the instants after a change at which clocks die, and the last one."""
READ = """
query ($tokens: [ID!]!) {
  nodes(ids: $tokens) { ... on Token { name market {
    phase phaseSince nextPhase nextPhaseAt indicativePrice } } }
  events(last: 8, types: [MARKET_PHASE_CHANGED]) { nodes { type at callEndedAt } }
}
"""
CLOCKS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'run_market_clock%%'
"""
DAY = """
    UPDATE trading_market SET
        session_opens = ({begins} AT TIME ZONE market_time_zone())::time,
        session_closes = ({ends} AT TIME ZONE market_time_zone())::time,
        next_phase = 'CLOSED', next_phase_at = {ends}, session_ends_at = {ends}
"""
TERMS = """
    UPDATE trading_marketparameters p SET session_opens = m.session_opens,
        session_closes = m.session_closes
    FROM trading_market m WHERE m.token_id = p.token_id
"""
CALL = """
    UPDATE trading_auction SET earliest_at = {earliest}, ends_at = {ends}
    WHERE ended IS NULL
"""
ANNOUNCED = "UPDATE trading_market SET next_phase_at = {earliest}"
PHASES = """
    SELECT phase, at FROM trading_orderevent
    WHERE token_id = %s AND kind = 'PHASE_CHANGED' AND number > %s ORDER BY number
"""
OUTSIDE = """
    SELECT count(*) FROM trading_orderevent e
    CROSS JOIN LATERAL (
        SELECT p.phase, p.number FROM trading_orderevent p
        WHERE p.token_id = e.token_id AND p.kind = 'PHASE_CHANGED'
            AND p.number < e.number ORDER BY p.number DESC LIMIT 1) p
    LEFT JOIN trading_auction a ON a.token_id = e.token_id AND a.began = p.number
    WHERE e.kind = 'ORDER_ACCEPTED'
        AND (p.phase NOT IN ('CALL', 'CONTINUOUS') OR e.at >= a.ends_at)
"""
BETWEEN = """
    SELECT count(*) FROM trading_orderevent
    WHERE kind = 'ORDER_ACCEPTED' AND at >= %s AND at < %s
"""


@dataclass
class Report:
    """`late` has the seconds of the latest change, by what should have begun it."""

    rounds: int = 0
    kills: int = 0
    phases: int = 0
    answers: int = 0
    answers_with_ends: int = 0
    orders: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    late: dict[str, float] = field(default_factory=dict)
    late_median: float = 0.0
    wrong: list[str] = field(default_factory=list)


class Clocks:
    """Processes of `run_market_clock`, of which one works; two may die in a row."""

    def __init__(self) -> None:
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self.killed = 0

    def start(self) -> None:
        command = [sys.executable, str(ROOT / "manage.py"), "run_market_clock"]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        self.running[process.pid] = process

    def are_there(self) -> bool:
        from partnerapi.core.database import value_of

        return bool(self.holder() and value_of(CLOCKS) >= RUNNING)

    def holder(self) -> int | None:
        """The process that has the lease."""
        from django.utils import timezone

        from marketdata.trading.models import ClockLease

        lease = ClockLease.objects.filter(until__gt=timezone.now()).first()
        pid = int(lease.holder.rpartition(":")[2]) if lease else None
        return pid if pid in self.running else None

    def kill_holder(self) -> None:
        pid = until(self.holder)
        assert pid is not None
        process = self.running.pop(pid)
        process.kill()
        process.wait()
        self.killed += 1
        self.start()

    def close(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()


class Floor:
    """Markets, with a buyer and a seller in each, of one partner."""

    def __init__(self) -> None:
        from accounts.access import Scope
        from partnerapi.sandbox.data.approvals import approved_key
        from tests.marketdata.trading.trading import (
            deposit,
            give,
            new_clients,
            new_market,
            new_partner,
        )

        partner = new_partner()
        _, self.key = approved_key(partner, list(Scope))
        self.tokens: list[Token] = [new_market() for _ in range(QUIET + BUSY)]
        self.clients: list[list[Account]] = []
        for token in self.tokens:
            clients = new_clients(2, partner)
            for client in clients:
                deposit(client, 10**9)
            give(token, dict.fromkeys(clients, 10**6))
            self.clients.append(clients)
        self.expected = {token.pk: list[str]() for token in self.tokens}
        self.first = {token.pk: self.last_event(token) for token in self.tokens}

    def last_event(self, token: "Token") -> int:
        from marketdata.trading.models import Market

        return Market.objects.get(token=token).last_event

    def expect(self, *phases: str) -> None:
        for found in self.expected.values():
            found += phases

    def phases(self, token: "Token") -> list[tuple[str, datetime]]:
        from partnerapi.core.database import rows_of

        return list(rows_of(PHASES, [token.pk, self.first[token.pk]]))

    def have_come(self) -> bool:
        """Whether each market has changed phase as often as it should have."""
        return all(
            len(self.phases(token)) >= len(self.expected[token.pk])
            for token in self.tokens
        )

    def begin_calls(self) -> None:
        """Staff begin a call in each market; those that are quiet get their orders."""
        from marketdata.trading.phases import change_phase
        from tests.approved import asker
        from tests.marketdata.trading.trading import buy, place, sell

        for token in self.tokens:
            change_phase(token.pk, "CALL", asker(), "why")
        for token, (buyer, seller) in zip(
            self.tokens[:QUIET], self.clients, strict=False
        ):
            bids = [buy(buyer, 1, 100) for _ in range(FILLS)]
            place(token, *bids, sell(seller, FILLS, 100))


class Clients(Asking):
    """They send orders to the busy markets, and read."""

    def __init__(self, floor: Floor, port: int) -> None:
        self.floor, self.port = floor, port
        self.answers: list[tuple[float, str]] = []
        self.accepted = 0
        self.refused: Counter[str] = Counter()
        busy = range(QUIET, QUIET + BUSY)
        super().__init__([*(partial(self.send, n) for n in busy), self.read])

    def send(self, number: int) -> None:
        from django.db import connection

        from marketdata.trading.market import Placed
        from partnerapi.core.errors import PartnerAPIError
        from tests.marketdata.trading.trading import buy, place, sell

        dice = random.Random(number)  # noqa: S311
        token, (buyer, seller) = self.floor.tokens[number], self.floor.clients[number]
        while not self.ended.wait(0.02):
            units = dice.randint(1, 9)
            bid = buy(buyer, units, dice.randint(99, 101))
            offer = sell(seller, units, dice.randint(99, 101))
            try:
                results = place(token, bid, offer)
            except PartnerAPIError as refusal:
                self.refused[refusal.code] += 1
                continue
            for result in results:
                if isinstance(result, Placed):
                    self.accepted += 1
                else:
                    self.refused[result.code] += 1
        connection.close()

    def read(self) -> None:
        tokens = [f"Token|{token.pk}" for token in self.floor.tokens]
        body = json.dumps({"query": READ, "variables": {"tokens": tokens}})
        headers = {
            "Content-Type": "application/json",
            "X-Token-Auth": self.floor.key,
        }
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.ended.wait(0.05):
            client.request("POST", "/graphql", body, headers)
            text = client.getresponse().read().decode()
            self.answers.append((time.time(), text))
        client.close()


def literal(at: datetime) -> str:
    return f"'{at.isoformat()}'::timestamptz"


def second_after(seconds: float) -> datetime:
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    return at.replace(microsecond=0)


class Rounds:
    """Changes of phase of all markets, and what was late or wrong."""

    def __init__(self, floor: Floor, clocks: Clocks) -> None:
        self.floor, self.clocks = floor, clocks
        self.late: dict[str, list[float]] = {}
        self.drawn: list[datetime] = []
        self.closed: list[tuple[datetime, datetime]] = []

    def end_session(self, kill_after: float) -> None:
        from tests.owner import tamper

        ends = second_after(2)
        begins = ends + timedelta(seconds=CLOSED_SECONDS)
        of = {"begins": literal(begins), "ends": literal(ends)}
        tamper(DAY.format(**of), TERMS)
        self.closed.append((ends, begins))
        self.floor.expect("CLOSED", "CONTINUOUS")
        for at in (ends, begins):
            self.kill_at(at, kill_after)
        self.settle(CLOSED=ends, CONTINUOUS=begins)

    def end_calls(self, kill_after: float, dice: random.Random) -> None:
        from tests.owner import tamper

        self.floor.begin_calls()
        earliest = second_after(2)
        # A digit other than 0 ends it, so that any text of it begins in the same way.
        drawn = timedelta(milliseconds=10 * dice.randint(10, 90) + dice.randint(1, 9))
        ends = earliest + drawn
        of = {"earliest": literal(earliest), "ends": literal(ends)}
        tamper(CALL.format(**of), ANNOUNCED.format(**of))
        self.drawn.append(ends)
        self.floor.expect("CALL", "CONTINUOUS")
        self.kill_at(ends, kill_after)
        self.settle(AUCTION=ends)

    def kill_at(self, at: datetime, seconds: float) -> None:
        time.sleep(max(0.0, at.timestamp() + seconds - time.time()))
        self.clocks.kill_holder()

    def settle(self, **due: datetime) -> None:
        """Wait for the phases, and note how late each came."""
        until(self.floor.have_come, lambda: self.floor.expected, pause=0.05)
        for token in self.floor.tokens:
            last = self.floor.phases(token)[-len(due) :]
            for (name, at), (_, came) in zip(due.items(), last, strict=True):
                self.late.setdefault(name, []).append((came - at).total_seconds())
        until(self.clocks.are_there, pause=0.05)


def judge(rounds: Rounds, clients: Clients, report: Report) -> None:
    from marketdata.trading.verification import verify
    from partnerapi.core.database import value_of

    floor = rounds.floor
    for token in floor.tokens:
        found = [phase for phase, _ in floor.phases(token)]
        report.phases += len(found)
        if found != floor.expected[token.pk]:
            report.wrong.append(f"the phases of {token.name} were {found}")
    outside = value_of(OUTSIDE, [])
    outside += sum(value_of(BETWEEN, [*span]) for span in rounds.closed)
    if outside:
        report.wrong.append(f"{outside} orders were accepted outside of their phase")
    for ends in rounds.drawn:
        text = f"{ends:%H:%M:%S}.{ends.microsecond // 1000:03d}"
        for received, answer in clients.answers:
            if text in answer and received < ends.timestamp():
                report.wrong.append(f"an answer had {text} before its time")
            report.answers_with_ends += text in answer
    if rounds.drawn and not report.answers_with_ends:
        report.wrong.append("no answer ever had the end of a call")
    report.wrong += [f"{f.rule}: {f.breaches}" for f in verify() if f.breaches]


@contextmanager
def running_clocks() -> Iterator[Clocks]:
    clocks = Clocks()
    try:
        for _ in range(RUNNING):
            clocks.start()
        until(clocks.are_there, pause=0.05)
        yield clocks
    finally:
        clocks.close()


def measure(kills: int, seed: int) -> Report:
    report, dice = Report(), random.Random(seed)  # noqa: S311
    with ExitStack() as stack:
        processes, database = stack.enter_context(breakable_installation())
        from django.db import connections

        from partnerapi.core.owner import owner_alias
        from tests.owner import allow_tampering

        allow_tampering(connections[owner_alias()])
        floor = Floor()
        close_connection()
        port = stack.enter_context(serving(database.directory / "web.log", {}))
        [valkey] = [p for p in processes.running if p.name == "valkey"]
        valkey.popen.kill()
        clocks = stack.enter_context(running_clocks())
        clients = stack.enter_context(Clients(floor, port))
        rounds = Rounds(floor, clocks)
        delays = [KILL_STEP * n for n in range(round(LATEST_KILL / KILL_STEP) + 1)]
        # A shorter run has as early and as late ones.
        step = max(1, len(delays) * 3 // (2 * kills))
        delays = delays[::step]
        while clocks.killed < kills:
            delay = delays[report.rounds // 2 % len(delays)]
            if report.rounds % 2:
                rounds.end_calls(delay, dice)
            else:
                rounds.end_session(delay)
            report.rounds += 1
        clients.ended.set()
        for thread in clients.threads:
            thread.join()
        judge(rounds, clients, report)
        close_connection()
    report.kills = clocks.killed
    report.answers, report.orders = len(clients.answers), clients.accepted
    report.refused = dict(clients.refused)
    report.late = {name: round(max(late), 3) for name, late in rounds.late.items()}
    every = sorted(late for found in rounds.late.values() for late in found)
    report.late_median = round(every[len(every) // 2], 3)
    return report


def show(report: Report) -> None:
    table = Table("", "", title=f"{report.kills} clocks killed")
    lines: dict[str, Any] = {
        "rounds / changes of phase": f"{report.rounds} / {report.phases}",
        "orders accepted": report.orders,
        "refused": report.refused,
        "answers read / with the end of a call": f"{report.answers} / "
        f"{report.answers_with_ends}",
        "the latest, s": report.late,
        "the median, s": report.late_median,
    }
    for name, value in lines.items():
        table.add_row(name, str(value))
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.clocks",
        description="Kills market clocks while markets change phase, and examines what "
        "has happened.",
        epilog="Example: python -m tests.chaos.clocks --kills 6",
    )
    parser.add_argument("--kills", type=int, default=KILLS, help="of clocks (60)")
    parser.add_argument("--seed", type=int, default=7, help="which seconds (7)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    report = measure(options.kills, options.seed)
    end(report, options.json, show, "; ".join(report.wrong))


if __name__ == "__main__":
    with yardstick():
        os.environ.setdefault("LOG_LEVEL", "CRITICAL")
        main()
