"""Whether the database is the one that this code was written for."""

from collections.abc import Iterator
from pkgutil import iter_modules

from django.apps import apps
from django.db import connection

from partnerapi.core.starting import StartRefused, checks
from partnerapi.operations.roles import APPLICATION, CALLED_BY_APPLICATION

MOST_NAMED = 3


def check_migrations() -> None:
    """
    Raises:
        StartRefused: the code has migrations that were not applied.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('public.django_migrations') IS NOT NULL")
        if cursor.fetchone() == (True,):
            cursor.execute("SELECT app, name FROM django_migrations")
        applied = set(cursor.fetchall())
    if missing := [name for name in migrations() if name not in applied]:
        raise StartRefused(
            f"{len(missing)} migrations are not applied, "
            f"{named(['.'.join(name) for name in missing])}; run `manage.py migrate` "
            "and `manage.py grant_application_role ROLE --apply` with "
            "DATABASE_OWNER_URL"
        )


def migrations() -> Iterator[tuple[str, str]]:
    """App and name of each migration, without reading them."""
    for app in apps.get_app_configs():
        for module in iter_modules([f"{app.path}/migrations"]):
            if not module.name.startswith("_"):
                yield app.label, module.name


def check_grants() -> None:
    """
    Raises:
        StartRefused: the role lacks a right of the application.
    """
    tables = [
        (table, right)
        for table, rights in APPLICATION.items()
        for right in rights.split(", ")
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            MISSING,
            [*(list(column) for column in zip(*tables, strict=True)),
             list(CALLED_BY_APPLICATION)],
        )  # fmt: skip
        rows = cursor.fetchall()
    if rows:
        role, missing = rows[0][0], [right for _, right in rows]
        raise StartRefused(
            f"{role}, the role of DATABASE_URL, lacks {len(missing)} rights, "
            f"{named(missing)}; run `manage.py grant_application_role {role} --apply` "
            "with DATABASE_OWNER_URL"
        )


def named(things: list[str]) -> str:
    shown = ", ".join(things[:MOST_NAMED])
    return f"{shown}, …" if len(things) > MOST_NAMED else shown


# A table or function that is not there gives NULL, which nobody has a right on.
MISSING = """
    SELECT current_user::text, wanted.right || ' on ' || wanted.name
    FROM unnest(%s::text[], %s::text[]) AS wanted (name, "right")
    WHERE has_table_privilege(to_regclass('public.' || wanted.name), wanted.right)
        IS NOT TRUE
    UNION ALL
    SELECT current_user::text, 'EXECUTE on ' || name
    FROM unnest(%s::text[]) AS name
    WHERE has_function_privilege(to_regprocedure(name), 'EXECUTE') IS NOT TRUE
"""

# Before those of apps, which need their tables.
checks[:0] = [check_migrations, check_grants]
