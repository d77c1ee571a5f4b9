"""What each role may do, asked of the database for every table and every right."""

import io

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from partnerapi.core.owner import OWNER
from partnerapi.core.roles import (
    APPLICATION,
    CALLED_BY_APPLICATION,
    CALLED_BY_RELEASE_BEFORE,
    RELEASE_BEFORE,
    RIGHTS,
    SECRETS,
    Role,
    session_statements,
    statements,
)
from tests.administration import READER
from tests.owner import as_owner, tamper

HAS = """
    SELECT c.relname, r.name
    FROM pg_class c CROSS JOIN unnest(%s::text[]) AS r (name)
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
        AND has_any_column_privilege(%s, c.oid, r.name)
"""
HAS_ALL = """
    SELECT c.relname, r.name
    FROM pg_class c CROSS JOIN unnest(%s::text[]) AS r (name)
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
        AND has_table_privilege(%s, c.oid, r.name)
"""
ON_COLUMNS = ["SELECT", "INSERT", "UPDATE", "REFERENCES"]
ON_TABLES = [*RIGHTS, "TRUNCATE", "REFERENCES", "TRIGGER"]


def rows(statement: str, *parameters: object) -> set[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return set(cursor.fetchall())


def rights_of(role: str) -> set[tuple]:
    """Every right that a role has on a table, or on any column of one."""
    return rows(HAS_ALL, ON_TABLES, role) | rows(HAS, ON_COLUMNS, role)


def tables() -> set[str]:
    return {
        name
        for (name,) in rows(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'v')"
            " AND relnamespace = 'public'::regnamespace"
        )
    }


def grant(role: str, kind: str) -> str:
    output = io.StringIO()
    with as_owner():
        call_command("grant_application_role", role, "--as", kind, stdout=output)
    return output.getvalue()


def test_the_application_has_the_rights_of_its_table_and_no_others(
    db: None, application: dict[str, str]
):
    assert tables() == set(APPLICATION)
    expected = {
        (table, right)
        for table, rights in APPLICATION.items()
        for right in RIGHTS
        if right in rights
    }
    assert rights_of(application["USER"]) == expected


def test_tests_run_as_the_application(db: None, application: dict[str, str]):
    [(role, is_super, is_owner)] = rows(
        "SELECT current_user, rolsuper, pg_has_role(relowner, 'MEMBER')"
        " FROM pg_roles, pg_class"
        " WHERE rolname = session_user AND relname = 'issuers_token'"
    )
    assert (role, is_super, is_owner) == (application["USER"], False, False)


def test_the_application_calls_the_functions_that_it_needs(db: None):
    closed = {
        name
        for (name,) in rows(
            "SELECT oid::regprocedure::text FROM pg_proc WHERE prosecdef"
            " AND pronamespace = 'public'::regnamespace"
            " AND NOT has_function_privilege(oid, 'EXECUTE')"
        )
    }
    opened = {
        name
        for (name,) in rows(
            "SELECT oid::regprocedure::text FROM pg_proc"
            " WHERE pronamespace = 'public'::regnamespace"
            " AND has_function_privilege(oid, 'EXECUTE')"
            " AND NOT has_function_privilege('public', oid, 'EXECUTE')"
        )
    }
    named = {
        name
        for (name,) in rows(
            "SELECT f::regprocedure::text FROM unnest(%s::text[]) f",
            list(CALLED_BY_APPLICATION),
        )
    }
    assert opened == named
    # Those of triggers are attached to no other table.
    assert {name for name in closed if name.startswith("events_open")} == {
        "events_open_head()"
    }


def test_no_function_of_the_owner_finds_a_table_of_somebody_else(db: None):
    [*unsafe] = rows(
        "SELECT oid::regprocedure::text FROM pg_proc WHERE prosecdef"
        " AND pronamespace = 'public'::regnamespace AND NOT"
        " ('search_path=pg_catalog, public, pg_temp' = ANY (proconfig)) IS TRUE"
    )
    assert unsafe == []


def test_a_new_table_may_be_read_and_nothing_else(
    db: None, application: dict[str, str]
):
    tamper("CREATE TABLE tests_new (id integer)")
    assert {
        right for table, right in rights_of(application["USER"]) if table == "tests_new"
    } == {"SELECT"}


def test_readers_see_no_secrets_and_backups_everything(db: None):
    reader = READER
    tamper(*grant_of(reader, "read-only"))
    secret = {table for table, columns in SECRETS.items() if not columns}
    assert rights_of(reader) == {(table, "SELECT") for table in tables() - secret}
    for table, columns in SECRETS.items():
        for column in columns:
            statement = "SELECT has_column_privilege(%s, %s::regclass, %s, 'SELECT')"
            assert rows(statement, reader, table, column) == {(False,)}
    tamper(*grant_of(reader, "backup"))
    assert rights_of(reader) == {(table, "SELECT") for table in tables()}


def grant_of(role: str, kind: str) -> list[str]:
    return list(statements(connection, Role(kind), role))


@pytest.mark.django_db(transaction=True)
def test_roles_that_no_right_can_bind_are_refused(settings):
    for role, said in (
        ("nobody_here", "There is no role nobody_here; an administrator"),
        ("postgres", "postgres is a superuser, whose rights cannot be revoked."),
        (settings.DATABASES[OWNER]["USER"], "which owns the tables, and has all"),
    ):
        with pytest.raises(CommandError, match=said):
            grant(role, "application")


@pytest.mark.django_db(transaction=True)
def test_it_prints_what_it_would_run(application: dict[str, str]):
    role = application["USER"]
    printed = grant(role, "application")
    assert printed.startswith("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    assert f'GRANT SELECT, INSERT ON "issuers_legacyimport" TO "{role}";\n' in printed
    # `verify` makes temporary tables, also where not everyone may.
    database = connection.settings_dict["NAME"]
    assert f'GRANT CONNECT, TEMPORARY ON DATABASE "{database}" TO "{role}";' in printed


@pytest.mark.django_db
def test_behind_a_pooler_the_role_gives_itself_the_limits_of_a_session():
    role, session = connection.settings_dict["USER"], settings.SESSION_OF_REQUESTS
    with connection.cursor() as cursor:
        for statement in session_statements(connection, role, session):
            cursor.execute(statement)
    assert rows(
        "SELECT unnest(setconfig) FROM pg_db_role_setting"
        " WHERE setrole = %s::regrole AND setdatabase <> 0",
        role,
    ) == {(f"{name}={value}",) for name, value in session.items()}


def test_the_release_before_keeps_its_rights_only_where_asked(
    db: None, application: dict[str, str]
):
    role = application["USER"]
    alone = [*statements(connection, Role.APPLICATION, role)]
    beside = [*statements(connection, Role.APPLICATION, role, True)]
    assert beside[: len(alone)] == alone
    assert beside[len(alone) :] == [
        *(f'GRANT {r} ON "{table}" TO "{role}"' for table, r in RELEASE_BEFORE.items()),
        *(
            f'GRANT EXECUTE ON FUNCTION {function} TO "{role}"'
            for function in CALLED_BY_RELEASE_BEFORE
        ),
    ]
