"""What an empty database is given at once is what the migrations make, one by one."""

import re
import subprocess
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from partnerapi.management.commands.migrate import BASELINE, keeping_garbage
from tests.migrating.empty import empty_database
from tests.tables import postgres_of

Schema = tuple[str, list[tuple[str, str]]]
"""A dump, and the migrations recorded as applied: app and name."""
RECORDED = re.compile(r"^    \('(\w+)', '(\w+)'\)", re.MULTILINE)


def all_by_migrations() -> None:
    """As `migrate` does, which would take the baseline."""
    executor = MigrationExecutor(connection)
    with keeping_garbage():
        executor.migrate(executor.loader.graph.leaf_nodes())


def by_migrate() -> None:
    call_command("migrate", skip_checks=True, verbosity=0)


@pytest.fixture
def made(
    django_db_setup: None,
    django_db_blocker: Any,
    environment_of_owner: dict[str, str],
) -> Callable[[Callable[[], None]], Schema]:
    owner_url = environment_of_owner.get("DATABASE_OWNER_URL")
    if owner_url is None:
        pytest.skip("DATABASE_URL names the server: its programs are not known")

    def schema(make: Callable[[], None]) -> Schema:
        with empty_database(django_db_blocker) as name:
            make()
            recorded = [*MigrationRecorder(connection).applied_migrations()]
            url = urlsplit(owner_url)._replace(path=f"/{name}").geturl()
            program = postgres_of(owner_url).programs / "pg_dump"
            dump = subprocess.check_output([program, "--schema-only", url], text=True)
        # A password of the dump's own, each time another one.
        return re.sub(r"(?m)^\\(un)?restrict .*\n", "", dump), recorded

    return schema


def test_an_empty_database_is_as_the_migrations_make_it(made):
    by_one, recorded = made(all_by_migrations)
    at_once, also_recorded = made(by_migrate)
    assert at_once == by_one
    assert sorted(also_recorded) == sorted(recorded)
    assert len(RECORDED.findall(BASELINE.read_text())) == 127
