"""What a run starts ends with it, and with one another."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from partnerapi.sandbox.run.processes import Process, Processes, RunError
from tests.waiting import until


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path / "processes", lambda name, line: None)
    yield processes
    processes.stop()


def start(
    processes: Processes, name: str, directory: Path, *, is_server: bool = False
) -> Process:
    """A process that takes a while to end, and then says so in a file."""
    end = f"sleep 0.3; echo {name} >> {directory}/ended; exit"
    script = f"trap '{end}' TERM; touch {directory}/{name}; while :; do sleep 0.1; done"
    process = processes.start(
        name, ["sh", "-c", script], environment=os.environ, is_server=is_server
    )
    until((directory / name).exists)
    return process


@pytest.mark.parametrize("name", ["server", "first", "second"])
def test_the_end_of_any_is_told(name: str, processes: Processes, tmp_path: Path):
    for each in ("server", "first", "second"):
        process = start(processes, each, tmp_path, is_server=each == "server")
        if each == name:
            victim = process
    os.kill(victim.popen.pid, signal.SIGKILL)
    with pytest.raises(
        RunError, match=f"{name} ended with SIGKILL: it printed nothing"
    ):
        processes.watch()


def test_servers_end_when_nobody_needs_them(processes: Processes, tmp_path: Path):
    for name in ("server", "first", "second"):
        start(processes, name, tmp_path, is_server=name == "server")
    processes.stop()
    assert (tmp_path / "ended").read_text().split()[-1] == "server"
    assert len((tmp_path / "ended").read_text().split()) == 3
