"""Moves all sessions of a killed acceptor to the other one of its group.

Before, each CompID tries to log on to the other one while its session lives, and is
refused. Then all come at once. Books are compared with the log in the end.

    python -m tests.chaos.fix_failover --sessions 300

Ends with 1 where a book is another, a CompID was served by both or refused after the
kill, or the slowest was not back PROMISED_SECONDS after it, as on idle cores.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marketdata.books.orderbook import Ladder
from marketdata.fix.client.client import Client
from marketdata.fix.client.initiator import FixFailure, LogonRefused
from tests.benchmarks.yardstick import Pace, yardstick
from tests.chaos.fix_acceptors import AcceptorProcess
from tests.chaos.installation import breakable_installation, close_connection
from tests.waiting import until

if TYPE_CHECKING:
    from tests.marketdata.fix.market import Member

PROMISED_SECONDS = 5.0
SYMBOLS = ("LUM", "ORB")
SECOND_LOGONS = 10
"""At once, while the sessions live."""

NewClient = Callable[[int], Client]
"""Makes a client for the seat of this number."""


@dataclass
class Report:
    """Of so many sessions; seconds are those of the slowest."""

    sessions: int
    back_seconds: float
    on_both: int
    not_refused: int
    """Second Logons that were taken while the session lived."""
    refused_after: int
    """Logons that were refused after the kill, for whatever reason."""
    wrong_books: int
    load: float


class Session(threading.Thread):
    """One session, from its Logon until it ends; it tries again until one stands."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.began_at = time.monotonic()
        self.served_after: float | None = None
        self.first = self.last = ""
        """SendingTime(52) of the first and the last message with books."""
        self.refusals = 0
        self.leaving = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.leaving.is_set():
            try:
                self.client.logon()
                break
            except FixFailure as failure:
                self.refusals += isinstance(failure, LogonRefused)
                time.sleep(0.05)
        try:
            self.client.subscribe(SYMBOLS)
            while not self.leaving.is_set():
                message = self.client.receive(0.1)
                if message is not None and message.type in "WX":
                    self.last = message.get(52)
                    self.first = self.first or self.last
                if self.served_after is None and len(self.client.books) == len(SYMBOLS):
                    self.served_after = time.monotonic() - self.began_at
        except FixFailure:
            # Its acceptor was killed.
            return
        finally:
            self.client.close()

    @property
    def is_served(self) -> bool:
        return self.served_after is not None

    def ladders(self) -> list[Ladder]:
        return [self.client.books[symbol].ladder() for symbol in SYMBOLS]

    def leave(self) -> None:
        self.leaving.set()
        self.join()


def all_served(sessions: Sequence[Session]) -> float:
    """Wait until each is served; the seconds that the slowest took."""
    until(lambda: all(one.is_served for one in sessions))
    return max(one.served_after or 0.0 for one in sessions)


def is_refused(client: Client) -> bool:
    try:
        client.logon()
    except LogonRefused as refusal:
        if refusal.text.startswith("logged on from "):
            return True
        sys.stderr.write(f"{refusal.text}\n")
    else:
        client.close()
    return False


def fail_over(
    count: int,
    first: NewClient,
    other: NewClient,
    kill_first: Callable[[], object],
    truth: Callable[[], Mapping[str, Ladder]],
    market: Any,
) -> Report:
    """`market` is entered while books move; `truth` is asked when they rest."""
    with market:
        before = [Session(first(number)) for number in range(count)]
        all_served(before)
        with ThreadPoolExecutor(SECOND_LOGONS) as pool:
            refused = pool.map(lambda n: is_refused(other(n)), range(count))
            not_refused = count - sum(refused)
        kill_first()
        after = [Session(other(number)) for number in range(count)]
        returned = all_served(after)
    known = [truth()[symbol] for symbol in SYMBOLS]
    try:
        until(
            lambda: all(one.ladders() == known for one in after), lambda: "other books"
        )
        wrong = 0
    except AssertionError:
        wrong = sum(one.ladders() != known for one in after)
    for one in (*before, *after):
        one.leave()
    return Report(
        sessions=count,
        back_seconds=returned,
        on_both=sum(a.last > b.first for a, b in zip(before, after, strict=True)),
        not_refused=not_refused,
        refused_after=sum(one.refusals for one in after),
        wrong_books=wrong,
        load=os.getloadavg()[0],
    )


def client_of(acceptor: AcceptorProcess, member: "Member") -> Client:
    return Client(
        host="127.0.0.1",
        port=acceptor.port,
        sender=member.comp_id,
        target="PARTNERAPI",
        key=member.key,
    )


def measure(count: int, logs: Path) -> Report:
    with breakable_installation():
        from tests.marketdata.fix.market import ladder_of, moving, new_member, new_token

        members = [new_member(number) for number in range(1, count + 3)]
        tokens = {symbol: new_token(symbol) for symbol in SYMBOLS}
        close_connection()
        environment = {
            "FIX_SESSIONS": str(len(members)),
            "FIX_COMP_ID": "PARTNERAPI",
            "FIX_CONNECTIONS_PER_ADDRESS": str(4 * count),
        }
        first, other = (
            AcceptorProcess(
                logs / f"{name}.log",
                (spare.comp_id, spare.key),
                FIX_ACCEPTOR=name,
                **environment,
            )
            for name, spare in (("one", members[-1]), ("two", members[-2]))
        )

        def kill() -> None:
            first.process.kill()
            first.process.wait()

        try:
            first.wait()
            other.wait()
            return fail_over(
                count,
                lambda number: client_of(first, members[number]),
                lambda number: client_of(other, members[number]),
                kill,
                lambda: {symbol: ladder_of(token) for symbol, token in tokens.items()},
                moving(*tokens.values()),
            )
        finally:
            for acceptor in (first, other):
                acceptor.process.kill()
                acceptor.process.wait()


def main(pace: Pace) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.fix_failover", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--sessions", type=int, default=50, help="how many (50)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        report = measure(options.sessions, Path(directory))
    back = pace.idle(report.back_seconds)
    told = vars(report) | {"back_seconds_on_idle_cores": back}
    sys.stdout.write(json.dumps(told) + "\n")
    if any(
        (report.on_both, report.not_refused, report.refused_after, report.wrong_books)
    ):
        sys.exit("not as promised")
    if back > PROMISED_SECONDS:
        sys.exit("too slow")


if __name__ == "__main__":
    with yardstick(beside_json=True) as pace:
        main(pace)
