"""Bad neighbours of live FIX sessions: the slow, the silent and the guessing.

Run it with `python -m tests.chaos.fix_neighbours`. One client stops reading; one sends
a byte of its Logon every half second; 300 connections are silent; 5,000 Logons with
wrong keys come within a minute from 50 connections. Meanwhile other sessions follow
books that change ten times a second. It ends with exit code 1 when one of them waits
for a book longer than 0.3 s or misses a Heartbeat, when a wrong Logon succeeds, or when
the log does not say why a bad neighbour was ended.

All come from one address, where the default is 20 connections: for 300 silent ones
FIX_CONNECTIONS_PER_ADDRESS is raised to 400. All other limits are as usual.
"""

import argparse
import contextlib
import json
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from marketdata.fix.client.initiator import Initiator
from marketdata.fix.protocol.wire import encode
from tests.benchmarks.yardstick import yardstick
from tests.chaos import mutations
from tests.chaos.fix_acceptors import PROMISED_SECONDS, AcceptorProcess
from tests.chaos.fix_attackers import LOGON, kinds, read
from tests.chaos.fix_histories import new_seats
from tests.chaos.fix_player import Seat
from tests.chaos.fix_secrets import leaks
from tests.chaos.fix_witnesses import Calm, Witnesses
from tests.installation import throw_away_installation

COMP_ID = "PARTNERAPI"
BOOKS = 5
WITNESSES = 6
SILENT = 300
TRICKLE_SECONDS = 0.5
GUESSES, GUESSERS, GUESS_SECONDS = 5_000, 50, 60.0
CALM_SECONDS = 5.0
SLOW_SECONDS = 25.0
"""Until a client that does not read is ended: ten from its first 16 KB on."""
SILENT_SECONDS = 20.0
REASONS = {
    "a client that stops reading": "slow consumer: a TestRequest was not answered",
    "a Logon that trickles": "no complete Logon within 5 s",
    "silent connections": "no complete Logon within 5 s",
    "wrong Logons": "Too many failed Logons",
}


@dataclass
class Report:
    neighbours: dict[str, Calm] = field(default_factory=dict)
    without_reason: list[str] = field(default_factory=list)
    not_ended: list[str] = field(default_factory=list)
    guesses: int = 0
    successes: int = 0
    guess_seconds: float = 0
    from_elsewhere: str = ""
    secrets: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    load: float = 0

    @property
    def passed(self) -> bool:
        failures = (
            self.without_reason, self.not_ended, self.successes, self.secrets,
            self.tracebacks,
        )  # fmt: skip
        calm = all(one.is_undisturbed for one in self.neighbours.values())
        return calm and not any(failures)


class Neighbourhood:
    """An acceptor, its witnesses, and what was found."""

    def __init__(
        self, acceptor: AcceptorProcess, witnesses: Witnesses, seats: list[Seat]
    ) -> None:
        self.acceptor = acceptor
        self.witnesses = witnesses
        self.seats = seats
        self.report = Report()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.acceptor.port), 10)

    @contextlib.contextmanager
    def watched(self, name: str) -> Iterator[None]:
        """Record the witnesses' observations during the block, and the log's reason."""
        said_before = self.acceptor.log.stat().st_size
        self.witnesses.look()
        yield
        self.report.neighbours[name] = self.witnesses.look()
        reason = REASONS.get(name, "")
        said = self.acceptor.log.read_bytes()[said_before:].decode(errors="replace")
        if reason not in said:
            self.report.without_reason.append(name)

    def ends(self, name: str, connection: socket.socket, seconds: float) -> None:
        """Note whether the acceptor ends a connection within so many seconds."""
        deadline = time.monotonic() + seconds
        connection.settimeout(seconds)
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass
        if time.monotonic() > deadline:
            self.report.not_ended.append(name)

    def stops_reading(self, symbols: list[str]) -> None:
        name = "a client that stops reading"
        client: Initiator = self.acceptor.initiator(*self.seats[0])
        with self.watched(name):
            client.logon()
            client.send(
                "V",
                (262, "all"), (263, 1), (264, 0), (265, 0),
                (267, 2), (269, 0), (269, 1),
                (146, len(symbols)), *((55, symbol) for symbol in symbols),
            )  # fmt: skip
            time.sleep(SLOW_SECONDS)
        assert client.socket is not None
        self.ends(name, client.socket, 5)
        client.close()

    def trickles(self) -> None:
        name = "a Logon that trickles"
        with self.watched(name), self.connect() as connection:
            logon = encode(mutations.logon(*self.logon_of(self.seats[0])))
            began = time.monotonic()
            with contextlib.suppress(OSError):
                for byte in logon:
                    connection.sendall(bytes([byte]))
                    time.sleep(TRICKLE_SECONDS)
            if time.monotonic() - began > 10:
                self.report.not_ended.append(name)

    def logon_of(self, seat: Seat) -> tuple[str, str, str]:
        return seat.comp_id, COMP_ID, seat.key

    def is_silent(self) -> None:
        """As many as may wait at once, again and again."""
        name = "silent connections"
        over = threading.Event()

        def wait() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError), self.connect() as connection:
                    self.ends(name, connection, 10)

        with self.watched(name):
            threads = [threading.Thread(target=wait) for _ in range(SILENT)]
            for thread in threads:
                thread.start()
            time.sleep(SILENT_SECONDS)
            over.set()
            for thread in threads:
                thread.join()

    def guess(self) -> None:
        """Wrong keys for CompIDs that there are, at an even pace."""
        name = "wrong Logons"
        lock = threading.Lock()
        began = time.monotonic()

        def try_keys(guesser: int) -> None:
            for n in range(guesser, GUESSES, GUESSERS):
                due = began + n * GUESS_SECONDS / GUESSES
                time.sleep(max(0.0, due - time.monotonic()))
                seat = self.seats[n % len(self.seats)]
                wrong = seat.key[:-8] + f"{n:08d}"
                logon = encode(mutations.logon(seat.comp_id, COMP_ID, wrong))
                said = b""
                with contextlib.suppress(OSError), self.connect() as connection:
                    connection.sendall(logon)
                    said = read(connection, 10)
                with lock:
                    self.report.guesses += kinds(said)["5"]
                    self.report.successes += LOGON in said

        with self.watched(name):
            threads = [
                threading.Thread(target=try_keys, args=(n,)) for n in range(GUESSERS)
            ]
            for thread in threads:
                thread.start()
            self.come_from_elsewhere()
            for thread in threads:
                thread.join()
            self.report.guess_seconds = time.monotonic() - began

    def come_from_elsewhere(self) -> None:
        """A partner whose key is guessed at logs on from another address meanwhile."""
        time.sleep(GUESS_SECONDS / 2)
        logon = encode(mutations.logon(*self.logon_of(self.seats[0])))
        try:
            with socket.create_connection(
                ("127.0.0.1", self.acceptor.port), 10, ("127.0.0.2", 0)
            ) as connection:
                connection.sendall(logon)
                said = read(connection, 1)
        except OSError as error:
            # Not every system has more than one address of its own.
            self.report.from_elsewhere = str(error)
            return
        self.report.from_elsewhere = "logged on" if LOGON in said else "was refused"


