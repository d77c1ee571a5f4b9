"""What guards tables, compared with a list that was made when they were migrated."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from partnerapi.core.database import unshadowed


@dataclass(frozen=True, slots=True)
class Guarded:
    """Tables, and functions by the beginning of their names; `path` is the list."""

    path: Path
    tables: Sequence[str]
    functions: Sequence[str]

    def listed(self) -> dict[str, str]:
        """Digests of the guards that there must be, by what they are and where."""
        lines = self.path.read_text().splitlines()
        return {guard: digest for digest, _, guard in (x.partition(" ") for x in lines)}

    def found(self) -> dict[str, str]:
        """Digests of the guards that there are."""
        names = {
            "tables": list(self.tables),
            "functions": [f"{name}%" for name in self.functions],
        }
        with unshadowed() as cursor:
            # A role may have set it for itself; PostgreSQL would tell all otherwise.
            cursor.execute("SET quote_all_identifiers = off")
            cursor.execute(FOUND, names)
            return dict(cursor.fetchall())

    def write(self) -> None:
        found = sorted(self.found().items())
        self.path.write_text("".join(f"{digest} {guard}\n" for guard, digest in found))


def differences(listed: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each guard that is missing, is another, or is one too many."""
    for guard in sorted({*listed, *found}):
        if guard not in found:
            # A right that no one was given is not missed.
            if not guard.startswith(GRANT):
                yield f"There is no {guard}."
        elif guard not in listed:
            yield f"There is a {guard}, which no migration has made."
        elif listed[guard] != found[guard]:
            yield f"The {guard} is not what a migration has made."


GRANT = "grant of "

