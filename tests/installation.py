"""An installation to throw away, for commands that measure outside pytest."""

import contextlib
import io
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import django
from psycopg.conninfo import conninfo_to_dict

from partnerapi.sandbox.run.postgres import (
    find_postgres,
    machine_postgres,
    wheel_postgres,
)
from tests.servers import SETTINGS, TABLES, throw_away_servers

UNLIMITED = str(10**9)
BUDGETS = (
    "PARTNER_API_BUDGET_POINTS",
    "PARTNER_API_BUDGET_REFILL",
    "PARTNER_API_ANONYMOUS_BUDGET_POINTS",
    "PARTNER_API_ANONYMOUS_BUDGET_REFILL",
)


@contextlib.contextmanager
def throw_away_installation(durable: bool = False) -> Iterator[None]:
    """Servers, settings and an empty, migrated database; budgets never run out.

    `durable`: with the guarantees, and at the cost, of an installation that is kept.
    """
    os.environ |= SETTINGS | dict.fromkeys(BUDGETS, UNLIMITED)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "partnerapi.settings",
        "ALLOWED_HOSTS": "testserver,127.0.0.1",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "PARTNER_API_KEY_PEPPER": secrets.token_urlsafe(50),
    }
    with throw_away_servers(durable) as urls:
        os.environ |= urls
        django.setup()
        from django.db import connection, connections

        from partnerapi.core.owner import owner_alias
        from tests.owner import allow_tampering

        migrate()
        allow_tampering(connections[owner_alias()])
        try:
            yield
        finally:
            connection.close()


def migrate() -> None:
    """Make the tables as their owner, and give the application its rights."""
    from django.core.management import call_command
    from django.db import connection

    kept = os.environ.get(TABLES)
    if kept and Path(kept).exists():
        run_program("pg_restore", "--exit-on-error", f"--dbname={owner()}", kept)
    else:
        call_command("migrate", verbosity=0)
        if kept:
            unfinished = f"{kept}.{os.getpid()}"
            run_program("pg_dump", "--format=custom", f"--file={unfinished}", owner())
            Path(unfinished).rename(kept)
    role = connection.settings_dict["USER"]
    call_command("grant_application_role", role, "--apply", stdout=io.StringIO())


def owner() -> str:
    return os.environ["DATABASE_OWNER_URL"]


def run_program(name: str, *arguments: str) -> None:
    """Run one of the programs of the PostgreSQL that the owner's address names."""
    private = Path(conninfo_to_dict(owner())["host"])
    found = find_postgres(private, [*machine_postgres(), *wheel_postgres()])
    subprocess.run([found.programs / name, *arguments], check=True)
