"""pgbouncer before a throw-away PostgreSQL: a session is lent for one transaction."""

import os
import shutil
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from partnerapi.sandbox.run.places import ENVIRONMENT, server_account
from partnerapi.sandbox.run.processes import Processes, RunError
from tests.system import free_port

CONFIGURATION = """
[databases]
{name} = host={host} port={port} dbname={name} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listens}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 1000
log_connections = 0
log_disconnections = 0
"""


def find_pgbouncer() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


def start_pooler(directory: Path, processes: Processes, connections: int) -> str:
    """The address at which DATABASE_URL is served by so many sessions.

    Raises:
        RunError: this machine has no pgbouncer.
    """
    program = find_pgbouncer()
    if program is None:
        raise RunError("pgbouncer is not installed; run: apt-get install pgbouncer")
    direct = urlsplit(os.environ["DATABASE_URL"])
    listens = free_port()
    written = CONFIGURATION.format(
        name=direct.path[1:],
        host=parse_qs(direct.query)["host"][0],
        port=direct.port,
        user=direct.username,
        listens=listens,
        connections=connections,
    )
    file = directory / "pgbouncer.ini"
    file.write_text(written)
    file.chmod(0o644)
    pooler = processes.start(
        "pgbouncer",
        [program, "--quiet", file],
        environment=ENVIRONMENT,
        account=server_account(directory / "servers"),
    )
    address = f"postgres://{direct.username}@127.0.0.1:{listens}{direct.path}"

    def answers() -> bool:
        try:
            psycopg.connect(address, prepare_threshold=None).close()
        except psycopg.OperationalError:
            return False
        return True

    processes.wait_until(answers, pooler, 60)
    return address
