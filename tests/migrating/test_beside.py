"""Migrations beside those who use the tables: they try again, and wait for no one."""

import psycopg
import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.db.migrations.state import ProjectState

from accounts.people.models import Country
from partnerapi.core import migrating
from partnerapi.core.migrating import AddIndexBeside, again_while_locked, waiting
from tests.operations.test_probes import url_of_test_database
from tests.owner import as_owner

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_locked_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(migrating, "PAUSE_SECONDS", 0)
    told: list[str] = []

    def attempt() -> int:
        with (
            waiting(connection, 0.01),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute("LOCK TABLE accounts_country IN SHARE MODE")
            return Country.objects.count()

    with psycopg.connect(url_of_test_database()) as other:
        other.execute("LOCK TABLE accounts_country IN ROW EXCLUSIVE MODE")

        def let_go(text: str) -> None:
            told.append(text)
            if len(told) == 2:
                other.rollback()

        assert again_while_locked(attempt, let_go) == Country.objects.count()
        assert len(told) == 2
        other.execute("LOCK TABLE accounts_country IN ROW EXCLUSIVE MODE")
        monkeypatch.setattr(migrating, "MOST_TRIES", 3)
        with pytest.raises(migrating.StillLocked, match="lock timeout"):
            again_while_locked(attempt)
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchall() == [("2s",)]


def test_a_migration_whose_last_statement_is_locked_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(migrating, "PAUSE_SECONDS", 0)
    attempts: list[bool] = []

    def attempt() -> None:
        attempts.append(connection.in_atomic_block)
        with waiting(connection, 0.01), connection.schema_editor() as editor:
            editor.deferred_sql.append("LOCK TABLE accounts_country IN SHARE MODE")

    with psycopg.connect(url_of_test_database()) as other:
        other.execute("LOCK TABLE accounts_country IN ROW EXCLUSIVE MODE")
        again_while_locked(attempt, lambda text: other.rollback())
    assert attempts == [False, False]
    assert not connection.in_atomic_block
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchall() == [("2s",)]


IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('by_region')"
LEFT_OVER = """
    CREATE UNIQUE INDEX CONCURRENTLY by_region ON accounts_country ((left(code, 1)))
"""


def test_an_index_that_was_not_finished_is_built_anew_and_one_that_was_stays():
    state = ProjectState.from_apps(apps)
    index = models.Index(fields=["name"], name="by_region")
    operation = AddIndexBeside("country", index)
    after = state.clone()
    operation.state_forwards("accounts", after)
    with as_owner():
        # The connection is the owner's from here on.
        own = transaction.get_connection()
        with own.cursor() as cursor:
            with pytest.raises(IntegrityError):
                cursor.execute(LEFT_OVER)
            cursor.execute(IS_VALID)
            assert cursor.fetchall() == [(False,)]
        try:
            for _ in range(2):
                with own.schema_editor(atomic=False) as editor:
                    operation.database_forwards("accounts", editor, state, after)
                with own.cursor() as cursor:
                    cursor.execute(IS_VALID)
                    assert cursor.fetchall() == [(True,)]
        finally:
            with own.schema_editor(atomic=False) as editor:
                operation.database_backwards("accounts", editor, after, state)
        with own.cursor() as cursor:
            cursor.execute(IS_VALID)
            assert cursor.fetchall() == []
