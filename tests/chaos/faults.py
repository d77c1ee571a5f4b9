"""What `doctor` reports for each planted fault, and how much processes log meanwhile.

Run it with `python -m tests.chaos.faults --seconds 20`. An installation as production
has it runs all its parts, and four clients read and change accounts, five times a
second together. One fault after the other is planted, lasts and is mended. It ends with
exit code 1 where one is not named with its remedy, where `doctor` ends with 0, where a
part logs more than 1,000 bytes a second beyond the line of each request that is
answered, or where all is not well again afterwards.
"""

import argparse
import http.client
import os
import secrets
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import django

from tests.chaos.asking import READ, Asking, post
from tests.chaos.clients import CHANGE
from tests.chaos.ending import end

CLIENTS = 4
PAUSE_SECONDS = 0.8
"""Between two requests of a client."""
MOST_BYTES = 1_000
"""That a part may log a second."""
REQUEST = b'"event":"request"'


@dataclass
class Outcome:
    fault: str
    named: bool
    code: int
    """Of `doctor`."""
    says: list[str]
    log_bytes: dict[str, int]
    """A second, by part, without the lines of requests."""
    request_bytes: int
    starts: dict[str, int]
    """How often parts that had ended were started again."""


@dataclass
class Report:
    well: bool = True
    skipped: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def wrong(self) -> str:
        found = [f"{one.fault} is not named" for one in self.outcomes if not one.named]
        found += [f"{one.fault}: exit 0" for one in self.outcomes if not one.code]
        found += [
            f"{one.fault}: {part} logs {count} bytes a second"
            for one in self.outcomes
            for part, count in one.log_bytes.items()
            if count > MOST_BYTES
        ]
        return "; ".join(found + ([] if self.well else ["not all is well again"]))


class Clients(Asking):
    def __init__(self, port: int, token: str, accounts: list[str]) -> None:
        self.port, self.token = port, token
        super().__init__(partial(self.ask, account) for account in accounts)

    def ask(self, account: str) -> None:
        turn = 0
        while not self.ended.wait(PAUSE_SECONDS):
            turn += 1
            values = {
                "accountID": f"Account|{account}",
                "status": ("SUSPENDED", "ACTIVE")[turn // 2 % 2],
            }
            change = {"query": CHANGE, "variables": {"input": values}}
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            post(client, self.token, (change, {"query": READ})[turn % 2])


def sizes(logs: dict[str, Path]) -> dict[str, int]:
    return {name: log.stat().st_size for name, log in logs.items()}


def written(log: Path, start: int) -> Iterator[bytes]:
    with log.open("rb") as file:
        file.seek(start)
        yield from file


def measure(seconds: float, names: list[str]) -> Report:
    # They need the settings.
    from tests.operations.living import living_installation
    from tests.operations.planted import FAULTS
    from tests.waiting import until

    report = Report()
    with living_installation() as living:
        logs = {name: part.log for name, part in living.parts.items()}
        with Clients(living.port, living.token, living.accounts):
            for name in names:
                fault = FAULTS[name]
                if fault.needs_disk and not living.is_mounted:
                    report.skipped.append(name)
                    continue
                before, begun = sizes(logs), time.monotonic()
                starts = {n: part.starts for n, part in living.parts.items()}
                with fault.plant(living) as told:
                    code, checks = living.doctor(**told or {})
                    time.sleep(max(0.0, begun + seconds - time.monotonic()))
                    lasted = time.monotonic() - begun
                    new = {n: [*written(log, before[n])] for n, log in logs.items()}
                bytes_of = {
                    part: sum(len(line) for line in lines if REQUEST not in line)
                    for part, lines in new.items()
                }
                of_requests = sum(len(line) for line in new["web"] if REQUEST in line)
                report.outcomes.append(
                    Outcome(
                        name,
                        bool(fault.found(checks)),
                        code,
                        [one["check"] for one in checks if one["state"] != "ok"],
                        {n: round(count / lasted) for n, count in bytes_of.items()},
                        round(of_requests / lasted),
                        {
                            n: part.starts - starts[n]
                            for n, part in living.parts.items()
                            if part.starts > starts[n]
                        },
                    )
                )
                sys.stderr.write(f"{report.outcomes[-1]}\n")
                until(lambda: living.doctor()[0] == 0, living.attention, pause=0.5)
    return report


def show(report: Report) -> None:
    sys.stdout.write(f"{len(report.outcomes)} faults, skipped: {report.skipped}\n")
    for one in report.outcomes:
        named = "named" if one.named else "NOT NAMED"
        logged = ", ".join(f"{n} {count}" for n, count in one.log_bytes.items())
        sys.stdout.write(
            f"{one.fault}: {named}, exit {one.code}; bytes a second: {logged}, of "
            f"requests {one.request_bytes}\n"
        )


def main() -> None:
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "partnerapi.settings",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "PARTNER_API_KEY_PEPPER": secrets.token_urlsafe(50),
    }
    django.setup()
    from tests.operations.planted import FAULTS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="of each fault")
    parser.add_argument("--faults", nargs="+", default=[*FAULTS], choices=[*FAULTS])
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    report = measure(options.seconds, options.faults)
    end(report, options.json, show, report.wrong)


if __name__ == "__main__":
    main()
