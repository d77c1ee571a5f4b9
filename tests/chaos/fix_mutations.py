"""Mutated messages against the FIX acceptor, before a Logon and within sessions.

Run it with `python -m tests.chaos.fix_mutations --messages 100000`. Two acceptors, one
with TLS, are sent what no engine sends, while other sessions follow books that change
ten times a second. It ends with exit code 1 when an acceptor crashes, grows, says a
word of a book before a Logon or of a key anywhere, or the other sessions notice it;
with --busy they may notice pauses, which a machine that does other things makes, too.

Before, --parsed messages go through what the acceptor lets pass to a session of
QuickFIX's, without a connection. None may end the process, or disturb another session
of it.

All attackers have one address and fail often: FIX_CONNECTIONS_PER_ADDRESS and
FIX_FAILED_LOGONS_PER_MINUTE are raised for it, all other limits are as usual.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.chaos.fix_acceptors import AcceptorProcess, Size
from tests.chaos.fix_attackers import Attack, Target, attack
from tests.chaos.fix_histories import new_seats
from tests.chaos.fix_parser import Parsed, parse_all
from tests.chaos.fix_player import Seat
from tests.chaos.fix_secrets import leaks
from tests.chaos.fix_witnesses import HEARTBEAT, Calm, Helper, Witnesses
from tests.installation import throw_away_installation
from tests.marketdata.fix.certificates import new_certificate
from tests.system import limited

MESSAGES, PARSED = 100_000, 1_000_000
BOOKS = 5
WITNESSES = 6
ATTACKERS = 2
SEATS_OF_AN_ATTACKER = 16
PLAIN_TARGETS = 4
"""Of five messages so many go to the acceptor without TLS."""
RATE = 400
"""Messages a second, of all attackers: what two cores bear beside those who send it."""
CALM_SECONDS = 5.0
REST_SECONDS = 15.0
"""Until connections without a Logon are cut, and slow ones."""
MOST_MEGABYTES, MOST_MORE = 50, 8
"""Growth that is allowed: memory, and threads or files, of the database's pools."""
COMP_ID = "PARTNERAPI"


@dataclass
class Report:
    """`grown` is what each acceptor held more after the storm than before."""

    messages: int = 0
    parsed: Parsed = field(default_factory=Parsed)
    sent: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    refused_connections: int = 0
    leaks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)
    grown_megabytes: float = 0
    grown_threads: int = 0
    grown_files: int = 0
    calm: Calm | None = None
    storm: Calm | None = None
    seconds: float = 0
    load: float = 0
    busy: bool = False

    @property
    def passed(self) -> bool:
        assert self.storm is not None
        undisturbed = not self.storm.wrong if self.busy else self.storm.is_undisturbed
        return (
            not (self.leaks or self.failures or self.secrets or self.tracebacks)
            and not self.parsed.deaths
            and self.grown_megabytes <= MOST_MEGABYTES
            and self.grown_threads <= MOST_MORE
            and self.grown_files <= MOST_MORE
            and undisturbed
        )


def storm(messages: int, logs: Path, busy: bool, seed: int) -> Report:
    from marketdata.fix.client.health import own_certificate
    from tests.marketdata.fix.market import new_token

    tokens = [new_token(f"TKN{number}") for number in range(BOOKS)]
    ids = {token.symbol: token.pk for token in tokens}
    seats = new_seats(WITNESSES + 2 + ATTACKERS * SEATS_OF_AN_ATTACKER)
    certificate, key = new_certificate(logs)
    common = {
        "FIX_SESSIONS": str(len(seats)),
        "FIX_COMP_ID": COMP_ID,
        "FIX_CONNECTIONS_PER_ADDRESS": "400",
        **limited(FIX_FAILED_LOGONS_PER_MINUTE=1_000_000),
    }
    tls = {"FIX_TLS_CERTIFICATE": str(certificate), "FIX_TLS_KEY": str(key)}
    acceptors = [AcceptorProcess(logs / "plain.log", seats[0], **common)]
    witnesses = None
    try:
        # Its messages are all written down, too: no key may be in them.
        log = logs / "tls.log"
        more = common | tls | {"LOG_LEVEL": "DEBUG"}
        trust = own_certificate(certificate)
        acceptors.append(AcceptorProcess(log, seats[1], trust, **more))
        for acceptor in acceptors:
            acceptor.wait()
        own = seats[2 : 2 + WITNESSES]
        heartbeat = 60 if busy else HEARTBEAT
        witnesses = Witnesses(acceptors[0].port, COMP_ID, own, ids, heartbeat)
        return rage(messages, acceptors, witnesses, seats, busy, seed)
    finally:
        if witnesses:
            witnesses.end()
        for acceptor in acceptors:
            acceptor.process.kill()
            acceptor.process.wait()


def rage(
    messages: int,
    acceptors: list[AcceptorProcess],
    witnesses: Witnesses,
    seats: list[Seat],
    busy: bool,
    seed: int,
) -> Report:
    report = Report(busy=busy)
    time.sleep(CALM_SECONDS)
    # A session that ended early would notice nothing of the storm.
    report.failures += witnesses.look().wrong
    time.sleep(CALM_SECONDS)
    report.calm = witnesses.look()
    report.failures += report.calm.wrong
    before = [acceptor.size() for acceptor in acceptors]
    plain, tls = (
        Target(acceptor.port, COMP_ID, acceptor is acceptors[1], "TKN0")
        for acceptor in acceptors
    )
    began = time.monotonic()
    total = send_all(messages, [plain] * PLAIN_TARGETS + [tls], seats, seed)
    report.seconds = time.monotonic() - began
    report.load = os.getloadavg()[0]
    report.storm = witnesses.look()
    report.messages = total.sent.total()
    report.sent, report.answers = total.sent, total.answers
    report.leaks = total.leaks[:5]
    report.refused_connections = total.refused_connections
    time.sleep(REST_SECONDS)
    deadline = time.monotonic() + 10 * REST_SECONDS
    while busy and holds_more(acceptors, before) and time.monotonic() < deadline:
        time.sleep(1)
    for acceptor, size in zip(acceptors, before, strict=True):
        note_growth(report, size, acceptor.size())
    for acceptor in acceptors:
        try:
            acceptor.wait()
            acceptor.stop()
        except Exception as failure:
            report.failures.append(str(failure))
        report.tracebacks += acceptor.tracebacks()[:3]
    report.secrets = leaks([seat.key for seat in seats], [a.log for a in acceptors])
    return report


