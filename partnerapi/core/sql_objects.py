"""Functions, triggers and views, as the database itself reports them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db.backends.utils import CursorWrapper


def respace(text: str) -> str:
    """A text with single spaces: where lines break says nothing."""
    return " ".join(text.split())


def bare(query: str) -> str:
    """A query without the tables' names before columns."""
    return re.sub(r"\b[a-z]\w*\.(?=[a-z])", "", query)


def uncast(text: str) -> str:
    """An expression without casts to texts, which a dump writes in other places."""
    return CAST.sub("", respace(text))


CAST = re.compile(r"::(?:text|character varying)\b(?:\[\])?")


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """`arguments`, `result` and `attributes` are in PostgreSQL's own words."""

    name: str
    arguments: str
    result: str
    attributes: str
    settings: tuple[str, ...]
    body: str
    is_public: bool

    @property
    def signature(self) -> str:
        """As `regprocedure` reads it: with the types of the arguments, all named."""
        named = re.sub(" DEFAULT [^,]*", "", self.arguments).split(", ")
        types = (argument.partition(" ")[2] for argument in named)
        return f"{self.name}({', '.join(types)})"

    @property
    def key(self) -> str:
        return f"function {self.signature}"

    def create(self) -> str:
        settings = "".join(
            f"SET {name} = {value if name == 'search_path' else repr(value)}\n"
            for name, _, value in (setting.partition("=") for setting in self.settings)
        )
        given = "GRANT EXECUTE" if self.is_public else "REVOKE ALL"
        preposition = "TO" if self.is_public else "FROM"
        return (
            f"CREATE OR REPLACE FUNCTION public.{self.name}({self.arguments})\n"
            f"RETURNS {self.result} LANGUAGE {self.attributes}\n"
            f"{settings}AS $${self.body}$$;\n"
            f"{given} ON FUNCTION public.{self.signature} {preposition} PUBLIC;\n"
        )

    def drop(self) -> str:
        return f"DROP FUNCTION public.{self.signature};\n"


@dataclass(frozen=True, slots=True)
class SqlTrigger:
    """`says` is the output of `pg_get_triggerdef`, `uncast`; `state` is `tgenabled`.

    O fires for users, A for replicated changes, too.
    """

    name: str
    table: str
    says: str
    state: str

    @property
    def key(self) -> str:
        return f"trigger {self.name} on {self.table}"

    def create(self) -> str:
        always = f"ALTER TABLE public.{self.table} ENABLE ALWAYS TRIGGER {self.name};\n"
        made = self.says.replace("CREATE TRIGGER", "CREATE OR REPLACE TRIGGER", 1)
        if made == self.says:
            # No constraint trigger can be replaced.
            made = f"DROP TRIGGER IF EXISTS {self.name} ON public.{self.table};\n{made}"
        return f"{made};\n" + always * (self.state == "A")

    def drop(self) -> str:
        return f"DROP TRIGGER {self.name} ON public.{self.table};\n"


@dataclass(frozen=True, slots=True)
class SqlView:
    """Two are equal whether or not columns are qualified by their table.

    PostgreSQL 16 and newer leave the table out where there is only one.
    """

    name: str
    query: str = field(compare=False)
    bare: str

    @property
    def key(self) -> str:
        return f"view {self.name}"

    def create(self) -> str:
        return f"CREATE OR REPLACE VIEW public.{self.name} AS\n{self.query}\n"

    def drop(self) -> str:
        return f"DROP VIEW public.{self.name};\n"


SqlObject = SqlFunction | SqlTrigger | SqlView


def installed_objects(cursor: CursorWrapper) -> Iterator[SqlObject]:
    """The objects in the schema `public`, without those of extensions.

    The search path is `SCHEMA_FIRST`, so that names come without their schema.
    """
    # A role may have set it for itself; PostgreSQL would quote every name otherwise.
    cursor.execute("SET LOCAL quote_all_identifiers = off")
    cursor.execute(FUNCTIONS)
    functions = cursor.fetchall()
    for name, *texts, settings, body, is_public in functions:
        arguments, result, attributes = map(respace, texts)
        yield SqlFunction(
            name, arguments, result, attributes, tuple(settings), body, is_public
        )
    cursor.execute(TRIGGERS)
    called = re.compile(rf"(?<![\w.])({'|'.join(name for name, *_ in functions)})\(")
    for name, table, said, state in cursor.fetchall():
        says = uncast(said).replace(f" ON {table} ", f" ON public.{table} ", 1)
        yield SqlTrigger(name, table, called.sub(r"public.\1(", says), state)
    cursor.execute(VIEWS)
    for name, query in cursor.fetchall():
        yield SqlView(name, respace(query), bare(respace(query)))


FUNCTIONS = """
    SELECT p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
        concat_ws(' ', l.lanname,
            CASE p.provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' END,
            CASE WHEN p.proisstrict THEN 'STRICT' END,
            CASE WHEN p.prosecdef THEN 'SECURITY DEFINER' END,
            CASE p.proparallel WHEN 's' THEN 'PARALLEL SAFE'
                WHEN 'r' THEN 'PARALLEL RESTRICTED' END,
            CASE WHEN p.proleakproof THEN 'LEAKPROOF' END),
        coalesce(p.proconfig, '{}'), p.prosrc,
        has_function_privilege('public', p.oid, 'EXECUTE')
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f'
        AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = p.oid
            AND e.classid = 'pg_proc'::regclass AND e.deptype = 'e')
    ORDER BY 1, 2
"""
TRIGGERS = """
    SELECT t.tgname, c.relname, pg_get_triggerdef(t.oid, TRUE),
        t.tgenabled::text
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal
    ORDER BY 2, 1
"""
VIEWS = """
    SELECT c.relname, pg_get_viewdef(c.oid, TRUE) FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'v'
    ORDER BY 1
"""
