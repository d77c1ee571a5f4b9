"""The empty, migrated tables, made once for each state of what makes them.

Their dump lies in the user's cache under a digest of the files that make them, of the
libraries and of PostgreSQL's version.
"""

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from partnerapi.sandbox.run.postgres import (
    Postgres,
    find_postgres,
    machine_postgres,
    wheel_postgres,
)

ROOT = Path(__file__).parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / (
    "partnerapi-tests"
)
ROOMS = ("accounts", "issuers", "marketdata", "partnerapi")
MAKES_TABLES = (
    "migrations/*.py", "migrations/*.sql", "sql/*/*.sql", "models.py", "models/*.py",
    "apps.py", "access.py", "roles.py", "core/*.py", "commands/migrate.py",
)  # fmt: skip
"""Files of the rooms; the databases of tests have also what `tests/owner.py` adds."""
KEPT_SECONDS = 14 * 24 * 3600


def digest(postgres: Postgres) -> str:
    """Names the tables that a `migrate` of this code makes on that PostgreSQL."""
    said = hashlib.sha256(
        subprocess.check_output([postgres.programs / "postgres", "-V"])
    )
    said.update(os.environ.get("MARKET_TIME_ZONE", "").encode())
    for path in makers():
        said.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return said.hexdigest()[:16]


def makers() -> list[Path]:
    """The files that make the tables, and what the application may do with them."""
    found = [ROOT / "pyproject.toml", ROOT / "tests" / "owner.py"]
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if any(path.match(pattern) for pattern in MAKES_TABLES):
                found.append(path)
    return found


def make_tables(owner_url: str) -> None:
    """Restore the tables into an empty database; migrate it where none are kept.

    Raises:
        subprocess.CalledProcessError: a program failed; it has said why.
    """
    postgres = postgres_of(owner_url)
    with alone(CACHE / f"tables-{digest(postgres)}.dump") as kept:
        if not kept.exists():
            migrate(owner_url)
            unfinished = kept.with_suffix(".unfinished")
            dump = ("--format=custom", f"--file={unfinished}", owner_url)
            run(postgres, "pg_dump", *dump)
            unfinished.rename(kept)
            remove_old()
            return
        kept.touch()
    run(postgres, "pg_restore", "--exit-on-error", f"--dbname={owner_url}", str(kept))


@contextlib.contextmanager
def alone(path: Path) -> Iterator[Path]:
    """Hold a file's lock, for which others wait; its directory is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path


def migrate(owner_url: str) -> None:
    addresses = dict.fromkeys(("DATABASE_URL", "DATABASE_OWNER_URL"), owner_url)
    subprocess.run(
        [sys.executable, ROOT / "manage.py", "migrate", "--verbosity=0"],
        env={**os.environ, **addresses},
        check=True,
    )


def remove_old() -> None:
    """Delete dumps that no run has asked for within KEPT_SECONDS."""
    for path in CACHE.glob("tables-*.dump"):
        if path.stat().st_mtime < time.time() - KEPT_SECONDS:
            path.unlink(missing_ok=True)
            path.with_suffix(".lock").unlink(missing_ok=True)


def remove_unfinished(cache: Path) -> None:
    """Delete what is left of dumps that no run writes any more."""
    for path in cache.glob("tables-*.unfinished"):
        with (
            path.with_suffix(".lock").open("a") as lock,
            contextlib.suppress(BlockingIOError),
        ):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)


def postgres_of(url: str) -> Postgres:
    """The PostgreSQL whose server, which runs on this machine, an address names."""
    return best_postgres(Path(conninfo_to_dict(url)["host"]))


def best_postgres(private: Path) -> Postgres:
    return find_postgres(private, [*machine_postgres(), *wheel_postgres()])


def run(postgres: Postgres, name: str, *arguments: str) -> None:
    subprocess.run([postgres.programs / name, *arguments], check=True)
