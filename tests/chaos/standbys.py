"""A streaming standby of a throw-away PostgreSQL."""

import os
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


def start_standby(directory: Path, processes: Processes) -> str:
    """Where the standby of the server below a directory serves DATABASE_URL's role."""
    account = server_account(directory / "servers")
    private = private_directory(directory, account)
    postgres = find_postgres(private, [*machine_postgres(), *wheel_postgres()])
    programs = runnable_programs(postgres, private, account)
    data = private / "standby"
    backup = processes.start(
        "pg_basebackup",
        [
            *(programs / "pg_basebackup", "--host", private, "--port", str(PORT)),
            *("--username", ADMINISTRATOR, "--pgdata", data, "--write-recovery-conf"),
            *("--wal-method=stream", "--checkpoint=fast", "--no-sync"),
        ],
        environment=ENVIRONMENT,
        account=account,
        quiet=True,
    )
    processes.finish(backup)
    server = processes.start(
        "standby",
        [
            *(programs / "postgres", "-D", data, "-c", "listen_addresses="),
            *("-c", f"port={STANDBY_PORT}", "-c", "max_connections=200"),
            *("-c", f"unix_socket_directories={private}"),
            # What is here streams from it again as soon as it is back.
            *("-c", "wal_retrieve_retry_interval=100ms"),
        ],
        environment=ENVIRONMENT,
        account=account,
    )
    url = address_of_standby(os.environ["DATABASE_URL"])

    def answers() -> bool:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            return False
        return True

    processes.wait_until(answers, server, START_SECONDS)
    return url


def address_of_standby(url: str) -> str:
    parts = urlsplit(url)
    user = f"{parts.username}@"
    return parts._replace(netloc=f"{user}:{STANDBY_PORT}").geturl()
