"""Crashes of PostgreSQL while mutations run: acknowledged effects must survive.

Run it with `python -m tests.chaos.crashes`. It ends with exit code 1 when an effect
that someone was answered is missing after a crash, or happened twice.
"""

import argparse
import asyncio
import random
import signal
import time
from dataclasses import dataclass

from rich.console import Console

from tests.benchmarks.yardstick import yardstick
from tests.chaos.clients import Clients, make_chains
from tests.chaos.ending import end
from tests.chaos.findings import Findings, examine, missing_effects
from tests.chaos.installation import Web, breakable_installation
from tests.chaos.storm import run_clients

CRASHES = 20
KEYS_OF_AN_ACCOUNT = 5
KEYS_PER_CRASH = 100
COPIES = 2
SIGNALS = (signal.SIGQUIT, signal.SIGKILL)


@dataclass
class Report:
    """`missing`: effects that were answered and are not there after a crash.

    `acknowledged` counts those that were looked for, after each crash anew.
    """

    crashes: int
    acknowledged: int
    missing: int
    findings: Findings
    repeated: dict[str, int]
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.missing and not self.findings.broken


def crash(times: int, workers: int) -> Report:
    began = time.monotonic()
    with breakable_installation() as (processes, database):
        from tests.chaos.population import make_accounts

        count = times * KEYS_PER_CRASH // KEYS_OF_AN_ACCOUNT
        chains = make_chains(*make_accounts(count), KEYS_OF_AN_ACCOUNT)
        web = Web(processes, workers)
        clients = Clients(web.port, chains, COPIES)
        acknowledged = 0
        missing: set[str] = set()

        def crash_once() -> None:
            nonlocal acknowledged
            database.restart(SIGNALS[database.restarts % len(SIGNALS)])
            answered = clients.acknowledged
            acknowledged += len(answered)
            missing.update(missing_effects(answered))

        faults = [
            (clients.total * number // (times + 1), crash_once)
            for number in range(1, times + 1)
        ]
        asyncio.run(run_clients(clients, faults, "crashes"))
        web.close()
        return Report(
            crashes=database.restarts,
            acknowledged=acknowledged,
            missing=len(missing),
            findings=examine(chains),
            repeated=dict(clients.repeated),
            seconds=time.monotonic() - began,
        )


def show(report: Report) -> None:
    Console().print(
        f"{report.crashes} crashes in {report.seconds:.0f} s; after them "
        f"{report.missing} of {report.acknowledged:,} acknowledged effects were "
        f"missing; {report.findings.keys:,} keys made {report.findings.rows:,} "
        f"rows; sent again after {report.repeated}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.crashes",
        description="Crashes PostgreSQL, by immediate shutdown and by SIGKILL in turn, "
        "while clients send mutations; looks for every effect that was answered.",
        epilog="Example: python -m tests.chaos.crashes --crashes 4",
    )
    parser.add_argument("--crashes", type=int, default=CRASHES, help="how many (20)")
    parser.add_argument("--workers", type=int, default=4, help="web workers (4)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    random.seed(7)
    report = crash(options.crashes, options.workers)
    broken = f"not as promised: {report.missing} missing, {report.findings.broken}"
    end(report, options.json, show, "" if report.passed else broken)


if __name__ == "__main__":
    with yardstick():
        main()
