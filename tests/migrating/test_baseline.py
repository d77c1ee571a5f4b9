"""An empty database begins with the baseline; an older one must reach it first."""

import hashlib
import re

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from partnerapi.core import migrating
from partnerapi.management.commands.migrate import BASELINE, HOLD, RELEASE
from tests.migrating.empty import empty_database

RECORDED = re.compile(r"^    \('(\w+)', '(\w+)'\)", re.MULTILINE)
DIGEST = "7655a7924712e1ba876649b7312cdefe06a03956a4e10e9b7d7437cd47e70b83"
"""SHA-256 of the text. Installations of b5e26fa have exactly these tables."""


@pytest.fixture
def empty(django_db_setup: None, django_db_blocker):
    with empty_database(django_db_blocker):
        yield


def migrate(*target: str) -> None:
    call_command("migrate", *target, skip_checks=True, verbosity=0)


def test_the_text_is_frozen():
    assert hashlib.sha256(BASELINE.read_bytes()).hexdigest() == DIGEST


def test_baselines_replace_the_migrations_that_the_text_records():
    loader = MigrationLoader(None)
    replaced = [
        name
        for migration in loader.disk_migrations.values()
        for name in migration.replaces
    ]
    ours = {app for app, _ in replaced}
    recorded = RECORDED.findall(BASELINE.read_text())
    assert sorted(replaced) == sorted(name for name in recorded if name[0] in ours)
    assert len(replaced) == len({*replaced}) == 96


def test_an_app_is_migrated_on_top_of_the_baseline(empty: None):
    migrate("accounts", "0026")
    applied = MigrationRecorder(connection).applied_migrations()
    assert ("accounts", "0025_baseline") in applied
    assert ("accounts", "0026_history_of_staff") in applied
    assert ("issuers", "0044_read_committed") not in applied


def test_an_older_installation_must_reach_the_baseline_first(empty: None):
    migrate("accounts", "0025")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE name ~ '^0025'")
    with pytest.raises(CommandError, match="Run `migrate` of b5e26fa first"):
        migrate()


def test_a_database_with_djangos_tables_alone_is_refused(empty: None):
    MigrationRecorder(connection).ensure_schema()
    with pytest.raises(CommandError, match="Start with an empty database"):
        migrate()


def test_a_second_migrate_waits_for_the_first(empty: None, monkeypatch):
    monkeypatch.setattr(migrating, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(migrating, "MOST_TRIES", 2)
    with other_session() as first:
        first.execute(HOLD)
        with pytest.raises(CommandError, match="lock timeout"):
            migrate()
        assert not MigrationRecorder(connection).has_table()
        first.execute(RELEASE)
        migrate()
        retried = first.execute(HOLD.replace("pg_advisory", "pg_try_advisory"))
        assert retried.fetchall() == [(True,)]


def other_session() -> psycopg.Connection:
    return psycopg.connect(**connection.get_connection_params(), autocommit=True)


def test_only_migrate_installs_an_empty_database(empty: None):
    executor = MigrationExecutor(connection)
    with pytest.raises(RuntimeError, match="installed by `manage.py migrate`"):
        executor.migrate(executor.loader.graph.leaf_nodes())
