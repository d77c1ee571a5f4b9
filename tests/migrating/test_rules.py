"""New migrations disturb no request: each rule that is broken comes with its remedy."""

import io
from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import call_command

from partnerapi.core.sql_files import ROOMS
from partnerapi.operations.release import known_migrations
from tests.migrating.rules import CONTRACT, RULES, broken


# Not in a transaction: there, no index can be built CONCURRENTLY, not even on paper.
def test_a_new_migration_disturbs_nobody(keeps_rows: None, transactional_db: None):
    for app, name in sorted(known_migrations()):
        package = apps.get_app_config(app).name
        if app in ROOMS and not name.endswith("_baseline"):
            sql = io.StringIO()
            call_command("sqlmigrate", app, name, stdout=sql)
            text = import_module(f"{package}.migrations.{name}").__doc__ or ""
            found = [*broken(sql.getvalue(), text.startswith(CONTRACT))]
            assert found == [], f"{app}.{name}"


REFUSED = {
    'CREATE INDEX "i" ON "issuers_event" ("at")': "AddIndexBeside",
    'CREATE UNIQUE INDEX i ON public.issuers_event ("at")': "AddIndexBeside",
    'DROP INDEX IF EXISTS "i"': "RemoveIndexConcurrently",
    "ALTER TABLE t ADD CONSTRAINT c CHECK (n > 0)": "AddConstraintNotValid",
    'ALTER TABLE "t" ADD CONSTRAINT "k" FOREIGN KEY ("o") REFERENCES "u" ("id")'
    " DEFERRABLE INITIALLY DEFERRED": "NOT VALID",
    'ALTER TABLE t ADD COLUMN o bigint NULL CONSTRAINT c REFERENCES "u"("id")':
    "db_constraint=False",
    "ALTER TABLE t ADD CONSTRAINT c UNIQUE (a, b)": "USING INDEX",
    'ALTER TABLE "t" ALTER COLUMN "n" SET NOT NULL': "VALIDATE",
    'ALTER TABLE "t" ALTER COLUMN "n" TYPE bigint USING n::bigint': "in batches",
    'ALTER TABLE "t" ADD COLUMN "n" integer NOT NULL': "db_default",
    'ALTER TABLE "t" ALTER COLUMN "n" DROP DEFAULT': "db_default",
    "UPDATE t SET n = 0 WHERE n IS NULL": "in batches",
    "DELETE FROM t": "in batches",
    "LOCK TABLE t IN EXCLUSIVE MODE": "leave the lock",
    "ALTER TABLE t DROP COLUMN n CASCADE": CONTRACT,
    "DROP FUNCTION f()": CONTRACT,
}  # fmt: skip


@pytest.mark.parametrize("sql", REFUSED)
def test_what_would_disturb_is_refused_with_its_remedy(sql: str):
    made = "CREATE TABLE other (n integer NOT NULL);\n-- Add what is missing\n"
    [finding] = broken(f"BEGIN;\n{made}{sql};\nCOMMIT;", is_contract=False)
    assert REFUSED[sql] in finding
    assert len(finding) > len(REFUSED[sql])


def test_each_rule_is_tried():
    found = "\n".join(line for sql in REFUSED for line in broken(sql, False))
    assert [rule.name for rule in RULES if rule.name not in found] == []


@pytest.mark.parametrize(
    "sql",
    [
        'CREATE INDEX CONCURRENTLY "i" ON "t" ("at")',
        "ALTER TABLE t ADD CONSTRAINT c CHECK (n > 0) NOT VALID",
        "ALTER TABLE t VALIDATE CONSTRAINT c",
        "SET LOCAL lock_timeout = '250 ms'; LOCK TABLE t, u IN ACCESS EXCLUSIVE MODE",
        "ALTER TABLE t ADD CONSTRAINT c UNIQUE USING INDEX i",
        'ALTER TABLE "t" ADD COLUMN "n" integer DEFAULT 0 NOT NULL',
        'ALTER TABLE "t" ADD COLUMN "n" integer NULL',
        'CREATE TABLE "t" ("n" integer); CREATE INDEX "i" ON "t" ("n");'
        'ALTER TABLE "t" ADD CONSTRAINT c FOREIGN KEY (n) REFERENCES u (id)',
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN\n"
        "DELETE FROM t;\nUPDATE t SET n = 0; END $$",
    ],
)
def test_what_disturbs_nobody_passes(sql: str):
    assert [*broken(sql, is_contract=False)] == []


def test_what_the_old_release_needs_goes_in_a_migration_that_says_so():
    assert [*broken("ALTER TABLE t DROP COLUMN n CASCADE", is_contract=True)] == []
    assert [*broken("UPDATE t SET n = 0", is_contract=True)] != []
