"""What a session makes for itself in `pg_temp` changes no check and no judgement."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from issuers.compliance import restrictions, rules
from issuers.compliance.restrictions import Terms
from issuers.models import Token
from issuers.register.verification import verify
from partnerapi.sandbox.data.approvals import ASKER, colleague
from tests.characters import World
from tests.issuers.test_tampering import Register
from tests.owner import as_committed, tamper

UNPINNED = """
    SELECT p.oid::regprocedure::text, setting FROM pg_proc p
    LEFT JOIN LATERAL unnest(p.proconfig) AS setting ON setting LIKE 'search_path=%%'
    WHERE p.pronamespace = 'public'::regnamespace
        AND (setting = 'search_path=pg_catalog, public, pg_temp') IS NOT TRUE
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid
            AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')
"""


def run(sql: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


@pytest.mark.django_db
def test_every_function_looks_in_pg_temp_last():
    with connection.cursor() as cursor:
        cursor.execute(UNPINNED, [])
        assert {name.split("(")[0] for name, _ in cursor.fetchall()} == INLINED


INLINED = {
    "accounts_read_committed",
    "accounts_written_directly",
    "cash_entry_detail",
    "cash_entry_line",
    "cash_names",
    "register_api_time",
    "register_chain",
    "register_entry_detail",
    "register_price_detail",
    "search_fold",
}
"""They become part of their callers' statements, and name all by its schema."""
WRONG_CHECK_DIGIT = "FR0000120272"
LEI = "529900T8BM49AURSDO55"
WRONG_LEI = f"{LEI[:-2]}56"
OF_TOKEN = "UPDATE issuers_token SET isin = %s WHERE id = %s"
OF_USER = "UPDATE accounts_user SET lei = %s WHERE type = 'COMPANY'"


@pytest.mark.django_db
@pytest.mark.parametrize("length", [1, 2, 7, 12])
@pytest.mark.parametrize("name", ["text", "numeric", "int4", "int8", "varchar", "bool"])
def test_a_check_believes_no_type_of_the_session(world: World, name: str, length: int):
    run(f"CREATE DOMAIN pg_temp.{name} AS bpchar({length})")
    token = world.public_token
    for wrong in ((OF_TOKEN, WRONG_CHECK_DIGIT, token.pk), (OF_USER, WRONG_LEI)):
        with pytest.raises(IntegrityError, match="check constr"), transaction.atomic():
            run(*wrong)
    for kind, parameters in (
        ("MAX_HOLDERS", {"holders": 1000000.5}),
        ("MAX_BALANCE", {"units": "1e9"}),
        ("COUNTRIES", {"allowed": ["France"]}),
    ):
        with pytest.raises(rules.RuleRefused, match="are not parameters of"):
            rules.set_rule(token, kind, parameters, "why", ASKER)
    run(OF_TOKEN, "FR0000120271", token.pk)


