"""PostgreSQL and Valkey where no address of one is configured.

They run on unix sockets in a private directory. Knows nothing of Django.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from partnerapi.sandbox.run.places import private_directory, server_account
from partnerapi.sandbox.run.postgres import (
    APPLICATION,
    OWNER,
    database_url,
    find_postgres,
    machine_postgres,
    start_postgres,
    wheel_postgres,
)
from partnerapi.sandbox.run.processes import Processes
from partnerapi.sandbox.run.valkey import start_valkey

ADDRESSES = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL")


def supply(
    directory: Path,
    processes: Processes,
    configured: Mapping[str, str],
    *,
    durable: bool = True,
) -> dict[str, str]:
    """The addresses of PostgreSQL and Valkey, as DATABASE_URL and REDIS_URL.

    What `configured` names is used; what it does not is started, with its data
    below `directory`. A PostgreSQL of our own has a second address, for the owner of
    the tables, DATABASE_OWNER_URL. Without `durable` a crash of the machine may lose
    them.

    Raises:
        RunError: no programs, or a server that does not start.
        OSError: the directory cannot be used.
        Interrupted: someone asked for the end meanwhile.
    """
    urls = {n: configured[n] for n in ADDRESSES if configured.get(n)}
    if "DATABASE_URL" in urls and "REDIS_URL" in urls:
        return urls
    account = server_account(directory / "servers")
    private = private_directory(directory, account)
    if "DATABASE_URL" not in urls:
        postgres = find_postgres(private, [*machine_postgres(), *wheel_postgres()])
        start_postgres(postgres, private, account, processes, durable=durable)
        urls["DATABASE_URL"] = database_url(private, APPLICATION)
        urls["DATABASE_OWNER_URL"] = database_url(private, OWNER)
    if "REDIS_URL" not in urls:
        socket = start_valkey(private, account, processes)
        urls["REDIS_URL"] = f"unix://{quote(str(socket))}?db=0"
    return urls
