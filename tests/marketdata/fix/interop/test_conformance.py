"""The conformance list: others' engines pass it, and it names each planted fault."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from marketdata.fix.conformance.rulebook import Part
from marketdata.fix.downloads import conformance_program
from marketdata.models import FixSession
from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.interop.programs import (
    ENGINES,
    Command,
    rules_of,
    simplefix,
    verdicts_of,
)
from tests.marketdata.fix.market import Member, new_member
from tests.marketdata.fix.trader import Trader
from tests.system import bare_environment, free_port
from tests.waiting import PATIENCE_SECONDS, PROGRAM_SECONDS

FAULTS = {
    "checksum": "FRAME",
    "number": "NUMBERS",
    "clock": "LOGON",
    "depth": "REQUEST",
    "order": "READ-ONLY",
    "flood": "PACE",
    "test request": "TEST-REQUEST",
    "heartbeat": "HEARTBEAT",
    "news": "TOLERANCE",
    "gap": "GAP",
    "recovery": "RECOVERY",
    "resend": "RESEND",
    "logout": "LOGOUT",
    "talks on": "LOGOUT",
    "stays": "FAIL-OVER",
    "anew": "ANEW",
    "goodbye": "GOODBYE",
}
"""What a program does wrong → the rule that it breaks."""
OF_COPIES = {
    "from now": "AFTER",
    "from zero": "AFTER",
    "one too low": "AFTER",
    "other reports": "AFTER",
    "once": "AFTER",
    "unknown": "TOLERANCE",
    "repeated": "TOLERANCE",
    "order": "READ-ONLY",
    "gap": "GAP",
    "stays": "FAIL-OVER",
}
"""The same of a program that follows a drop copy."""
FAULTY_SECONDS = 8
"""In time, for a program that never answers."""
ENDING_SECONDS = 20
SHORTEST_HEARTBEAT, LONG_HEARTBEAT = 5, 30


class Examined:
    """What the script says of a program that runs through it, to its end.

    `place` places an order when the script asks for one. With it the program follows a
    drop copy, without it a book.
    """

    def __init__(
        self,
        script: Path,
        acceptor: Acceptor,
        member: Member,
        program: Command,
        *faults: str,
        patience: float,
        heartbeat: int,
        place: Callable[[], None] | None = None,
    ) -> None:
        ports = [str(free_port()), str(free_port())]
        places = [f"127.0.0.1:{port}" for port in ports]
        address = f"{acceptor.host}:{acceptor.port}"
        self.said: list[str] = []
        with subprocess.Popen(
            [
                *(sys.executable, "-S", script, "--address", address, "--no-tls"),
                *("--listen", places[0], "--other", places[1]),
                f"--patience={patience}",
                *(["--drop-copy"] if place else []),
            ],
            env=bare_environment(),
            stdout=subprocess.PIPE,
            text=True,
        ) as examination:
            assert examination.stdout
            for line in examination.stdout:
                self.said.append(line.rstrip())
                if line.startswith("Start your program"):
                    comp_ids = [member.comp_id, acceptor.comp_id]
                    followed = "" if place else "LUM"
                    follower = subprocess.Popen(
                        [*program, "127.0.0.1", *ports, *comp_ids, followed, *faults],
                        env=os.environ
                        | {"FIX_KEY": member.key, "HEARTBEAT": str(heartbeat)},
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                    )
                    threading.Thread(
                        target=self.await_end, args=(follower, examination)
                    ).start()
                elif line.startswith("Stop your program"):
                    follower.send_signal(signal.SIGTERM)
                elif place and line.startswith("Place an order"):
                    place()
        self.exit_code = examination.returncode
        follower.kill()
        follower.wait(PROGRAM_SECONDS)

    def await_end(
        self, follower: subprocess.Popen[bytes], examination: subprocess.Popen[str]
    ) -> None:
        """The examination is complete when the program has ended by itself."""
        output, _ = follower.communicate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            examination.wait(ENDING_SECONDS)
            return
        self.said.append(output.decode())
        examination.terminate()

    @property
    def verdicts(self) -> dict[str, str]:
        return verdicts_of(self.said)

    def failed(self) -> set[str]:
        return {rule for rule, verdict in self.verdicts.items() if verdict == "FAILED"}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "conformance.py"
    path.write_text(conformance_program())
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_of_others_conform(
    engine: Callable[[str], Command],
    script: Path,
    start_acceptor: Callable[..., Acceptor],
    market: Market,
):
    acceptor = start_acceptor()
    examined = Examined(
        *(script, acceptor, market.members[0], engine("follower")),
        patience=PATIENCE_SECONDS,
        heartbeat=SHORTEST_HEARTBEAT,
    )
    assert examined.verdicts == dict.fromkeys(rules_of(Part.BOOKS), "ok"), examined.said
    assert examined.exit_code == 0


def test_calls_each_fault_by_its_rule(
    script: Path, start_acceptor: Callable[..., Acceptor], market: Market
):
    market.members += [new_member(number) for number in range(3, len(FAULTS) + 1)]
    acceptor = start_acceptor(
        FIX_SESSIONS=str(len(FAULTS)),
        FIX_CONNECTIONS_PER_ADDRESS=str(4 * len(FAULTS)),
    )
    program = simplefix("follower")
    found: dict[str, Examined] = {}

    def examine(fault: str, member: Member) -> None:
        found[fault] = Examined(
            *(script, acceptor, member, program, fault),
            patience=FAULTY_SECONDS,
            heartbeat=SHORTEST_HEARTBEAT if fault == "heartbeat" else LONG_HEARTBEAT,
        )

    threads = [
        threading.Thread(target=examine, args=each)
        for each in zip(FAULTS, market.members, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A busy machine may also be late.
    missed = {
        fault: found[fault].said
        for fault, rule in FAULTS.items()
        if rule not in found[fault].failed() or found[fault].exit_code != 1
    }
    assert missed == {}


def copies_of(trader: Trader, number: int) -> list[Member]:
    """Members that follow the drop copy of one partner."""
    comp_ids = [f"PARTNER{3 + n:03d}" for n in range(number)]
    for comp_id in comp_ids[1:]:
        FixSession.objects.create(
            comp_id=comp_id, partner=trader.partner, is_drop_copy=True
        )
    return [Member(trader.partner, comp_id, trader.key) for comp_id in comp_ids]


def test_a_program_that_follows_a_drop_copy_conforms(
    script: Path, start_acceptor: Callable[..., Acceptor], trader: Trader
):
    [member] = copies_of(trader, 1)
    examined = Examined(
        *(script, start_acceptor(), member, simplefix("follower")),
        patience=PATIENCE_SECONDS,
        heartbeat=SHORTEST_HEARTBEAT,
        place=trader.trade,
    )
    expected = dict.fromkeys(rules_of(Part.DROP_COPY), "ok")
    assert examined.verdicts == expected, examined.said
    assert examined.exit_code == 0


def test_calls_each_fault_of_a_drop_copy_by_its_rule(
    script: Path, start_acceptor: Callable[..., Acceptor], trader: Trader
):
    members = copies_of(trader, len(OF_COPIES))
    acceptor = start_acceptor(
        FIX_SESSIONS=str(2 + len(OF_COPIES)),
        FIX_CONNECTIONS_PER_ADDRESS=str(4 * len(OF_COPIES)),
    )
    found: dict[str, Examined] = {}

    def trade() -> None:
        try:
            trader.trade()
        finally:
            connection.close()

    def examine(fault: str, member: Member) -> None:
        found[fault] = Examined(
            *(script, acceptor, member, simplefix("follower"), fault),
            patience=FAULTY_SECONDS,
            heartbeat=LONG_HEARTBEAT,
            place=trade,
        )

    threads = [
        threading.Thread(target=examine, args=each)
        for each in zip(OF_COPIES, members, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    missed = {
        fault: found[fault].said
        for fault, rule in OF_COPIES.items()
        if rule not in found[fault].failed() or found[fault].exit_code != 1
    }
    assert missed == {}