def live(logs: Path) -> Report:
    from tests.marketdata.fix.market import new_token

    tokens = [new_token(f"TKN{number}") for number in range(BOOKS)]
    ids = {token.symbol: token.pk for token in tokens}
    seats = new_seats(WITNESSES + 3)
    acceptor = AcceptorProcess(
        logs / "acceptor.log",
        seats[0],
        FIX_SESSIONS=str(len(seats)),
        FIX_COMP_ID=COMP_ID,
        FIX_CONNECTIONS_PER_ADDRESS=str(SILENT + 100),
    )
    witnesses = None
    try:
        acceptor.wait()
        witnesses = Witnesses(acceptor.port, COMP_ID, seats[1 : WITNESSES + 1], ids)
        time.sleep(CALM_SECONDS)
        place = Neighbourhood(acceptor, witnesses, seats[WITNESSES + 1 :])
        with place.watched("nobody"):
            time.sleep(CALM_SECONDS)
        steps: list[Callable[[], None]] = [
            lambda: place.stops_reading(list(ids)),
            place.trickles,
            place.is_silent,
            place.guess,
        ]
        for step in steps:
            step()
        witnesses.end()
        witnesses = None
        acceptor.stop(PROMISED_SECONDS)
        report = place.report
        report.load = os.getloadavg()[0]
        report.tracebacks = acceptor.tracebacks()[:3]
        report.secrets = leaks([seat.key for seat in seats], [acceptor.log])
        return report
    finally:
        if witnesses:
            witnesses.end()
        acceptor.process.kill()
        acceptor.process.wait()


def show(report: Report) -> None:
    table = Table(
        "neighbour", "longest gap", "without own pauses", "messages", "Heartbeats",
        "for silence", "ended", title="live sessions beside bad neighbours",
    )  # fmt: skip
    for name, calm in report.neighbours.items():
        table.add_row(
            name,
            f"{calm.longest:.2f} s",
            f"{calm.excess:.2f} s",
            f"{calm.messages:,}",
            f"within {calm.longest_silence:.1f} s",
            str(calm.test_requests),
            ", ".join(calm.wrong) or "0",
        )
    Console().print(table)
    Console().print(
        f"wrong Logons refused {report.guesses:,} in {report.guess_seconds:.0f} s, "
        f"successes {report.successes}; the partner itself, from another address: "
        f"{report.from_elsewhere}; not ended {report.not_ended or 0}; without a reason "
        f"in the log {report.without_reason or 0}; places with a key in clear "
        f"{report.secrets or 0}; tracebacks {report.tracebacks or 0}; "
        f"load {report.load:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.fix_neighbours",
        description="Lets FIX sessions follow books beside clients that do not read, "
        "do not speak, or guess keys; takes two minutes.",
        epilog="Example: python -m tests.chaos.fix_neighbours",
    )
    parser.add_argument("--logs", type=Path, help="where the acceptor's log is kept")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, throw_away_installation():
        report = live(options.logs or Path(directory))
    if options.json:
        sys.stdout.write(json.dumps(vars(report), default=vars) + "\n")
    else:
        show(report)
    if not report.passed:
        sys.exit("live sessions were disturbed")


if __name__ == "__main__":
    with yardstick():
        main()
