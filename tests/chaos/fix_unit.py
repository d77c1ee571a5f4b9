"""FIX sessions within the limits of the unit that is shipped.

Run it with `python -m tests.chaos.fix_unit`, as root: it makes a control group with the
TasksMax and MemoryMax of partnerapi-fix.service, and starts an acceptor in it with the
unit's LimitNOFILE. As many sessions as FIX_SESSIONS allows by default log on at once,
over TLS, and follow a book each. It ends with exit code 1 when one is not served, or
when the acceptor needs more than half of what the unit gives it.
"""

import argparse
import contextlib
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from tests.chaos.units import unit
from tests.installation import throw_away_installation

SESSIONS = 1_000
ROOTS = {
    "pids": Path("/sys/fs/cgroup/pids"),
    "memory": Path("/sys/fs/cgroup/memory"),
}
UNIFIED = Path("/sys/fs/cgroup")
BOOKS = 20
AT_ONCE = 16
"""Threads that log on."""
HOLD_SECONDS = 45.0
SIZES = {"K": 2**10, "M": 2**20, "G": 2**30}
MOST_SHARE = 0.5


@dataclass
class Limits:
    """What the unit allows: tasks, bytes, and open files."""

    tasks: int
    memory: int
    files: int


def shipped() -> Limits:
    service = unit("partnerapi-fix.service")["Service"]
    size = service["MemoryMax"]
    memory = int(size[:-1]) * SIZES[size[-1]]
    return Limits(int(service["TasksMax"]), memory, int(service["LimitNOFILE"]))


@dataclass
class Confined:
    """A control group with limits, of version 1 or 2 of the kernel's."""

    limits: Limits
    places: list[Path] = field(default_factory=list)

    def make(self) -> None:
        name = f"partnerapi-fix-{os.getpid()}"
        if (UNIFIED / "cgroup.controllers").exists():
            place = UNIFIED / name
            place.mkdir()
            (place / "pids.max").write_text(str(self.limits.tasks))
            (place / "memory.max").write_text(str(self.limits.memory))
            self.places = [place]
            return
        self.places = [root / name for root in ROOTS.values()]
        for place in self.places:
            place.mkdir()
        pids, memory = self.places
        (pids / "pids.max").write_text(str(self.limits.tasks))
        (memory / "memory.limit_in_bytes").write_text(str(self.limits.memory))

    def enter(self) -> None:
        """Have the calling process, and those that it starts, keep to the limits."""
        for place in self.places:
            (place / "cgroup.procs").write_text(str(os.getpid()))
        # Without systemd's rights, no more than this process may open.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = min(self.limits.files, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    def most_memory(self) -> int:
        """Bytes, at the most so far."""
        place = self.places[-1]
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            if (place / name).exists():
                return int((place / name).read_text())
        return int((place / "memory.current").read_text())

    def remove(self) -> None:
        for place in self.places:
            place.rmdir()


@contextlib.contextmanager
def confined(limits: Limits) -> Iterator[Confined]:
    group = Confined(limits)
    group.make()
    try:
        yield group
    finally:
        group.remove()


@dataclass
class Outcome:
    """How many sessions logged on, how many were answered in the end, and the most
    that the acceptor needed."""

    served: int = 0
    seconds: float = 0
    kept: int = 0
    tasks: int = 0
    files: int = 0
    memory: int = 0


def hold(sessions: int, group: Confined, directory: Path) -> Outcome:
    """Log all sessions on, and keep them for a while."""
    from django.conf import settings

    from marketdata.fix.client.client import Client
    from marketdata.fix.client.health import own_certificate
    from marketdata.fix.client.initiator import FixFailure
    from tests.marketdata.fix.acceptor_process import running_acceptor
    from tests.marketdata.fix.certificates import new_certificate
    from tests.marketdata.fix.market import new_member, new_token

    symbols = [new_token(f"TKN{number}").symbol for number in range(BOOKS)]
    members = [new_member(number) for number in range(1, sessions + 1)]
    certificate, key = new_certificate(directory)
    environment = {
        "FIX_SESSIONS": str(sessions),
        "FIX_CONNECTIONS_PER_ADDRESS": str(sessions + 20),
        "FIX_COMP_ID": settings.FIX_COMP_ID,
        "FIX_TLS_CERTIFICATE": str(certificate),
        "FIX_TLS_KEY": str(key),
    }
    outcome = Outcome()
    log, trust = directory / "acceptor.log", own_certificate(str(certificate))
    with running_acceptor(log, members, trust, group.enter, **environment) as acceptor:
        process = psutil.Process(acceptor.process.pid)

        def log_on(number: int) -> Client | None:
            client = acceptor.client(number, heartbeat=60)
            try:
                client.logon()
                client.snapshots([symbols[number % len(symbols)]])
            except FixFailure:
                return None
            return client

        began = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            clients = [one for one in pool.map(log_on, range(sessions)) if one]
        outcome.served = len(clients)
        outcome.seconds = time.monotonic() - began
        until = time.monotonic() + HOLD_SECONDS
        while time.monotonic() < until:
            for client in clients:
                client.receive(0.001)
            outcome.tasks = max(outcome.tasks, process.num_threads())
        outcome.files = process.num_fds()
        outcome.memory = group.most_memory()
        for client in clients:
            with contextlib.suppress(FixFailure):
                outcome.kept += len(client.instruments()) == BOOKS
                client.close()
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.fix_unit",
        description="Holds FIX sessions within the limits of the shipped unit.",
    )
    parser.add_argument(
        "--sessions", type=int, default=SESSIONS, help=f"how many ({SESSIONS})"
    )
    options = parser.parse_args()
    limits = shipped()
    with (
        tempfile.TemporaryDirectory() as directory,
        throw_away_installation(),
        confined(limits) as group,
    ):
        outcome = hold(options.sessions, group, Path(directory))
    table = Table("what", "the unit allows", "the most that was needed")
    table.add_row("tasks", f"{limits.tasks:,}", f"{outcome.tasks:,}")
    table.add_row("open files", f"{limits.files:,}", f"{outcome.files:,}")
    needed = f"{outcome.memory / 2**20:,.0f} MB"
    table.add_row("memory", f"{limits.memory / 2**20:,.0f} MB", needed)
    logged_on = f"{outcome.served:,} in {outcome.seconds:.0f} s"
    table.add_row("sessions logged on", f"{options.sessions:,}", logged_on)
    table.add_row(f"after {HOLD_SECONDS:.0f} s", "", f"{outcome.kept:,}")
    Console().print(table)
    fits = (
        outcome.tasks <= MOST_SHARE * limits.tasks
        and outcome.files <= MOST_SHARE * limits.files
        and outcome.memory <= MOST_SHARE * limits.memory
    )
    if not fits or outcome.kept < options.sessions:
        sys.exit("the unit does not hold so many sessions")


if __name__ == "__main__":
    main()
