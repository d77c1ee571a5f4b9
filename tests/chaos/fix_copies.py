"""A drop copy over disconnects, lost messages, kills and a fail-over.

Run it with `python -m tests.chaos.fix_copies --events 100000`. Orders are placed,
amended, cancelled and traded without a pause. One client follows its partner's
drop copy from its last ExecID on, at two acceptors of a group that are killed in turn.
It ends with exit code 1 when an event of the partner's orders was not reported, came
out of order, or came twice without PossResend(97)=Y.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from marketdata.fix.client.initiator import FixFailure, Initiator
from marketdata.fix.protocol.wire import GarbledMessage, Message
from tests.chaos.fix_acceptors import AcceptorProcess
from tests.chaos.installation import breakable_installation, close_connection

EVENTS, FAULTS = 100_000, 20
OF_A_BATCH = 25
LOST = 0.0005
"""The share of messages that a client does not get, as after a fault of its own."""
LAST_SECONDS = 120.0
"""For what is left, once nothing more is placed."""


@dataclass
class Report:
    events: int = 0
    reported: int = 0
    missing: int = 0
    unknown: int = 0
    out_of_order: int = 0
    doubles: int = 0
    marked: int = 0
    """Reports that were repeated with 97=Y, after a gap."""
    gaps: int = 0
    sessions: int = 0
    rejects: int = 0
    kills: int = 0
    disconnects: int = 0
    seconds: float = 0
    examples: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        wrong = self.missing, self.unknown, self.out_of_order, self.doubles
        return not any(wrong) and not self.rejects and self.events > 0


class Follower(Initiator):
    """Loses a message now and then, as if it had never come."""

    dice = random.Random(5)

    def read(self, deadline: float) -> Message | None:
        message = super().read(deadline)
        while message and message.type == "8" and self.dice.random() < LOST:
            message = super().read(deadline)
        return message


class Copy:
    """What a client knows of its partner's orders."""

    def __init__(self, ports: list[int], comp_id: str, key: str) -> None:
        self.ports, self.comp_id, self.key = ports, comp_id, key
        self.report = Report()
        self.last = 0
        self.seen: set[int] = set()
        self.stopping = threading.Event()
        self.client: Follower | None = None
        self.place = 0
        # Whether reports have come since the last fault.
        self.follows = False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        while not self.stopping.is_set():
            client = Follower(
                host="127.0.0.1", port=self.ports[self.place], sender=self.comp_id,
                target="PARTNERAPI", key=self.key,
            )  # fmt: skip
            try:
                client.logon()
                self.client = client
                self.report.sessions += 1
                self.follow(client)
            except (FixFailure, GarbledMessage, OSError):
                self.place = 1 - self.place
                time.sleep(0.1)
            finally:
                self.report.gaps += client.gaps
                self.client = None
                client.close()

    def follow(self, client: Follower) -> None:
        client.send("AD", (568, "R"), (569, 1), (263, 1), (17, self.last))
        of_session = 0
        is_answered = False
        while not self.stopping.is_set():
            message = client.receive(0.2)
            if message is None:
                continue
            if message.type == "AQ":
                assert message.get(750) == "0", message
                is_answered, of_session = True, 0
            elif message.type != "8":
                self.report.rejects += 1
                self.report.examples.append(repr(message))
            elif is_answered or message.get(17):
                of_session = self.take(message, of_session, is_answered)

    def take(self, message: Message, of_session: int, is_answered: bool) -> int:
        """Judge a report; the highest ExecID of the session so far."""
        number, is_marked = int(message.get(17)), message.get(97) == "Y"
        if not is_answered:
            # Reports from the Logon on, which are repeated behind the answer.
            return of_session
        if is_marked and number in self.seen:
            self.report.marked += 1
            return of_session
        if number in self.seen:
            self.report.doubles += 1
            self.report.examples.append(repr(message))
        if number <= of_session:
            self.report.out_of_order += 1
            self.report.examples.append(repr(message))
        self.seen.add(number)
        self.follows = True
        self.last = max(self.last, number)
        return max(of_session, number)

    def disconnect(self) -> None:
        """End its connection without a word."""
        client = self.client
        if client and client.socket:
            self.follows = False
            client.socket.close()
            self.report.disconnects += 1


