"""Runs services as systemd does, by the unit files that are shipped.

A socket is held here and handed on; a service has started when it says so, gets a
signal to end, and is started again when it dies.
"""

import configparser
import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil

from partnerapi.sandbox.run.processes import RunError

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "partnerapi" / "operations" / "deploy"
HOME = "/opt/partnerapi/current"
"""Where the units expect the code."""
# LISTEN_PID is the process that was started, which only it knows.
HANDED_ON = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); "
    "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1'); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)
PATIENCE_SECONDS = 600


def unit(name: str) -> configparser.ConfigParser:
    """The file of a unit; of settings that stand there twice, the last."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string((DEPLOY / name).read_text())
    return parser


def here(text: str) -> str:
    """A command of a unit with the programs and the code of this installation."""
    programs = str(Path(sys.executable).parent)
    return text.replace(f"{HOME}/.venv/bin", programs).replace(HOME, str(ROOT))


def held_socket(path: Path) -> socket.socket:
    """A listening socket, as partnerapi-web.socket has one."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(int(unit("partnerapi-web.socket")["Socket"]["Backlog"]))
    return listener


class Service:
    """A service that lives on until `stop`, in a session of its own.

    Each start takes `environment` as it is then.
    """

    def __init__(
        self,
        name: str,
        listener: socket.socket,
        environment: dict[str, str],
        directory: Path,
    ) -> None:
        self.settings = unit(name)["Service"]
        self.listener, self.environment = listener, environment
        self.directory = directory
        self.log = directory / "log"
        self.deaths = 0
        self.ending = False
        self.lock = threading.Lock()
        self.start()
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.keeper.start()

    def start(self) -> None:
        """Start it, and wait until it says that it is ready."""
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as (
            told
        ):
            address = self.directory / "notify"
            address.unlink(missing_ok=True)
            told.bind(str(address))
            told.settimeout(0.1)
            command = shlex.split(here(self.settings["ExecStart"]))
            number = self.listener.fileno()
            with self.log.open("ab") as output:
                self.process = subprocess.Popen(
                    [sys.executable, "-c", HANDED_ON, str(number), *command],
                    cwd=here(self.settings["WorkingDirectory"]),
                    env={**self.environment, "NOTIFY_SOCKET": str(address)},
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=[number],
                )
            deadline = time.monotonic() + PATIENCE_SECONDS
            while True:
                with contextlib.suppress(TimeoutError):
                    if b"READY=1" in told.recv(4096):
                        return
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RunError(self.log.read_text())

    def end(self) -> None:
        """As KillMode=mixed: tell the first process, wait for it, kill what is left."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(float(self.settings["TimeoutStopSec"]))
        finally:
            self.kill_group()

    def kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def restart(self) -> None:
        """As `systemctl restart`: returns when it is ready."""
        with self.lock:
            self.end()
            self.start()

    def keep(self) -> None:
        """As Restart=always, with what else there is of it killed first."""
        while not self.ending:
            time.sleep(0.02)
            with self.lock:
                if self.ending or self.process.poll() is None:
                    continue
                self.kill_group()
                self.deaths += 1
                time.sleep(float(self.settings["RestartSec"]))
                self.start()

    def stop(self) -> None:
        with self.lock:
            self.ending = True
            self.end()
        self.keeper.join()

    def workers(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()