def send_all(
    messages: int, targets: list[Target], seats: list[Seat], seed: int
) -> Attack:
    share = (messages // ATTACKERS // 2, messages // ATTACKERS // 2)
    attackers = [
        Helper(
            attack,
            targets,
            seats[len(seats) - (n + 1) * SEATS_OF_AN_ATTACKER :][:SEATS_OF_AN_ATTACKER],
            share,
            RATE / ATTACKERS,
            seed,
        )
        for n in range(ATTACKERS)
    ]
    total = Attack()
    sent = dict.fromkeys(range(ATTACKERS), 0)
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("messages", total=messages)
        left: dict[Any, int] = {one.pipe: n for n, one in enumerate(attackers)}
        while left:
            pipe: Any
            for pipe in wait(list(left)):
                told = pipe.recv()
                if isinstance(told, Attack):
                    total.add(told)
                    del left[pipe]
                else:
                    sent[left[pipe]] = told
                    progress.update(task, completed=sum(sent.values()))
    for attacker in attackers:
        attacker.end()
    return total


def holds_more(acceptors: list[AcceptorProcess], before: list[Size]) -> bool:
    """Whether someone is still to be cut."""
    sizes = [acceptor.size() for acceptor in acceptors]
    return any(
        now.threads - then.threads > MOST_MORE or now.files - then.files > MOST_MORE
        for now, then in zip(sizes, before, strict=True)
    )


def note_growth(report: Report, before: Size, after: Size) -> None:
    report.sizes.append(f"{before} before, {after} after")
    grown = after.megabytes - before.megabytes
    report.grown_megabytes = max(report.grown_megabytes, grown)
    report.grown_threads = max(report.grown_threads, after.threads - before.threads)
    report.grown_files = max(report.grown_files, after.files - before.files)


def described(calm: Calm | None) -> str:
    assert calm is not None
    return (
        f"{calm.longest:.2f} s; {calm.excess:.2f} s without the pauses of the writer "
        f"(up to {calm.longest_commit:.2f} s) and of the machine; Heartbeats within "
        f"{calm.longest_silence:.1f} s; {calm.test_requests} TestRequests for silence"
    )


def show(report: Report) -> None:
    assert report.storm is not None
    table = Table("", "", title=f"{report.messages:,} mutated messages")
    for name, value in {
        "handled without a connection": f"{report.parsed.messages:,}",
        "what came of them": ", ".join(
            f"{n} {c:,}" for n, c in report.parsed.came_of.most_common()
        ),
        "deaths of the process": report.parsed.deaths or 0,
        "books before a Logon": report.leaks or 0,
        "crashes": report.failures or 0,
        "tracebacks": report.tracebacks or 0,
        "places with a key in clear": report.secrets or 0,
        "what was sent": ", ".join(f"{n} {c:,}" for n, c in grouped(report.sent)),
        "what was answered": ", ".join(
            f"{n} {c:,}" for n, c in report.answers.most_common(15)
        ),
        "connections refused": report.refused_connections,
        "live sessions, longest gap of a book, calm": described(report.calm),
        "in the storm": described(report.storm),
        "live sessions that ended": report.storm.wrong or 0,
        "plain acceptor": report.sizes[0],
        "TLS acceptor": report.sizes[1],
        "the storm took": f"{report.seconds:.0f} s, load {report.load:.1f}",
    }.items():
        table.add_row(name, str(value))
    Console().print(table)


def grouped(sent: Counter[str]) -> list[tuple[str, int]]:
    """By when, and the first of the mutations."""
    found: Counter[str] = Counter()
    for name, count in sent.items():
        found[name.partition(",")[0]] += count
    return found.most_common()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.fix_mutations",
        description="Sends the FIX acceptor what no engine sends, and looks whether it "
        "lives, keeps its secrets, and serves the others meanwhile.",
        epilog="Example: python -m tests.chaos.fix_mutations --messages 10000",
    )
    parser.add_argument(
        "--messages", type=int, default=MESSAGES, help=f"how many ({MESSAGES})"
    )
    parser.add_argument(
        "--parsed",
        type=int,
        default=PARSED,
        help=f"how many without a connection ({PARSED})",
    )
    parser.add_argument("--seed", type=int, default=7, help="of the dice (7)")
    parser.add_argument("--logs", type=Path, help="where the acceptors' logs are kept")
    parser.add_argument(
        "--busy", action="store_true", help="the machine is: judge no pauses"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, throw_away_installation():
        parsed = parse_all(options.parsed, options.seed)
        logs = options.logs or Path(directory)
        report = storm(options.messages, logs, options.busy, options.seed)
    report.parsed = parsed
    if options.json:
        sys.stdout.write(json.dumps(vars(report), default=vars) + "\n")
    else:
        show(report)
    if not report.passed:
        sys.exit("the acceptor does not bear it")


if __name__ == "__main__":
    with yardstick():
        main()
