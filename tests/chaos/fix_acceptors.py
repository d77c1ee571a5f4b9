"""`run_fix_acceptor` as a process that is killed, put to sleep and started again."""

import os
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import psutil

from marketdata.fix.client.initiator import FixFailure, Initiator
from tests.chaos.installation import ROOT
from tests.system import free_port

START_SECONDS = 300.0
PROMISED_SECONDS, STOP_SECONDS = 10.0, 100.0
"""To end in: on a quiet machine, and on one that is busy with breaking things."""
SHOWN = 6_000
"""Characters of a log that tell why an acceptor failed."""
SHOWN_OF_ONE = 2_000


class FailedAcceptor(Exception):
    """An acceptor that did not start, did not go on or did not end in good order."""


class AcceptorProcess:
    """One acceptor at a port of its own; `log` holds all that it ever said.

    `seat` is a CompID and a key: who has them sees whether a Logon works. `tls` is how
    the certificate that the environment names is trusted.
    """

    def __init__(
        self,
        log: Path,
        seat: tuple[str, str],
        tls: ssl.SSLContext | None = None,
        **environment: str,
    ) -> None:
        self.log = log
        self.seat = seat
        self.tls = tls
        self.port = free_port()
        self.environment = {"FIX_PORT": str(self.port), "LOG_LEVEL": "INFO"}
        self.environment |= environment
        self.kills = self.restarts = self.sleeps = 0
        self.ended_early = False
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.said_before = output.tell()
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "run_fix_acceptor"],
                cwd=ROOT,
                env=os.environ | self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def wait(self) -> None:
        """Return once a Logon works.

        Raises:
            FailedAcceptor
        """
        comp_id, key = self.seat
        deadline = time.monotonic() + START_SECONDS
        while True:
            self.check()
            try:
                with self.initiator(comp_id, key):
                    return
            except FixFailure as failure:
                if time.monotonic() > deadline:
                    raise FailedAcceptor(f"no Logon works: {failure}") from None
            time.sleep(0.05)

    def initiator(self, comp_id: str, key: str) -> Initiator:
        target = self.environment.get("FIX_COMP_ID", "PARTNERAPI")
        return Initiator(
            host="127.0.0.1", port=self.port, sender=comp_id, target=target, key=key,
            tls=self.tls,
        )  # fmt: skip

    def check(self) -> None:
        """Raises FailedAcceptor: it has ended by itself."""
        code = self.process.poll()
        if code is not None:
            raise FailedAcceptor(f"it ended with {code}: {self.end_of_log()}")

    def listens(self) -> bool:
        """Whether the process that runs now has come so far."""
        return b"listens on" in self.log.read_bytes()[self.said_before :]

    def may_end(self) -> bool:
        """Whether to end it again, however busy the machine is.

        One that does not listen yet is ended once. If it were ended again and again,
        no client would ever come back.
        """
        listens = self.listens()
        may = listens or not self.ended_early
        self.ended_early = not listens
        return may

    def kill(self) -> None:
        self.check()
        self.process.kill()
        self.process.wait()
        self.kills += 1
        self.start()

    def restart(self) -> None:
        self.stop()
        self.restarts += 1
        self.start()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """End it in good order.

        Raises:
            FailedAcceptor: it ended in another way, or not in time.
        """
        self.check()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise FailedAcceptor("it did not end in time") from None
        # Before it listens there is nothing to shut down.
        if code != 0 and (code != -signal.SIGTERM or self.listens()):
            raise FailedAcceptor(f"it ended with {code}: {self.end_of_log()}")

    def end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-SHOWN:]

    def sleep(self, seconds: float) -> None:
        """Suspend it for so long."""
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)
        self.sleeps += 1

    def size(self) -> "Size":
        return Size(self.process.pid)

    def tracebacks(self) -> list[str]:
        """What the log says of errors that no one foresaw."""
        _, *after = self.log.read_text(errors="replace").split("Traceback (most")
        return [text[:SHOWN_OF_ONE] for text in after]


class Size:
    """What a process holds: megabytes, threads and open files."""

    def __init__(self, pid: int) -> None:
        process = psutil.Process(pid)
        self.megabytes = process.memory_info().rss / 1e6
        self.threads = process.num_threads()
        self.files = process.num_fds()

    def __str__(self) -> str:
        return f"{self.megabytes:.0f} MB, {self.threads} threads, {self.files} files"