class Trading:
    """Clients of one partner who trade with each other, in batches."""

    def __init__(self) -> None:
        from accounts.access import Scope
        from marketdata.models import FixSession
        from partnerapi.sandbox.data.approvals import approved_key
        from tests.marketdata.trading.trading import (
            deposit,
            give,
            new_clients,
            new_market,
            new_partner,
        )

        self.partner = new_partner()
        self.token = new_market()
        self.accounts = new_clients(2, self.partner)
        for account in self.accounts:
            deposit(account, 10**9)
        give(self.token, dict.fromkeys(self.accounts, 10**6))
        self.comp_id = "PARTNER001"
        FixSession.objects.create(
            comp_id=self.comp_id, partner=self.partner, is_drop_copy=True
        )
        self.key = approved_key(self.partner, [Scope.TRADING_READ])[1]

    def trade(self) -> None:
        """Place orders that trade, and one that is amended, then cancelled."""
        from marketdata.trading import market
        from tests.marketdata.trading.trading import buy, place, placed, sell

        seller, buyer = self.accounts
        self.accounts.reverse()
        place(
            self.token,
            *(sell(seller, 2, 100) for _ in range(OF_A_BATCH)),
            *(buy(buyer, 2, 100) for _ in range(OF_A_BATCH)),
        )
        order = placed(self.token, sell(seller, 5, 104))
        login = self.partner.login
        market.amend(order.pk, order.version, login, quantity=4)
        market.cancel_each(self.token.pk, [order.pk], "BY_PARTNER", login)

    def events(self) -> set[int]:
        from issuers.models.events import Event
        from marketdata.fix.protocol.executions import TYPES

        events = Event.objects.filter(partner=self.partner, type__in=TYPES)
        return set(events.values_list("sequence", flat=True))

    def number_of_events(self) -> int:
        from issuers.models.events import newest_events

        return newest_events([str(self.partner.pk)]).get(str(self.partner.pk), 0)


def measure(events: int, faults: int, logs: Path) -> Report:
    with breakable_installation():
        from tests.marketdata.fix.market import new_member

        trading = Trading()
        spares = [new_member(number) for number in (2, 3)]
        environment = {"FIX_SESSIONS": "5", "FIX_COMP_ID": "PARTNERAPI"}
        acceptors = [
            AcceptorProcess(
                logs / f"{name}.log",
                (spare.comp_id, spare.key),
                FIX_ACCEPTOR=name,
                **environment,
            )
            for name, spare in zip(("one", "two"), spares, strict=True)
        ]
        try:
            for acceptor in acceptors:
                acceptor.wait()
            copy = Copy([one.port for one in acceptors], trading.comp_id, trading.key)
            return follow(trading, copy, acceptors, events, faults)
        finally:
            close_connection()
            for acceptor in acceptors:
                acceptor.process.kill()
                acceptor.process.wait()


def follow(
    trading: Trading,
    copy: Copy,
    acceptors: list[AcceptorProcess],
    events: int,
    faults: int,
) -> Report:
    """Trade until there are so many events, and so many faults of a kind were made.

    A fault waits until the client follows; a kill is of the acceptor that serves it.
    """
    report, began = copy.report, time.monotonic()
    copy.thread.start()
    while (number := trading.number_of_events()) < events or report.kills < faults:
        trading.trade()
        broken = report.disconnects + report.kills
        if number < (broken + 1) * events // (2 * faults + 1) or not copy.follows:
            continue
        if report.disconnects <= report.kills < faults:
            copy.disconnect()
        elif report.kills < faults:
            copy.follows = False
            acceptors[copy.place].kill()
            report.kills += 1
    known = trading.events()
    deadline = time.monotonic() + LAST_SECONDS
    while copy.seen != known and time.monotonic() < deadline:
        time.sleep(0.1)
    copy.stopping.set()
    copy.thread.join()
    report.events, report.reported = len(known), len(copy.seen)
    report.missing = len(known - copy.seen)
    report.unknown = len(copy.seen - known)
    report.seconds = time.monotonic() - began
    report.examples = report.examples[:5]
    return report


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.fix_copies",
        description="Follows a drop copy over disconnects, kills and lost messages.",
    )
    parser.add_argument(
        "--events", type=int, default=EVENTS, help=f"how many ({EVENTS})"
    )
    parser.add_argument(
        "--faults", type=int, default=FAULTS, help=f"disconnects, and kills ({FAULTS})"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        report = measure(options.events, options.faults, Path(directory))
    if options.json:
        sys.stdout.write(json.dumps(vars(report)) + "\n")
    else:
        table = Table("", "", title="a drop copy")
        for name, value in vars(report).items():
            table.add_row(name.replace("_", " "), str(value))
        Console().print(table)
    if not report.passed:
        sys.exit("the drop copy is not what happened")


if __name__ == "__main__":
    main()
