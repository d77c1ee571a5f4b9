"""How migrations write the functions that guard tables.

Such a function does as its owner what the application may not do itself, so no one
else may attach it to a table of their own, nor put a table of their own in a guarded
one's place. Privileges decide what is allowed; the depth of triggers proves nothing.
"""

from collections.abc import Iterable

from django.db.migrations import RunSQL

SEARCH_PATH = "SET search_path = pg_catalog, public, pg_temp"


IN_A_SNAPSHOT = "current_setting('transaction_isolation') <> 'read committed'"
REFUSE_SNAPSHOT = """RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';"""
SNAPSHOT_CHECK = (
    f"    IF {IN_A_SNAPSHOT} THEN\n        {REFUSE_SNAPSHOT}\n    END IF;\n"
)


def closed_to_public(signature: str) -> str:
    return f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC;\n"


def trigger_function(
    name: str, table: str, body: str, *, declare: str = "", settings: str = ""
) -> str:
    """A trigger function of one table that does as its owner what `body` says."""
    declared = f"DECLARE\n    {declare.strip()}\n" if declare else ""
    return f"""
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER {SEARCH_PATH} {settings} AS $$
{declared}BEGIN
    IF TG_RELID <> '{table}'::regclass THEN
        RAISE EXCEPTION '{name} guards {table}, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    {body.strip()}
END $$;
{closed_to_public(f"{name}()")}"""


def function(
    signature: str, returns: str, body: str, *, declare: str = "", settings: str = ""
) -> str:
    """A function that does as its owner what `body` says, for roles that are named."""
    name, _, parameters = signature.partition("(")
    types = ", ".join(
        parameter.split(maxsplit=1)[1]
        for parameter in parameters.removesuffix(")").split(", ")
        if parameter
    )
    declared = f"DECLARE\n    {declare.strip()}\n" if declare else ""
    return f"""
CREATE OR REPLACE FUNCTION {signature} RETURNS {returns} LANGUAGE plpgsql
SECURITY DEFINER {SEARCH_PATH} {settings} AS $$
#variable_conflict use_column
{declared}BEGIN
    {body.strip()}
END $$;
{closed_to_public(f"{name}({types})")}"""


def without_shadows(*signatures: str) -> RunSQL:
    """Search `pg_temp` for types last, in functions that every role may call.

    Otherwise PostgreSQL searches it first, and a CHECK that calls such a function would
    accept the value as a domain of that name converts it.
    """
    return RunSQL(
        "".join(f"ALTER FUNCTION {s} {SEARCH_PATH};" for s in signatures),
        "".join(f"ALTER FUNCTION {s} RESET search_path;" for s in signatures),
    )


def again(statements: str) -> str:
    """The statements, for functions that exist already."""
    return statements.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


def granted_as(function: str, before: str) -> str:
    """Lets those call a function who may call the one before it: they are serving."""
    return f"""
DO $$
DECLARE
    role text;
BEGIN
    FOR role IN
        SELECT a.grantee::regrole FROM pg_proc p, aclexplode(p.proacl) a
        WHERE p.oid = '{before}'::regprocedure AND a.grantee NOT IN (0, p.proowner)
    LOOP
        EXECUTE 'GRANT EXECUTE ON FUNCTION {function} TO ' || role;
    END LOOP;
END $$;
"""


def drop(*functions: str, triggers: dict[str, str] | None = None) -> str:
    """Drops triggers, by their names, from tables, and then functions."""
    drops = [f"DROP TRIGGER {name} ON {t};" for name, t in (triggers or {}).items()]
    return "".join([*drops, *(f"DROP FUNCTION {name};" for name in functions)])


def history_of(
    table: str,
    operations: str = "INSERT OR UPDATE OR DELETE",
    left_out: str = "",
    secret: str = "",
    key: str = "id",
) -> RunSQL:
    """Record a table's changes by `history_record`.

    Column names are separated by spaces: those that are `left_out`, and those of which
    only the fact of a change is kept. A row is found by its `key`, or by the
    first 40 digits of the SHA-256 of a key that is secret.
    """
    named = f"'{left_out}', '{secret}'" + (f", '{key}'" if key != "id" else "")
    return RunSQL(
        f"CREATE TRIGGER history_record AFTER {operations} ON {table} FOR EACH ROW"
        f" EXECUTE FUNCTION history_record({named})",
        f"DROP TRIGGER history_record ON {table}",
    )


def refuse_snapshots(*tables: str) -> RunSQL:
    """Refuse changes of tables, except by READ COMMITTED transactions.

    The check of a change locks rows and reads them again. In a REPEATABLE READ
    transaction it would read them as they were at the snapshot.
    """
    return RunSQL(
        "".join(
            "CREATE TRIGGER refuse_snapshot BEFORE INSERT OR UPDATE OR DELETE"
            f" ON {table} FOR EACH STATEMENT WHEN ({IN_A_SNAPSHOT})"
            " EXECUTE FUNCTION accounts_refuse_snapshot();"
            for table in tables
        ),
        "".join(f"DROP TRIGGER refuse_snapshot ON {table};" for table in tables),
    )


def refuse_given_ids(*tables: str) -> RunSQL:
    """Refuse ids that do not come from the tables' sequences.

    The sequence would reach such an id later, and that later insert would fail.
    """
    return RunSQL(
        "".join(
            f"CREATE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION"
            f" partnerapi_refuse_given_id('public.{table}_id_seq');"
            for table in tables
        ),
        "".join(f"DROP TRIGGER refuse_given_id ON {table};" for table in tables),
    )


def call_without_snapshot(*signatures: str, behind: str = "BEGIN") -> list[RunSQL]:
    """Refuse a transaction's snapshot in functions that lock rows and then read them.

    The check follows the first line `behind` of each function, as in the database.
    """
    line = f"\n{behind}\n"
    return [
        rewritten(signature, (line, line + SNAPSHOT_CHECK)) for signature in signatures
    ]


def rewritten(signature: str, *changes: tuple[str, str]) -> RunSQL:
    """Change a function as it is in the database: each part, where it first stands."""

    def statement(changes: Iterable[tuple[str, str]]) -> str:
        replaced = "".join(
            f"""
    IF strpos(said, $part${old}$part$) = 0 THEN
        RAISE EXCEPTION 'The function is another: %', $part${old}$part$;
    END IF;
    said := overlay(said PLACING $part${new}$part$
        FROM strpos(said, $part${old}$part$) FOR length($part${old}$part$));"""
            for old, new in changes
        )
        return f"""
DO $change$
DECLARE
    said text := pg_get_functiondef('{signature}'::regprocedure);
BEGIN{replaced}
    EXECUTE said;
END $change$;
"""

    back = [(new, old) for old, new in reversed(changes)]
    return RunSQL(statement(changes), statement(back))


def without_table_check(
    name: str, table: str, space: str = " ", behind: str = "BEGIN"
) -> RunSQL:
    """Take from a trigger's function the check of its table.

    The check follows the first line `behind` of the function, as in the database.
    """
    line = f"\n{behind}\n"
    check = f"""    IF TG_RELID <> '{table}'::regclass THEN
        RAISE EXCEPTION{space}'{name} guards {table}, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
"""
    return rewritten(f"{name}()", (line + check, line))
