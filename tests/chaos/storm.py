"""A storm of repeated mutations over servers that are killed.

Run it with `python -m tests.chaos.storm`; `--scale 0.1` makes a tenth of it. It ends
with exit code 1 when a mutation happened twice, was lost, or was answered in two ways.
"""

import argparse
import asyncio
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.chaos.clients import CLIENTS, Clients, make_chains
from tests.chaos.ending import end
from tests.chaos.findings import Findings, examine
from tests.chaos.installation import Database, Web, breakable_installation

KEYS = 5_000
KEYS_OF_AN_ACCOUNT = 10
COPIES = 20
KILLED_WORKERS = 200
CONTROL_SHARE = 0.1
SMALLEST_CONTROL = 20
LEAST_DOUBLED = 0.01

Fault = Callable[[], None]
console = Console(stderr=True)


@dataclass
class Report:
    """What was done, what was found, what the control did; `seconds` in all."""

    requests: int
    findings: Findings
    repeated: dict[str, int]
    killed_workers: int
    killed_masters: int
    database_restarts: int
    storm_seconds: float
    control_keys: int
    control_doubled: int
    control_twice_in_history: int
    seconds: float = 0

    @property
    def passed(self) -> bool:
        doubled = self.control_doubled / self.control_keys
        return not self.findings.broken and doubled >= LEAST_DOUBLED


def schedule(total: int, scale: float, web: Web, database: Database) -> list:
    """After how many answers what is broken, in order."""
    kills = math.ceil(KILLED_WORKERS * scale)
    faults = [(total * n // (kills + 1), web.kill_worker) for n in range(1, kills + 1)]
    faults += [(total // 3, web.kill_master), (total * 2 // 3, database.restart)]
    return sorted(faults, key=lambda fault: fault[0])


async def run_clients(
    clients: Clients, faults: list[tuple[int, Fault]], name: str
) -> None:
    """Run the clients to the end while faults happen, one after the other."""
    due: asyncio.Queue[Fault] = asyncio.Queue()
    waiting = faults.copy()
    with Progress(console=console) as progress:
        task = progress.add_task(name, total=clients.total)

        def after_each() -> None:
            while waiting and clients.answered >= waiting[0][0]:
                due.put_nowait(waiting.pop(0)[1])
            progress.advance(task)

        async def break_things() -> None:
            for _ in faults:
                fault = await due.get()
                await asyncio.to_thread(fault)

        async with asyncio.TaskGroup() as group:
            group.create_task(break_things())
            group.create_task(clients.run(after_each))


def storm(scale: float, workers: int) -> Report:
    began = time.monotonic()
    with breakable_installation() as (processes, database):
        from tests.chaos.population import make_accounts

        length = KEYS_OF_AN_ACCOUNT
        keys = max(length, round(KEYS * scale))
        chains = make_chains(*make_accounts(keys // length), length)
        web = Web(processes, workers)
        clients = Clients(web.port, chains, COPIES)
        faults = schedule(clients.total, scale, web, database)
        storm_began = time.monotonic()
        asyncio.run(run_clients(clients, faults, "storm"))
        storm_seconds = time.monotonic() - storm_began
        findings = examine(chains)

        control_keys = max(SMALLEST_CONTROL, round(keys * CONTROL_SHARE))
        chains = make_chains(*make_accounts(control_keys // length), length)
        control = Web(processes, workers, "tests.chaos.control")
        controlled = Clients(control.port, chains, COPIES)
        asyncio.run(run_clients(controlled, [], "control"))
        control_findings = examine(chains)
        web.close()
        control.close()
        return Report(
            requests=clients.total,
            findings=findings,
            repeated=dict(clients.repeated),
            killed_workers=web.killed_workers,
            killed_masters=web.killed_masters,
            database_restarts=database.restarts,
            storm_seconds=storm_seconds,
            control_keys=control_keys,
            # Each time that a key is carried out has an answer of its own.
            control_doubled=control_findings.with_two_answers,
            control_twice_in_history=control_findings.twice,
            seconds=time.monotonic() - began,
        )


def show(report: Report) -> None:
    found = report.findings
    table = Table("", "", title=f"{report.requests:,} requests of {CLIENTS} clients")
    repeated = ", ".join(f"{n} × {name}" for name, n in report.repeated.items())
    share = report.control_doubled / report.control_keys
    for name, value in {
        "distinct keys / rows / answers kept": f"{found.keys:,} / {found.rows:,} / "
        f"{found.kept:,}",
        "happened twice": found.twice,
        "lost": found.lost,
        "keys with two answers": found.with_two_answers,
        "rows out of order": found.out_of_order,
        "answers that differ from their row": found.other_than_answered,
        "workers killed": report.killed_workers,
        "masters killed": report.killed_masters,
        "restarts of PostgreSQL": report.database_restarts,
        "sent again after": repeated or "nothing",
        "the storm took": f"{report.storm_seconds:.0f} s",
        "all took": f"{report.seconds:.0f} s",
        "the control doubled": f"{report.control_doubled} of {report.control_keys} "
        f"({share:.1%}), {report.control_twice_in_history} of them in the history",
    }.items():
        table.add_row(name, str(value))
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.storm",
        description=f"Sends {KEYS * COPIES:,} mutations over {KEYS:,} keys while "
        "servers are killed, and examines what has happened.",
        epilog="Example: python -m tests.chaos.storm --scale 0.1",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of it (1.0)")
    parser.add_argument("--workers", type=int, default=4, help="web workers (4)")
    parser.add_argument("--seed", type=int, default=7, help="which workers die (7)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    random.seed(options.seed)
    report = storm(options.scale, options.workers)
    broken = report.findings.broken or "the control did no harm"
    wrong = "" if report.passed else f"not as promised: {broken}"
    end(report, options.json, show, wrong)


if __name__ == "__main__":
    with yardstick():
        main()
