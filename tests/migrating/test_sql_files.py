"""The files of SQL are what the migrations install, and run as they are."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from partnerapi.core.database import SCHEMA_FIRST
from partnerapi.core.sql_files import ROOMS, SqlFile, every_file, sql_files
from partnerapi.core.sql_objects import SqlFunction, SqlObject, installed_objects
from tests.owner import as_owner

FILES = {file.path.name: file for file in every_file()}


def catalogue(cursor: CursorWrapper) -> dict[str, SqlObject]:
    cursor.execute(SCHEMA_FIRST)
    return {found.key: found for found in installed_objects(cursor)}


def owners_and_rights(cursor: CursorWrapper) -> list[tuple]:
    """Each function's and view's owner, with the rights of the owner and of PUBLIC."""
    cursor.execute(OWNERS)
    return cursor.fetchall()


OWNERS = """
    SELECT name, owner::regrole::text, ARRAY(
        SELECT concat_ws(' ', a.grantee = 0, a.privilege_type) FROM aclexplode(acl) a
        WHERE a.grantee IN (0, owner) ORDER BY 1)
    FROM (
        SELECT p.oid::regprocedure::text AS name, p.proowner AS owner,
            coalesce(p.proacl, acldefault('f', p.proowner)) AS acl
        FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
            AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = p.oid
                AND e.classid = 'pg_proc'::regclass AND e.deptype = 'e')
        UNION ALL
        SELECT c.relname, c.relowner, coalesce(c.relacl, acldefault('r', c.relowner))
        FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
            AND c.relkind = 'v'
    ) AS made ORDER BY name
"""


def removed(found: dict[str, SqlObject]) -> Iterator[str]:
    """Drops views, then triggers, then functions with the checks that call them."""
    for one in reversed(found.values()):
        yield one.drop().replace(";", " CASCADE;")


@pytest.fixture
def owner(db: None) -> Iterator[CursorWrapper]:
    """A transaction of the owner's that is undone."""
    with as_owner(), transaction.atomic(), connection.cursor() as cursor:
        yield cursor
        transaction.set_rollback(True)


@pytest.mark.django_db
def test_the_files_are_what_migrations_install():
    with transaction.atomic(), connection.cursor() as cursor:
        found = catalogue(cursor)
    said = {one.key: one for file in every_file() for one in file.objects()}
    differing = {key for key in {*said, *found} if said.get(key) != found.get(key)}
    assert differing == set(), "manage.py write sql --name … writes their migration"


def test_the_files_run_over_the_tables(owner: CursorWrapper):
    before, rights = catalogue(owner), owners_and_rights(owner)
    for statement in removed(before):
        owner.execute(statement)
    assert catalogue(owner) == {}
    # An SQL function may stand before the one that it calls, as in a dump.
    owner.execute("SET LOCAL check_function_bodies = off")
    for file in every_file():
        owner.execute(file.text)
    assert catalogue(owner) == before
    assert owners_and_rights(owner) == rights


def test_the_files_run_again_over_themselves(owner: CursorWrapper):
    before = catalogue(owner)
    for file in every_file():
        owner.execute(file.text)
    assert catalogue(owner) == before


@pytest.mark.parametrize("label", ROOMS)
def test_each_app_has_its_files(label: str):
    assert sql_files()[label]


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_a_contract_and_what_it_is_called(name: str):
    """Nothing stands in it that is not read from it, so nothing escapes the checks."""
    file: SqlFile = FILES[name]
    assert file.text.startswith("-- ")
    functions = [one for one in file.objects() if isinstance(one, SqlFunction)]
    assert {one.name for one in (*functions, *file.views())} <= {file.path.stem}
    assert bool(functions) == bool(file.callers)
    statements = re.findall(
        r"^(?:CREATE|ALTER|REVOKE|GRANT|DROP|DO|SELECT|SET ROLE)\b", file.text, re.M
    )
    assert len(re.findall("^CREATE", file.text, re.M)) == len(list(file.objects()))
    assert not {"GRANT", "DO", "SELECT", "SET ROLE"} & {*statements}


def test_a_migration_holds_its_own_text():
    importing = [
        str(path.relative_to(settings.BASE_DIR))
        for label in ROOMS
        for path in Path(apps.get_app_config(label).path, "migrations").glob("*.py")
        if re.search(r"import_module|\w\.migrations\.\w+ import", path.read_text())
    ]
    assert importing == []
