"""plpgsql_check finds nothing in any function: no unknown column, no wrong type."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection

from partnerapi.sandbox.run.postgres import ADMINISTRATOR

KNOWN = {
    ("accounts_follow_staff", "target type is different type than source type"):
    "a history keeps the ids of all tables as texts",
    ("erasure_erase", "target type is different type than source type"):
    "texts that were JSON are JSON with other names",
    ("erasure_rows", "OUT variable \"ends\" is maybe unmodified"):
    "RETURN QUERY EXECUTE returns it",
    ("erasure_rows", "OUT variable \"key\" is maybe unmodified"):
    "RETURN QUERY EXECUTE returns it",
    ("erasure_rows", "OUT variable \"place\" is maybe unmodified"):
    "RETURN QUERY EXECUTE returns it",
    ("erasure_rows", "text type variable is not sanitized"):
    "the texts are those of erasure_places, which are constants",
    ("offerings_settle", "target type is different type than source type"):
    "an empty array is a text before it gets its type",
    ("register_instant", "control reached end of function without RETURN"):
    "it loops until it returns",
}  # fmt: skip
"""What it says of functions that are right, and why they are."""

# A function is judged for each table that calls it, by what all its triggers bring.
JUDGED = """
    SELECT p.proname, c.message, format('%%s, line %%s: %%s %%s', t.relation::regclass,
        c.lineno, c.detail, c.query)
    FROM pg_proc p
    JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'plpgsql'
    LEFT JOIN LATERAL (
        SELECT tgrelid AS relation, max(tgnewtable) AS new,
            nullif(max(tgoldtable), coalesce(max(tgnewtable), '')) AS old
        FROM pg_trigger WHERE tgfoid = p.oid AND NOT tgisinternal GROUP BY tgrelid
    ) t ON TRUE
    CROSS JOIN LATERAL plpgsql_check_function_tb(p.oid, coalesce(t.relation, 0),
        oldtable => t.old, newtable => t.new, performance_warnings => FALSE,
        security_warnings => TRUE) c
    WHERE p.pronamespace = 'public'::regnamespace AND %(name)s::text IN (p.proname, '')
        AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = p.oid
            AND e.classid = 'pg_proc'::regclass AND e.deptype = 'e')
"""


@pytest.fixture
def administrator(db: None) -> Iterator[psycopg.Connection]:
    """A session in the tests' database with the extension, which is undone."""
    connection.ensure_connection()
    here = connection.connection.info
    session = psycopg.connect(
        host=here.host, port=here.port, dbname=here.dbname, user=ADMINISTRATOR
    )
    with session:
        [(version, is_there)] = session.execute(
            "SELECT split_part(current_setting('server_version'), '.', 1), EXISTS ("
            "SELECT FROM pg_available_extensions WHERE name = 'plpgsql_check')"
        ).fetchall()
        if not is_there:
            pytest.skip(
                f"plpgsql_check is not installed: on Debian, apt-get install "
                f"postgresql-{version}-plpgsql-check"
            )
        session.execute("CREATE EXTENSION plpgsql_check")
        yield session
        session.rollback()


def test_plpgsql_check_finds_nothing(administrator: psycopg.Connection):
    found = administrator.execute(JUDGED, {"name": ""})
    said = {(name, message): where for name, message, where in found}
    assert {k: w for k, w in said.items() if k not in KNOWN} == {}
    assert said.keys() == KNOWN.keys()


@pytest.mark.parametrize(
    ("column", "message"),
    [("unit", 'column "unit" does not exist'), ("code + 1", "operator does not exist")],
)
def test_plpgsql_check_finds_what_is_wrong(
    administrator: psycopg.Connection, column: str, message: str
):
    administrator.execute(
        "CREATE FUNCTION wrong() RETURNS void LANGUAGE plpgsql AS $$ BEGIN"
        f" PERFORM {column} FROM accounts_country; END $$"
    )
    found = administrator.execute(JUDGED, {"name": "wrong"}).fetchall()
    assert [message in said for _, said, _ in found] == [True]
