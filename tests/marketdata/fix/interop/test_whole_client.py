"""conformance.py judges order entry: a good program passes, each fault is named.

The program is `order_client.py` beside this file. Each broken one differs
from the good one in one thing.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from marketdata.fix.conformance.rulebook import Part
from marketdata.fix.downloads import conformance_program
from tests.marketdata.fix.interop.programs import HERE, rules_of, verdicts_of
from tests.system import System, bare_environment, free_port
from tests.waiting import PATIENCE_SECONDS, PROGRAM_SECONDS

BROKEN = {
    "no key": ("KEY", []),
    "one key": ("KEY", []),
    "old uuid": ("KEY", []),
    "other body": ("KEY", ["LOST"]),
    "new key": ("LOST", ["LOST"]),
    "gives up": ("LOST", ["LOST"]),
    "impatient": ("THROTTLED", ["THROTTLED"]),
    "forgets": ("THROTTLED", ["THROTTLED"]),
    "storms": ("UNAVAILABLE", ["UNAVAILABLE"]),
    "stubborn": ("REFUSAL", ["REFUSAL"]),
    "hammers": ("HALT", ["HALT"]),
    "stays away": ("HALT", ["HALT"]),
    "no header": ("KILL-SWITCH", ["KILL-SWITCH"]),
    "keeps trading": ("KILL-SWITCH", ["KILL-SWITCH"]),
    "forgetful": ("RESTART", ["RESTART"]),
    "newest": ("RESUME", ["RESTART"]),
    "skips": ("EVENTS", ["LOST"]),
    "blind": ("EVENTS", ["LOST"]),
}
"""What a program does wrong → the rule that it breaks, and the scenes that show it."""
ASKED = {
    "Use the kill switch": signal.SIGUSR1,
    "Release your orders": signal.SIGUSR2,
    "Kill your program": signal.SIGKILL,
    "The examination is over": signal.SIGTERM,
}
"""What a person is asked to do with the program, as a signal."""
FAULTY_SECONDS = 2.0
SYMBOL = "TIDEWICK"


class Judged:
    """What the script says of a program that places orders, to the end."""

    def __init__(
        self,
        script: Path,
        server: dict[str, Any],
        state: Path,
        *faults: str,
        only: list[str],
        patience: float,
    ) -> None:
        place = f"127.0.0.1:{free_port()}"
        self.said: list[str] = []
        program: subprocess.Popen[bytes] | None = None
        api = server["graphql"]
        with subprocess.Popen(
            [
                *(sys.executable, "-S", script, "--orders", "--api", api),
                *("--listen", place, f"--patience={patience}"),
                *(f"--only={scene}" for scene in only),
            ],
            env=bare_environment(),
            stdout=subprocess.PIPE,
            text=True,
        ) as examination:
            assert examination.stdout
            for line in examination.stdout:
                self.said.append(line.rstrip())
                if line.startswith("Start your program"):
                    program = subprocess.Popen(
                        [
                            *(sys.executable, str(HERE / "order_client.py")),
                            *(f"http://{place}/graphql", SYMBOL, str(state), *faults),
                        ],
                        env=os.environ | {"PARTNER_API_KEY": server["key"]},
                    )
                for start, number in ASKED.items():
                    if program and line.startswith(start):
                        program.send_signal(number)
                        if number == signal.SIGKILL:
                            program.wait(PROGRAM_SECONDS)
        self.exit_code = examination.returncode
        if program:
            program.kill()
            program.wait(PROGRAM_SECONDS)

    @property
    def verdicts(self) -> dict[str, str]:
        return verdicts_of(self.said)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("conformance") / "conformance.py"
    path.write_text(conformance_program())
    return path


@pytest.fixture(autouse=True)
def trades_anew(running_system: System) -> Iterator[None]:
    """Other tests need the market CONTINUOUS: its halt has ended with a call."""
    yield
    running_system.end_call(SYMBOL)


def test_a_good_program_is_certified(
    running_server: dict[str, Any], script: Path, tmp_path: Path
):
    judged = Judged(
        *(script, running_server, tmp_path / "state.json"),
        only=[],
        patience=PATIENCE_SECONDS,
    )
    expected = dict.fromkeys(rules_of(Part.ORDERS), "ok")
    assert judged.verdicts == expected, judged.said
    assert judged.exit_code == 0
    assert "was sent to" in judged.said[-1]


def test_each_broken_program_is_named_by_its_rule(
    running_server: dict[str, Any], script: Path, tmp_path: Path
):
    found: dict[str, Judged] = {}

    def judge(fault: str) -> None:
        rule, scenes = BROKEN[fault]
        state = tmp_path / f"{fault}.json"
        found[fault] = Judged(
            *(script, running_server, state, fault),
            only=scenes or ["LOST"],
            patience=FAULTY_SECONDS,
        )

    # A halt and a kill switch are for all orders of a partner or of a market.
    alone = [
        fault for fault, (_, scenes) in BROKEN.items()
        if {"HALT", "KILL-SWITCH"} & set(scenes)
    ]  # fmt: skip
    threads = [
        threading.Thread(target=judge, args=[fault])
        for fault in BROKEN
        if fault not in alone
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for fault in alone:
        judge(fault)
    missed = {
        fault: found[fault].said
        for fault, (rule, _) in BROKEN.items()
        if found[fault].verdicts.get(rule) != "FAILED" or found[fault].exit_code != 1
    }
    assert missed == {}
