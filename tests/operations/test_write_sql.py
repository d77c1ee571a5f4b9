"""`write sql`: migrations with the text of both directions, from the files of SQL."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from partnerapi.core import sql_files
from partnerapi.core.sql_files import ROOMS, SqlFile
from partnerapi.management.write import sql as write_sql
from partnerapi.operations.sql_migrations import NotByFile, changes, script
from tests.migrating.rules import broken
from tests.migrating.test_sql_files import catalogue
from tests.owner import as_owner

pytestmark = pytest.mark.django_db

NEW = """-- Says how many; for a test.
-- called by: anyone
CREATE OR REPLACE FUNCTION public.accounts_try(many integer DEFAULT 1)
RETURNS integer LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT many $$;
"""
REVOKED = "REVOKE ALL ON FUNCTION public.cash_names(text, text) FROM PUBLIC;\n"
# A body; a trigger that can only be made anew; a right; a view.
ANOTHER_TEXT = {
    "accounts_keep_names.sql": ("holder_id = OLD.id", "holder_id IN (OLD.id)"),
    "approvals_rested.sql": ("commit AFTER INSERT", "commit AFTER INSERT OR UPDATE"),
    "cash_names.sql": (REVOKED, ""),
    "trading_fill.sql": ("'TAKER'::text", "'TAKES'::text"),
}
GONE = "staff_log_stays.sql"


@pytest.fixture
def edited(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[SqlFile]]:
    """The files with some that say something else, one more and one less."""

    def edit(file: SqlFile) -> SqlFile:
        before, after = ANOTHER_TEXT.get(file.path.name, ("", ""))
        assert before in file.text
        return replace(
            file, text=file.text.replace(before, after) if before else file.text
        )

    files = {
        label: [edit(file) for file in of_app if file.path.name != GONE]
        for label, of_app in sql_files.sql_files().items()
    }
    files["accounts"].append(SqlFile(Path("accounts_try.sql"), NEW))
    monkeypatch.setattr(write_sql, "sql_files", lambda: files)
    return files


@pytest.fixture
def owner() -> Iterator[CursorWrapper]:
    """A transaction of the owner's that is undone."""
    with as_owner(), transaction.atomic(), connection.cursor() as cursor:
        yield cursor
        transaction.set_rollback(True)


def test_nothing_is_to_be_written():
    assert call_command("write", "sql", "--check") == "Nothing has changed."


def test_a_name_is_needed():
    with pytest.raises(CommandError, match="--name"):
        call_command("write", "sql")


@pytest.mark.parametrize("name", ["bad name!", "../there", "Name", ""])
def test_a_name_is_that_of_a_module(name: str):
    with pytest.raises(CommandError, match="--name"):
        call_command("write", "sql", "--name", name)


def test_what_changed_is_named(edited: dict, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(CommandError, match="run manage.py write sql"):
        call_command("write", "sql", "--check")
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "accounts: function accounts_keep_names()",
        "accounts: function accounts_try(integer)",
        "accounts: function cash_names(text, text)",
        "accounts: trigger approvals_rested_at_the_commit on accounts_approvaldecision",
        "partnerapi: function staff_log_stays()",
        "partnerapi: trigger staff_log_stays on django_admin_log",
        "trading: view trading_fill",
    ]


def test_the_migrations_lead_there_and_back(
    edited: dict,
    owner: CursorWrapper,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(
        write_sql,
        "next_migration",
        lambda label, name: (tmp_path / f"{label}_{name}.py", [(label, "0001_before")]),
    )
    call_command("write", "sql", "--name", "try_it", stdout=io.StringIO())
    before = catalogue(owner)
    modules = []
    for label in ROOMS:
        path = tmp_path / f"{label}_try_it.py"
        if path.exists():
            module: dict = {}
            exec(compile(path.read_text(), path, "exec"), module)
            modules.append(module)
    assert [m["Migration"].dependencies for m in modules] == [
        [("accounts", "0001_before")],
        [("trading", "0001_before"), ("accounts", "accounts_try_it")],
        [
            ("partnerapi", "0001_before"),
            ("accounts", "accounts_try_it"),
            ("trading", "trading_try_it"),
        ],
    ]
    for module in modules:
        has_trigger = " TRIGGER " in module["FORWARD"]
        for way in ("FORWARD", "BACKWARD"):
            held = "LOCK TABLE" in module[way].partition("CREATE")[0]
            assert held == has_trigger
        owner.execute(module["FORWARD"])
        told = (module["__doc__"] or "").startswith("Contract:")
        assert list(broken(module["FORWARD"], told)) == []
    wanted = {
        o.key: o for of_app in edited.values() for f in of_app for o in f.objects()
    }
    assert catalogue(owner) == wanted
    for module in reversed(modules):
        owner.execute(module["BACKWARD"])
    assert catalogue(owner) == before


def test_another_result_is_another_function():
    [file] = [SqlFile(Path("accounts_try.sql"), NEW)]
    found = {one.key: one for one in file.objects()}
    other = SqlFile(file.path, NEW.replace("RETURNS integer", "RETURNS bigint"))
    with pytest.raises(NotByFile, match="a new name"):
        changes(found, {one.key: one for one in other.objects()})


def test_a_function_comes_before_its_trigger_and_goes_after_it():
    [function, trigger] = [
        one
        for file in sql_files.every_file()
        if file.path.name == GONE
        for one in file.objects()
    ]
    there = script(changes({}, {one.key: one for one in (trigger, function)}))
    assert there.index("FUNCTION") < there.index("TRIGGER")
    back = script(changes({one.key: one for one in (trigger, function)}, {}))
    assert back.index("DROP TRIGGER") < back.index("DROP FUNCTION")
