"""Traders whose documents cross two markets, and whose keys two servers get at once.

Run it with `python -m tests.chaos.crossing`; `--documents 300` is a short form. First
sixteen clients of two partners place, amend and cancel orders on two markets; a fifth
of their documents cancels on both. Then eight clients send each request to two web
servers at once, while workers get SIGKILL. It ends with exit code 1 when an order is
there twice or lost, when a total of cash or units has changed, when a rule of `verify
market`, `verify cash` or `verify register` is broken, when PostgreSQL met a deadlock,
or when an internal error was answered.
"""

import argparse
import asyncio
import os
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.administration import administrator_of
from tests.benchmarks.yardstick import yardstick
from tests.chaos.clients import Connection
from tests.chaos.ending import end
from tests.chaos.installation import Web, breakable_installation, close_connection
from tests.chaos.traders import Intention, Member, Trader
from tests.chaos.trading import Floor, Sessions, all_of, open_floor, repeats

if TYPE_CHECKING:
    from tests.chaos.trading_findings import Findings

DOCUMENTS_OF_EACH = 2_000
PARTNERS, TOKENS = 2, 2
CALLERS, CALLERS_OF_TWO = 16, 8
KILLS = 30
SWEEPS = 0.2
"""The share of documents that cancel on every market."""


class Sweeper(Trader):
    """It often cancels its orders on both markets in one document."""

    def intend(self) -> Intention:
        if self.dice.random() < SWEEPS:
            mine = {"accountID": f"Account|{self.member.account}"}
            return self.intention("cancelOrders", self.dice.choice([{}, mine]))
        return super().intend()


@dataclass
class Part:
    """What came of one part; `documents` were answered in `seconds`."""

    findings: "Findings"
    documents: int
    repeated: dict[str, int]
    kills: int
    seconds: float


@dataclass
class Report:
    two_markets: Part
    two_servers: Part

    @property
    def broken(self) -> dict[str, object]:
        return self.two_markets.findings.broken | self.two_servers.findings.broken


async def trade(
    traders: list[Trader], documents: int, webs: list[Web], kills: int
) -> None:
    """Until so many documents were sent; workers die evenly among them."""

    def sent() -> int:
        return sum(len(trader.intentions) for trader in traders)

    async def kill() -> None:
        for number in range(1, kills + 1):
            while sent() < documents * number // (kills + 1):
                await asyncio.sleep(0.01)
            await asyncio.to_thread(webs[number % len(webs)].kill_worker)

    async with asyncio.TaskGroup() as group:
        group.create_task(kill())
        for trader in traders:
            group.create_task(trader.run(lambda: sent() < documents))


def part(
    processes: Any, floor: Floor, servers: int, documents: int, kills: int, seed: int
) -> Part:
    from tests.chaos.trading_findings import examine, judge, totals

    before = totals()
    close_connection()
    sessions = Sessions()
    webs = [Web(processes, 1) for _ in range(servers)]
    traders = [trader_of(webs, m, floor, seed + n) for n, m in enumerate(floor.members)]
    began = time.monotonic()
    asyncio.run(trade(traders, documents, webs, kills))
    seconds = time.monotonic() - began
    for web in webs:
        web.close()
    with administrator_of(os.environ["DATABASE_OWNER_URL"]) as session:
        sessions.note_deadlocks(session)
    findings = examine(
        all_of(traders), repeats(traders), sessions.deadlocks, floor.accounts
    )
    judge(findings, before)
    close_connection()
    killed = sum(web.killed_workers for web in webs)
    repeated = dict(repeats(traders).most_common())
    return Part(findings, len(all_of(traders)), repeated, killed, seconds)


def trader_of(webs: list[Web], member: Member, floor: Floor, seed: int) -> Trader:
    if len(webs) == 1:
        return Sweeper(webs[0].port, member, floor.tokens, seed)
    trader = Sweeper(webs[0].port, member, floor.tokens, seed, impatient=1.0)
    trader.connections = [Connection(web.port) for web in webs]
    return trader


def storm(documents: int, seed: int) -> Report:
    with breakable_installation() as (processes, _):
        floors = [
            open_floor(TOKENS, callers, PARTNERS)
            for callers in (CALLERS, CALLERS_OF_TWO)
        ]
        return Report(
            part(processes, floors[0], 1, documents, 0, seed),
            part(processes, floors[1], 2, documents, KILLS, seed),
        )


def show(report: Report) -> None:
    table = Table("", "two markets a document", "two servers a key")
    parts = (report.two_markets, report.two_servers)
    rows = {
        "documents": [f"{p.documents:,}" for p in parts],
        "orders": [f"{p.findings.orders:,}" for p in parts],
        "trades": [f"{p.findings.trades:,}" for p in parts],
        "orders twice": [str(p.findings.twice) for p in parts],
        "orders lost": [str(p.findings.lost) for p in parts],
        "deadlocks": [str(p.findings.deadlocks) for p in parts],
        "workers killed": [str(p.kills) for p in parts],
        "promises broken": [str(p.findings.broken or 0) for p in parts],
        "refused for good": [str(p.findings.codes) for p in parts],
        "sent more than once after": [str(p.repeated) for p in parts],
        "took": [f"{p.seconds:.0f} s" for p in parts],
    }
    for name, values in rows.items():
        table.add_row(name, *values)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.crossing",
        description="Lets traders cancel on two markets a document, and send each key "
        "to two servers that are killed, and examines what has happened.",
        epilog="Example: python -m tests.chaos.crossing --documents 300",
    )
    parser.add_argument(
        "--documents", type=int, default=DOCUMENTS_OF_EACH, help="of each part (2,000)"
    )
    parser.add_argument("--seed", type=int, default=7, help="who does what (7)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    random.seed(options.seed)
    report = storm(options.documents, options.seed)
    wrong = f"not as promised: {report.broken}" if report.broken else ""
    end(report, options.json, show, wrong)


if __name__ == "__main__":
    with yardstick():
        main()
