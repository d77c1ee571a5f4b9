"""A streaming standby of a throw-away PostgreSQL."""

import os
import signal
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from partnerapi.sandbox.run.places import (
    ENVIRONMENT,
    START_SECONDS,
    private_directory,
    server_account,
)
from partnerapi.sandbox.run.postgres import (
    ADMINISTRATOR,
    PORT,
    find_postgres,
    machine_postgres,
    runnable_programs,
    wheel_postgres,
)
from partnerapi.sandbox.run.processes import Processes

STANDBY_PORT = PORT + 1


class Standby:
    """Beside the server below a directory; killed, and started again."""

    def __init__(self, directory: Path, processes: Processes) -> None:
        self.processes = processes
        self.account = server_account(directory / "servers")
        self.private = private_directory(directory, self.account)
        postgres = find_postgres(self.private, [*machine_postgres(), *wheel_postgres()])
        self.programs = runnable_programs(postgres, self.private, self.account)
        self.data = self.private / "standby"
        self.url = address_of_standby(os.environ["DATABASE_URL"])
        backup = processes.start(
            "pg_basebackup",
            [
                *(self.programs / "pg_basebackup", "--host", self.private),
                *("--port", str(PORT), "--username", ADMINISTRATOR),
                *("--pgdata", self.data, "--write-recovery-conf"),
                *("--wal-method=stream", "--checkpoint=fast", "--no-sync"),
            ],
            environment=ENVIRONMENT,
            account=self.account,
            quiet=True,
        )
        processes.finish(backup)
        self.start()

    def start(self) -> None:
        """Returns when it answers."""
        self.server = self.processes.start(
            "standby",
            [
                *(self.programs / "postgres", "-D", self.data, "-c"),
                *("listen_addresses=", "-c", f"port={STANDBY_PORT}"),
                *("-c", "max_connections=200"),
                *("-c", f"unix_socket_directories={self.private}"),
                # What is here streams from it again as soon as it is back.
                *("-c", "wal_retrieve_retry_interval=100ms"),
            ],
            environment=ENVIRONMENT,
            account=self.account,
        )

        def answers() -> bool:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                return False
            return True

        self.processes.wait_until(answers, self.server, START_SECONDS)

    def kill(self) -> None:
        self.server.popen.send_signal(signal.SIGQUIT)
        self.server.popen.wait(START_SECONDS)
        self.processes.running.remove(self.server)


def start_standby(directory: Path, processes: Processes) -> str:
    """Where the standby of the server below a directory serves DATABASE_URL's role."""
    return Standby(directory, processes).url


def address_of_standby(url: str) -> str:
    parts = urlsplit(url)
    user = f"{parts.username}@"
    return parts._replace(netloc=f"{user}:{STANDBY_PORT}").geturl()
