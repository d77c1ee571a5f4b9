"""What guards the tables, compared with what the files and the models say.

Functions, triggers and views are those of the files of SQL. Columns, constraints and
indexes are those of the models: a session of its own makes them as temporary tables,
so that PostgreSQL tells both in the same words, and undoes that. Rights are those of
the application's role.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from django.apps import apps
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from partnerapi.core.database import unshadowed_cursor
from partnerapi.core.roles import APPLICATION, CALLED_BY_APPLICATION
from partnerapi.core.sql_files import every_file
from partnerapi.core.sql_objects import (
    SqlObject,
    SqlTrigger,
    SqlView,
    installed_objects,
)

FORMER_ISSUERS = "issuers_formerissuer"
BY_MIGRATIONS = (
    f"CREATE TEMPORARY TABLE {FORMER_ISSUERS} (id uuid PRIMARY KEY)",
    "ALTER TABLE auth_group_permissions ALTER id TYPE bigint",
)
"""What migrations made otherwise than the models say."""
UNLOGGED = {"accounts_totalchange", "issuers_unnumberedevent"}
"""Tables that are empty whenever no transaction runs."""


def compare_guards() -> tuple[int, list[str]]:
    """How many guards there must be, and a sentence for each difference, sorted."""
    functions = [one for file in every_file() for one in file.functions()]
    said: dict[str, SqlObject] = {
        one.key: one
        for file in every_file()
        for one in file.objects()
        if not isinstance(one, SqlView)
    }
    tables = names_of_tables()
    with unshadowed_cursor() as cursor:
        cursor.execute("SELECT pg_is_in_recovery()")
        # No table can be made on a standby; what it has is its primary's.
        is_primary = cursor.fetchone() == (False,)
        wanted = wanted_parts() if is_primary else {}
        found = parts(cursor, "'public'::regnamespace") if is_primary else {}
        # What stands beside our tables and functions is not judged here.
        found = {name: it for name, it in found.items() if name.split()[-1] in tables}
        made = {
            one.key: one
            for one in installed_objects(cursor)
            if one.key in said or isinstance(one, SqlTrigger) and one.table in tables
        }
        named = {
            "tables": [*tables],
            "functions": [one.name for one in functions],
            "signatures": [one.signature for one in functions],
        }
        cursor.execute(OTHERS, named)
        others = {name for (name,) in cursor.fetchall()} - allowed_rights()
    wrong = [
        *differences(wanted, found),
        *differences(said, made),
        *(f"There is a {name} that no migration creates." for name in others),
    ]
    return len(wanted) + len(said), sorted(wrong)


def differences(
    wanted: Mapping[str, object], found: Mapping[str, object]
) -> Iterator[str]:
    """A sentence for each guard that is missing, is another, or is one too many."""
    for guard in {*wanted, *found}:
        if guard not in found:
            yield f"There is no {guard}."
        elif guard not in wanted:
            yield f"There is a {guard} that no migration creates."
        elif wanted[guard] != found[guard]:
            yield f"The {guard} differs from the one that migrations create."


def allowed_rights() -> set[str]:
    """The rights that the application may have; one that it lacks is not missed."""
    given = {f"grant of EXECUTE on {signature}" for signature in CALLED_BY_APPLICATION}
    for table, rights in APPLICATION.items():
        for right in re.findall("INSERT|UPDATE|DELETE", rights):
            given.add(f"grant of {right} on {table}")
    return given


def names_of_tables() -> set[str]:
    """Every table and view that migrations make."""
    models = apps.get_models(include_auto_created=True)
    named = {model._meta.db_table for model in models if model._meta.managed}
    views = {view.name for file in every_file() for view in file.views()}
    migrations = MigrationRecorder.Migration._meta.db_table
    return {*named, *views, FORMER_ISSUERS, migrations}


@cache
def wanted_parts() -> dict[str, str]:
    """The parts that tables must have, as the server reports them."""
    session = connection.copy()
    try:
        session.set_autocommit(False)
        with session.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ WRITE")
            cursor.execute("SET LOCAL search_path = pg_catalog, pg_temp, public")
            for statement in (*made_by_models(session), *BY_MIGRATIONS, *views()):
                cursor.execute(statement)
            found = parts(cursor, "pg_my_temp_schema()")
        session.rollback()
    finally:
        session.close()
    is_unlogged = {f"table {name}": LOGGED.replace(" p ", " u ") for name in UNLOGGED}
    return found | is_unlogged


def made_by_models(session: BaseDatabaseWrapper) -> Iterator[str]:
    with session.schema_editor(collect_sql=True, atomic=False) as editor:
        models: list[type[Model]] = [*apps.get_models(), MigrationRecorder.Migration]
        for model in models:
            if model._meta.managed and not model._meta.proxy:
                editor.create_model(model)
    for statement in editor.collected_sql:
        yield str(statement).replace("CREATE TABLE", "CREATE TEMPORARY TABLE", 1)


def views() -> Iterator[str]:
    for file in every_file():
        for view in file.views():
            yield f"CREATE TEMPORARY VIEW {view.name} AS {view.query}"


def parts(cursor: CursorWrapper, schema: str) -> dict[str, str]:
    """Tables, columns, constraints and indexes of a schema, by name."""
    cursor.execute(PARTS.format(schema=schema, logged=LOGGED))
    return dict(cursor.fetchall())


LOGGED = "f r p f t"
"""No policies, an ordinary table, kept after a crash, neither heir nor parent, the
owner's."""

