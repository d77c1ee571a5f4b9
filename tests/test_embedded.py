import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from partnerapi.sandbox.run.places import private_directory, server_account
from partnerapi.sandbox.run.postgres import (
    Postgres,
    find_postgres,
    start_postgres,
    wheel_postgres,
)
from partnerapi.sandbox.run.processes import Processes, RunError


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path / "processes", lambda name, line: None)
    yield processes
    processes.stop()


def test_the_wheels_postgresql_runs_where_nobody_else_can_enter(tmp_path, processes):
    (installed,) = wheel_postgres()
    package = installed.programs.parent.parent
    hidden = tmp_path / "hidden"
    hidden.mkdir(mode=0o700)
    libraries = package.with_suffix(".libs").name
    shutil.copytree(installed.programs.parent, hidden / package.name / "pginstall18")
    shutil.copytree(package.parent / libraries, hidden / libraries)
    programs = hidden / package.name / "pginstall18" / "bin"

    account = server_account(tmp_path / "servers")
    private = private_directory(tmp_path, account)
    try:
        postgres = Postgres(programs, 18, from_wheel=True)
        start_postgres(postgres, private, account, processes, durable=False)
        with psycopg.connect(
            host=str(private), user="postgres", dbname="partnerapi"
        ) as connection:
            row = connection.execute(
                "SELECT current_setting('server_version_num')::int / 10000,"
                " current_setting('TimeZone'), current_setting('server_encoding'),"
                " datcollate, datlocprovider::text"
                " FROM pg_database WHERE datname = 'partnerapi'"
            ).fetchone()
        assert row == (18, "UTC", "UTF8", "C", "c")
        assert (private / "postgresql-18" / "PG_VERSION").read_text() == "18\n"
    finally:
        processes.stop()
        shutil.rmtree(private)


def test_the_version_that_wrote_the_data_is_taken(tmp_path):
    old, new = (Postgres(tmp_path, major, from_wheel=False) for major in (15, 17))
    assert find_postgres(tmp_path, [new, old]) == new
    (tmp_path / "postgresql-15").mkdir()
    assert find_postgres(tmp_path, [new, old]) == old


def test_missing_programs_are_named_with_the_way_to_get_them(tmp_path):
    too_old = Postgres(tmp_path, 14, from_wheel=False)
    with pytest.raises(RunError) as refusal:
        find_postgres(tmp_path, [too_old])
    assert str(refusal.value) == (
        "this machine has no PostgreSQL 15 or newer (initdb and postgres); install "
        "them, or run: .venv/bin/pip install -e '.[sandbox]'"
    )
