"""Starts processes of our own, remembers them on disk, ends all of them.

The record of what runs outlives a killed parent, so that the next start can end
what was left over without touching a process that is not ours.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NoReturn

POLL_SECONDS = 0.05
STOP_SECONDS = 10


class RunError(Exception):
    """What keeps the system from running, in one line for its operator."""


class Interrupted(KeyboardInterrupt):
    """A signal asked the run to end while it waited."""


@dataclass(frozen=True)
class Account:
    """The user of the operating system that a process runs as."""

    name: str
    uid: int
    gid: int


@dataclass
class Process:
    name: str
    popen: subprocess.Popen[str]
    stop_signal: signal.Signals
    is_server: bool = False
    output: list[str] = field(default_factory=list)
    errors: deque[str] = field(default_factory=lambda: deque(maxlen=50))
    readers: list[threading.Thread] = field(default_factory=list)

    def reason(self) -> str:
        """The line of its errors that best explains its end."""
        for reader in self.readers:
            reader.join(timeout=1)
        for word in ("FATAL", "PANIC", "error:", "Error", "could not"):
            for line in reversed(self.errors):
                if word in line:
                    return line.strip()
        return self.errors[-1].strip() if self.errors else "it printed nothing"

    def ended(self) -> str:
        code = self.popen.returncode
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"{self.name} ended with {how}: {self.reason()}"


def started_at(pid: int) -> str | None:
    """When a process started, in the system's own terms; None once it has ended."""
    if os.path.exists("/proc/self/stat"):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The name in brackets may hold anything; state and start time follow it.
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    ps = ["ps", "-o", "lstart=", "-p", str(pid)]
    found = subprocess.run(ps, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def take_lock(directory: Path) -> IO[str]:
    """Hold a state directory until the returned file is closed.

    Raises:
        RunError: another process holds it.
    """
    lock = (directory / "lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise RunError(
            f"{directory} is in use by another run; stop that one, or choose "
            "another directory with --directory"
        ) from None
    return lock


class Processes:
    """What one run has started, in order; `record` names it to the next run.

    `say` receives a process's name and one line of its output, from any thread.
    `interrupted` may be set by a signal handler: whatever is awaited then raises
    Interrupted, and the caller stops everything.
    """

    def __init__(self, record: Path, say: Callable[[str, str], None]) -> None:
        self.record = record
        self.say = say
        self.running: list[Process] = []
        self.interrupted = False

    def end_leftovers(self) -> list[str]:
        """End what a killed predecessor left running; return the names."""
        if not self.record.exists():
            return []
        names = []
        for line in reversed(self.record.read_text().splitlines()):
            try:
                left = json.loads(line)
            except ValueError:
                # Its writer was killed, or the disk was full, in the middle of it.
                continue
            if started_at(left["pid"]) == left["started"]:
                names.append(left["name"])
                end_stranger(left["pid"], signal.Signals(left["signal"]))
        self.record.unlink()
        return names

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        account: Account | None = None,
        cwd: str | Path = "/",
        stop_signal: signal.Signals = signal.SIGTERM,
        pass_fds: Sequence[int] = (),
        quiet: bool = False,
        is_server: bool = False,
    ) -> Process:
        """Start a process in a session of its own, so that only we signal it.

        `quiet` keeps its output in `output` and `errors` instead of saying it. The
        others need a server until they have ended.

        Raises:
            RunError: the system could not start it.
        """
        try:
            popen = subprocess.Popen(
                command,
                env=environment,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
                pass_fds=pass_fds,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )
        except OSError as error:
            raise RunError(f"{name} does not start: {error}") from None
        process = Process(name, popen, stop_signal, is_server)
        self.running.append(process)
        self.remember()
        assert popen.stdout is not None
        assert popen.stderr is not None
        for stream, lines in (
            (popen.stdout, process.output if quiet else process.errors),
            (popen.stderr, process.errors),
        ):
            reader = threading.Thread(
                target=self.read, args=(process, stream, lines, quiet), daemon=True
            )
            process.readers.append(reader)
            reader.start()
        return process

    def read(
        self,
        process: Process,
        stream: IO[str],
        lines: list[str] | deque[str],
        quiet: bool,
    ) -> None:
        with stream:
            for line in stream:
                lines.append(line.rstrip())
                if not quiet:
                    self.say(process.name, line.rstrip())

    def remember(self) -> None:
        lines = [
            json.dumps(
                {
                    "name": process.name,
                    "pid": process.popen.pid,
                    "started": started_at(process.popen.pid),
                    "signal": int(process.stop_signal),
                }
            )
            for process in self.running
        ]
        self.record.write_text("".join(f"{line}\n" for line in lines))

    def wait_until(
        self, ready: Callable[[], bool], process: Process, seconds: float
    ) -> None:
        """Wait for a process to become ready.

        Raises:
            RunError: it ended, or the time has passed.
            Interrupted: someone asked for the end.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            if self.interrupted:
                raise Interrupted
            if process.popen.poll() is not None:
                raise RunError(process.ended())
            if time.monotonic() > deadline:
                raise RunError(
                    f"{process.name} is not ready after {seconds:.0f} s: "
                    f"{process.reason()}"
                )
            time.sleep(POLL_SECONDS)

    def finish(self, process: Process) -> list[str]:
        """Wait for a process that ends by itself; return its output.

        Raises:
            RunError: it ended with another exit code than 0.
            Interrupted: someone asked for the end.
        """
        while process.popen.poll() is None:
            if self.interrupted:
                raise Interrupted
            time.sleep(POLL_SECONDS)
        for reader in process.readers:
            reader.join()
        self.running.remove(process)
        self.remember()
        if process.popen.returncode:
            raise RunError(process.ended())
        return process.output

    def watch(self) -> NoReturn:
        """Wait for the end.

        Raises:
            RunError: a process ended that should not have.
            Interrupted: someone asked for the end.
        """
        while not self.interrupted:
            for process in self.running:
                if process.popen.poll() is not None:
                    raise RunError(process.ended())
            time.sleep(POLL_SECONDS)
        raise Interrupted

    def stop(self, some: Sequence[Process] | None = None) -> None:
        """End some processes, or all, each with its whole group; the servers last."""
        ending = list(self.running if some is None else some)
        for are_servers in (False, True):
            part = [p for p in ending if p.is_server is are_servers]
            for process in part:
                if process.popen.poll() is None:
                    process.popen.send_signal(process.stop_signal)
            for process in part:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.popen.wait(timeout=STOP_SECONDS)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.popen.pid, signal.SIGKILL)
                process.popen.wait()
                for reader in process.readers:
                    reader.join(timeout=1)
        self.running = [p for p in self.running if p not in ending]
        if self.running:
            self.remember()
        else:
            self.record.unlink(missing_ok=True)


def end_stranger(pid: int, stop_signal: signal.Signals) -> None:
    """End the group of a process that is not our child: politely, then at once."""
    started = started_at(pid)
    for number, wait in ((stop_signal, STOP_SECONDS), (signal.SIGKILL, STOP_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(pid, number)
            else:
                os.kill(pid, number)
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            if started_at(pid) != started:
                return
            time.sleep(POLL_SECONDS)