# Casts to lists of texts stand elsewhere once a table was restored from a dump.
PARTS = r"""
    WITH kept AS (
        SELECT * FROM pg_class WHERE relnamespace = {schema}
            AND relkind IN ('r', 'p', 'v')
    ), parts (name, said) AS (
        SELECT format('table %s', relname), CASE relpersistence
            WHEN 't' THEN '{logged}' ELSE concat_ws(' ', relrowsecurity, relkind,
                relpersistence, relhassubclass OR EXISTS (
                    SELECT FROM pg_inherits i WHERE i.inhrelid = kept.oid),
                relowner = (SELECT relowner
                    FROM pg_class WHERE oid = 'public.issuers_token'::regclass)) END
        FROM kept WHERE relkind <> 'v'
        UNION ALL
        SELECT format('view %s', relname), pg_get_viewdef(oid, TRUE)
        FROM kept WHERE relkind = 'v'
        UNION ALL
        SELECT format('column %s of %s', a.attname, g.relname),
            concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull,
                a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), (
                    SELECT c.collname FROM pg_collation c
                    WHERE c.oid = a.attcollation AND c.collname <> 'default'))
        FROM kept g
        JOIN pg_attribute a ON a.attrelid = g.oid
            AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = g.oid AND d.adnum = a.attnum
        UNION ALL
        SELECT format('constraint %s on %s', c.conname, g.relname),
            concat_ws(' ', pg_get_constraintdef(c.oid), c.convalidated, (
                SELECT bool_and(t.tgenabled = 'O') FROM pg_trigger t
                WHERE t.tgconstraint = c.oid))
        FROM kept g JOIN pg_constraint c ON c.conrelid = g.oid
            AND c.contype IN ('c', 'f', 'p', 'u', 'x')
        UNION ALL
        SELECT format('index %s on %s', c.relname, g.relname),
            concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indislive)
        FROM kept g JOIN pg_index i ON i.indrelid = g.oid
        JOIN pg_class c ON c.oid = i.indexrelid
    )
    SELECT name, regexp_replace(regexp_replace(regexp_replace(said,
        '\m(public|pg_temp|pg_temp_\d+)\.', '', 'g'),
        '\((''[^'']*''::character varying)\)::text', '\1', 'g'),
        '\(ARRAY\[([^]]*)\]\)::text\[\]', 'ARRAY[\1]', 'g')
    FROM parts
"""