# Sources are compared as they were written, the rest as PostgreSQL tells it. Of a table
# that was restored from a dump it tells two things in another form: lists of texts, and
# rows that are compared, a chain of OR, in which brackets change nothing.
FOUND = r"""
    WITH guarded AS (
        SELECT oid, relname, relowner, relrowsecurity, relkind, relpersistence,
            reloptions, relhassubclass
        FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relname = ANY (%(tables)s)
    ), guards (name, said) AS (
        SELECT format('table %%s', relname), concat_ws(' ', relrowsecurity, relkind,
            relpersistence, reloptions, relhassubclass,
            relowner = (SELECT relowner FROM pg_class
                WHERE oid = 'public.issuers_token'::regclass))
        FROM guarded
        UNION ALL
        SELECT format('column %%s of %%s', a.attname, g.relname),
            concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull,
                a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), (
                    SELECT c.collname FROM pg_collation c
                    WHERE c.oid = a.attcollation AND c.collname <> 'default'))
        FROM guarded g
        JOIN pg_attribute a ON a.attrelid = g.oid
            AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = g.oid AND d.adnum = a.attnum
        UNION ALL
        SELECT format('trigger %%s on %%s', t.tgname, g.relname),
            concat_ws(' ', CASE WHEN said ~ '\m(AND|NOT)\M' THEN said
                ELSE translate(said, '()', '') END, t.tgenabled)
        FROM guarded g JOIN pg_trigger t ON t.tgrelid = g.oid AND NOT t.tgisinternal,
            pg_get_triggerdef(t.oid) AS said
        UNION ALL
        SELECT format('constraint %%s on %%s', c.conname, g.relname),
            concat_ws(' ', pg_get_constraintdef(c.oid), c.convalidated, (
                SELECT bool_and(t.tgenabled = 'O') FROM pg_trigger t
                WHERE t.tgconstraint = c.oid))
        FROM guarded g JOIN pg_constraint c ON c.conrelid = g.oid
            AND c.contype IN ('c', 'f', 'p', 'u', 'x')
        UNION ALL
        SELECT format('index %%s on %%s', i.indexrelid::regclass, g.relname),
            concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indislive)
        FROM guarded g JOIN pg_index i ON i.indrelid = g.oid
        UNION ALL
        SELECT format('rule %%s on %%s', r.rulename, g.relname), pg_get_ruledef(r.oid)
        FROM guarded g JOIN pg_rewrite r ON r.ev_class = g.oid
        UNION ALL
        SELECT format('policy %%s on %%s', p.polname, g.relname), ''
        FROM guarded g JOIN pg_policy p ON p.polrelid = g.oid
        UNION ALL
        SELECT format('function %%s', p.oid::regprocedure),
            concat_ws(' ', p.prosrc, p.prosecdef, p.proconfig::text, p.provolatile,
                p.proisstrict,
                p.prorettype::regtype, l.lanname,
                has_function_privilege('public', p.oid, 'EXECUTE'),
                p.proowner = (SELECT relowner FROM pg_class
                    WHERE oid = 'public.issuers_token'::regclass))
        FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
        WHERE p.pronamespace = 'public'::regnamespace
            AND (p.proname LIKE ANY (%(functions)s) OR p.prosecdef OR EXISTS (
                SELECT FROM pg_proc s WHERE s.proname = p.proname
                    AND s.pronamespace = 'pg_catalog'::regnamespace))
            AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = p.oid
                AND e.classid = 'pg_proc'::regclass AND e.deptype = 'e')
        UNION ALL
        SELECT format('operator %%s', o.oid::regoperator), o.oprcode::text
        FROM pg_operator o WHERE o.oprnamespace = 'public'::regnamespace
            AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = o.oid
                AND e.classid = 'pg_operator'::regclass AND e.deptype = 'e')
        UNION ALL
        SELECT DISTINCT format('setting of %%s', split_part(setting, '=', 1)), ''
        FROM pg_db_role_setting, unnest(setconfig) AS setting
        WHERE setdatabase IN (0, (
                SELECT oid FROM pg_database WHERE datname = current_database()))
            AND split_part(setting, '=', 1) IN (
                'search_path', 'session_replication_role', 'row_security')
        UNION
        SELECT format('grant of EXECUTE on %%s', p.oid::regprocedure), ''
        FROM pg_proc p CROSS JOIN aclexplode(p.proacl) acl
        WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef
            AND acl.grantee <> p.proowner
        UNION
        SELECT 'grant of CREATE on the schema', ''
        FROM pg_namespace n CROSS JOIN aclexplode(n.nspacl) acl
        WHERE n.nspname = 'public' AND acl.privilege_type = 'CREATE'
            AND acl.grantee <> n.nspowner
        UNION
        SELECT 'grant of CREATE on the database', ''
        FROM pg_database d CROSS JOIN aclexplode(d.datacl) acl
        WHERE d.datname = current_database() AND acl.privilege_type = 'CREATE'
            AND acl.grantee <> d.datdba
        UNION
        SELECT format('grant of %%s on new tables', acl.privilege_type), ''
        FROM pg_default_acl d CROSS JOIN aclexplode(d.defaclacl) acl
        WHERE d.defaclobjtype = 'r' AND acl.grantee <> d.defaclrole
            AND acl.privilege_type <> 'SELECT'
        UNION
        SELECT format('grant of %%s on %%s', acl.privilege_type, granted.relname), ''
        FROM (
            SELECT g.relname, g.relowner, c.relacl AS acl
            FROM guarded g JOIN pg_class c USING (oid)
            UNION ALL
            SELECT g.relname, g.relowner, a.attacl
            FROM guarded g JOIN pg_attribute a ON a.attrelid = g.oid
        ) granted
        CROSS JOIN aclexplode(granted.acl) acl
        WHERE acl.grantee <> granted.relowner AND acl.privilege_type <> 'SELECT'
        UNION ALL
        SELECT format('event trigger %%s', evtname), evtenabled::text
        FROM pg_event_trigger
    )
    SELECT name, left(encode(sha256(convert_to(regexp_replace(regexp_replace(said,
            '\((''[^'']*''::character varying)\)::text', '\1', 'g'),
            '\(ARRAY\[([^]]*)\]\)::text\[\]', 'ARRAY[\1]', 'g'),
        'UTF8')), 'hex'), 16)
    FROM guards
"""