SHADOWS = {
    "tables": [
        f"CREATE TEMPORARY TABLE {table} (LIKE public.{table})"
        for table in (
            "accounts_approvalpolicy", "issuers_holderbalance", "issuers_ledgeraccount",
            "issuers_ledgerposting", "issuers_restriction", "issuers_tokenledgerhead",
            "issuers_tokenrule",
        )
    ],
    "views": [
        "CREATE TEMPORARY VIEW issuers_restriction AS"
        " SELECT * FROM public.issuers_restriction WHERE FALSE"
    ],
    "row types": [
        "CREATE TYPE pg_temp.issuers_ledgeraccount AS (id text)",
        "CREATE DOMAIN pg_temp.date AS text",
        "CREATE DOMAIN pg_temp.numeric AS text",
        "CREATE DOMAIN pg_temp.jsonb AS text",
        "CREATE DOMAIN pg_temp.bool AS text",
    ],
    "functions": [
        "CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE sql"
        " AS $$ SELECT '1999-01-01'::timestamptz $$",
        "CREATE FUNCTION pg_temp.register_judge() RETURNS void LANGUAGE sql AS ''",
        "SET LOCAL search_path = pg_temp, public, pg_catalog",
    ],
    "operators": [
        "CREATE FUNCTION pg_temp.never(bigint, bigint) RETURNS boolean LANGUAGE sql"
        " IMMUTABLE AS $$ SELECT FALSE $$",
        "CREATE OPERATOR pg_temp.= (FUNCTION = pg_temp.never, LEFTARG = bigint,"
        " RIGHTARG = bigint)",
        "SET LOCAL search_path = pg_temp, public",
    ],
    "casts": [
        "CREATE TYPE pg_temp.said AS ENUM ('TRANSFER')",
        "CREATE FUNCTION pg_temp.cast_said(pg_temp.said) RETURNS text LANGUAGE sql"
        " IMMUTABLE AS $$ SELECT 'FORCED_TRANSFER' $$",
        "CREATE CAST (pg_temp.said AS text)"
        " WITH FUNCTION pg_temp.cast_said(pg_temp.said) AS IMPLICIT",
    ],
    "settings": [
        "SET LOCAL check_function_bodies = off",
        "SET LOCAL transform_null_equals = on",
        "SET LOCAL standard_conforming_strings = off",
        "SET LOCAL TimeZone = 'Pacific/Kiritimati'",
        "SET LOCAL DateStyle = 'SQL, DMY'",
    ],
}  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("shadows", SHADOWS.values(), ids=SHADOWS.keys())
def test_a_frozen_holder_sends_nothing_behind_a_shadow(
    world: World, shadows: list[str]
):
    register = Register(world)
    colleague(ASKER)
    # An import of an issuer's past is not judged.
    tamper("UPDATE issuers_issuer SET recorded_in = NULL")
    restrictions.restrict(register.users[0], Terms("FREEZE", "a court"), ASKER)
    statement, values = register.entry()
    statement = statement.replace("INTO ", "INTO public.")

    def enter() -> None:
        run(statement, *values)
        connection.check_constraints()

    for shadow in shadows:
        run(shadow)
    with pytest.raises(DatabaseError, match="SENDER_FROZEN"), transaction.atomic():
        enter()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "table", ["issuers_holderbalance", "issuers_ledgerposting", "pg_trigger"]
)
def test_a_verification_reads_no_table_of_the_session(world: World, table: str):
    """As where a pooler gives it a session in which someone has made one."""
    Register(world)
    tamper(
        "UPDATE issuers_holderbalance SET balance = balance + 1",
        "DROP TRIGGER register_keep_token ON issuers_token",
    )
    before = [finding.breaches for finding in verify()]
    schema = "pg_catalog" if table == "pg_trigger" else "public"
    run(f"CREATE TEMPORARY TABLE {table} AS SELECT * FROM {schema}.{table} LIMIT 0")
    run("SET LOCAL search_path = pg_temp, public, pg_catalog")
    assert [finding.breaches for finding in verify()] == before
    assert sum(before) > 1


@pytest.mark.django_db
def test_a_row_that_its_check_let_pass_is_found(world: World):
    as_committed()
    assert [finding.rule for finding in verify() if finding.breaches] == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef('isin_is_valid(text)'::regprocedure)")
        [(sound,)] = cursor.fetchall()
    blind = "CREATE OR REPLACE FUNCTION isin_is_valid(isin text) RETURNS boolean"
    tamper(f"{blind} LANGUAGE sql IMMUTABLE STRICT AS 'SELECT TRUE'")
    Token.objects.filter(pk=world.public_token.pk).update(isin=WRONG_CHECK_DIGIT)
    tamper(sound)
    [found] = [finding for finding in verify() if finding.breaches]
    assert found.rule == "every row passes the checks of its table"
    assert found.details == ["1 rows of issuers_token fail."]