OTHERS = """
    WITH kept AS (
        SELECT * FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v')
            AND (relkind = 'v' OR relname = ANY (%(tables)s))
    ), owner AS (
        SELECT relowner AS id FROM pg_class WHERE oid = 'public.issuers_token'::regclass
    ), functions AS (
        SELECT p.*, replace(p.oid::regprocedure::text, ',', ', ') AS signature
        FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace
            AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = p.oid
                AND e.classid = 'pg_proc'::regclass AND e.deptype = 'e')
    )
    SELECT format('rule %%s on %%s', r.rulename, g.relname)
    FROM kept g JOIN pg_rewrite r ON r.ev_class = g.oid
    WHERE r.rulename <> '_RETURN'
    UNION ALL
    SELECT format('policy %%s on %%s', p.polname, g.relname)
    FROM kept g JOIN pg_policy p ON p.polrelid = g.oid
    UNION ALL
    SELECT format('option of view %%s', relname) FROM kept
    WHERE relkind = 'v' AND reloptions IS NOT NULL
    UNION ALL
    SELECT format('function %%s', signature) FROM functions
    WHERE (prosecdef OR proname = ANY (%(functions)s) OR EXISTS (
            SELECT FROM pg_proc s WHERE s.proname = functions.proname
                AND s.pronamespace = 'pg_catalog'::regnamespace))
        AND NOT (prokind = 'f' AND signature = ANY (%(signatures)s))
    UNION ALL
    SELECT format('owner of %%s', signature) FROM functions, owner
    WHERE proname = ANY (%(functions)s) AND proowner <> owner.id
    UNION ALL
    SELECT format('grant of EXECUTE on %%s', signature)
    FROM functions CROSS JOIN aclexplode(proacl) acl
    WHERE prosecdef AND acl.grantee <> proowner
    UNION ALL
    SELECT format('operator %%s', o.oid::regoperator) FROM pg_operator o
    WHERE o.oprnamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = o.oid
            AND e.classid = 'pg_operator'::regclass AND e.deptype = 'e')
    UNION ALL
    SELECT format('setting of %%s', split_part(setting, '=', 1))
    FROM pg_db_role_setting, unnest(setconfig) AS setting
    WHERE setdatabase IN (0, (
            SELECT oid FROM pg_database WHERE datname = current_database()))
        AND split_part(setting, '=', 1) IN (
            'search_path', 'session_replication_role', 'row_security')
    UNION ALL
    SELECT 'grant of CREATE on the schema'
    FROM pg_namespace n CROSS JOIN aclexplode(n.nspacl) acl
    WHERE n.nspname = 'public' AND acl.privilege_type = 'CREATE'
        AND acl.grantee <> n.nspowner
    UNION ALL
    SELECT 'grant of CREATE on the database'
    FROM pg_database d CROSS JOIN aclexplode(d.datacl) acl
    WHERE d.datname = current_database() AND acl.privilege_type = 'CREATE'
        AND acl.grantee <> d.datdba
    UNION ALL
    SELECT format('grant of %%s on new tables', acl.privilege_type)
    FROM pg_default_acl d CROSS JOIN aclexplode(d.defaclacl) acl
    WHERE d.defaclobjtype = 'r' AND acl.grantee <> d.defaclrole
        AND acl.privilege_type <> 'SELECT'
    UNION ALL
    SELECT format('grant of %%s on %%s', acl.privilege_type, granted.relname)
    FROM (
        SELECT relname, relowner, relacl AS acl FROM kept
        UNION ALL
        SELECT g.relname, g.relowner, a.attacl
        FROM kept g JOIN pg_attribute a ON a.attrelid = g.oid
        UNION ALL
        SELECT g.relname || '.' || a.attname, g.relowner, l.acl
        FROM kept g JOIN pg_attribute a ON a.attrelid = g.oid AND a.attidentity <> ''
        CROSS JOIN LATERAL (VALUES (a.attacl), (nullif(ARRAY(
            SELECT w FROM unnest(g.relacl) w, aclexplode(ARRAY[w]) e
            WHERE e.privilege_type IN ('INSERT', 'UPDATE')), '{}'))) AS l (acl)
    ) granted
    CROSS JOIN aclexplode(granted.acl) acl
    WHERE acl.grantee <> granted.relowner AND acl.privilege_type <> 'SELECT'
    UNION ALL
    SELECT format('event trigger %%s', evtname) FROM pg_event_trigger
"""
