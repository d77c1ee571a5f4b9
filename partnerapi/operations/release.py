"""What this release needs of its database: its migrations, and the role's rights."""

import re
from functools import cache
from pkgutil import iter_modules
from typing import NamedTuple

from django.apps import apps
from django.db import connection
from django.db.models import AutoField

from partnerapi.core.database import rows_of
from partnerapi.core.roles import APPLICATION, CALLED_BY_APPLICATION, RIGHTS


@cache
def known_migrations() -> frozenset[tuple[str, str]]:
    """App and name of each migration of this release; none is read."""
    return frozenset(
        (app.label, module.name)
        for app in apps.get_app_configs()
        for module in iter_modules([f"{app.path}/migrations"])
        if not module.name.startswith("_")
    )


def unapplied_migrations() -> list[str]:
    """The migrations that the database lacks, such as `issuers.0043_baseline`, sorted;
    all of them where it has no tables yet."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('public.django_migrations') IS NOT NULL")
        if cursor.fetchone() == (True,):
            cursor.execute("SELECT app, name FROM django_migrations")
        applied = set(cursor.fetchall())
    return sorted(map(".".join, known_migrations() - applied))


class Rights(NamedTuple):
    """How a role's rights part from an application's: pairs of a right and a name."""

    role: str
    lacking: list[tuple[str, str]]
    spare: list[tuple[str, str]]


def compare_rights() -> Rights:
    """Compare the rights of the session's role with those of an application.

    What is not there at all lacks its rights. A right on columns is compared for each,
    as `table.column`, and is one too many on an id that a sequence gives.
    One statement.
    """
    asked = [(table, right) for table in APPLICATION for right in RIGHTS]
    columns = [
        (f"{table}.{column}", right)
        for table, rights in APPLICATION.items()
        for right, named in OF_COLUMNS.findall(rights)
        for column in named.split(", ")
    ]
    given = [
        (f"{model._meta.db_table}.{model._meta.pk.column}", right)
        for model in apps.get_models(include_auto_created=True)
        if isinstance(model._meta.pk, AutoField)
        for right in WRITES
    ]
    functions = [(name, "EXECUTE") for name in CALLED_BY_APPLICATION]
    names, rights = zip(*asked, *columns, *given, *functions, strict=True)
    rows = rows_of(HAS, [list(names), list(rights)])
    lacking: list[tuple[str, str]] = []
    spare: list[tuple[str, str]] = []
    for _, name, right, has in rows:
        wanted = (name, right) not in given and (
            right in APPLICATION.get(name, right).split(", ")
        )
        if has != wanted:
            (spare if has else lacking).append((right, name))
    return Rights(rows[0][0], lacking, spare)


WRITES = ("INSERT", "UPDATE")
OF_COLUMNS = re.compile(r"(\w+) \(([^)]+)\)")
# No one has a right on what is not there.
HAS = """
    SELECT current_user::text, name, asked, coalesce(CASE
        WHEN asked = 'EXECUTE' THEN has_function_privilege(
            to_regprocedure('public.' || name), asked)
        WHEN strpos(name, '.') > 0 THEN (
            SELECT has_column_privilege(a.attrelid, a.attnum, asked)
            FROM pg_attribute a
            WHERE a.attname = split_part(name, '.', 2) AND a.attnum > 0
                AND a.attrelid = to_regclass('public.' || split_part(name, '.', 1)))
        WHEN asked IN ('INSERT', 'UPDATE') THEN (
            SELECT bool_and(has_column_privilege(a.attrelid, a.attnum, asked))
            FROM pg_attribute a
            WHERE a.attrelid = to_regclass('public.' || quote_ident(name))
                AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = '')
        ELSE has_table_privilege(to_regclass('public.' || quote_ident(name)), asked)
        END, FALSE)
    FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS wanted (name, asked, place)
    ORDER BY place
"""


def some(names: list[str], most: int) -> str:
    """The first few of some names, and how many there are beyond them."""
    more = len(names) - most
    shown = ", ".join(names[:most])
    return f"{shown} and {more} more" if more > 0 else shown
