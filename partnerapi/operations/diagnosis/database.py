"""The database: whether it answers, and is as this release needs it."""

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from time import time

from django.apps import apps
from django.db import connection

from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.roles import APPLICATION, CALLED_BY_APPLICATION, RIGHTS

MOST_NAMED = 5
CLOCK_SECONDS = 1.0

ABOUT = """
    SELECT current_user, current_database(), current_setting('server_version'),
        pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'
"""


def database() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(ABOUT)
        [(role, name, version, is_standby, only_reads)] = cursor.fetchall()
    says = f"{role} in {name}, PostgreSQL {version}"
    if is_standby:
        yield Finding(
            "database", State.FAILED, f"{says}: a standby, which only reads",
            "Let DATABASE_URL name the primary.",
        )  # fmt: skip
    elif only_reads:
        yield Finding(
            "database", State.FAILED, f"{says}: it only reads",
            "Switch default_transaction_read_only off, for the role, too.",
        )  # fmt: skip
    else:
        yield Finding("database", State.OK, says)


@cache
def known_migrations() -> frozenset[tuple[str, str]]:
    """The migrations of this release, by app and name; none is loaded."""
    found = set()
    for app in apps.get_app_configs():
        if find_spec(f"{app.name}.migrations") is None:
            continue
        package = import_module(f"{app.name}.migrations")
        for module in pkgutil.iter_modules(package.__path__):
            found.add((app.label, module.name))
    return frozenset(found)


def migrations() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations")
        missing = sorted(known_migrations() - set(cursor.fetchall()))
    figures = {"unapplied": len(missing)}
    if missing:
        says = f"{len(missing)} are not applied: {some(map('.'.join, missing))}"
        remedy = "Run manage.py migrate, then grant_application_role, as the owner."
        yield Finding("migrations", State.FAILED, says, remedy, figures)
    else:
        yield Finding("migrations", State.OK, "All are applied", "", figures)


IS_OWNER = """
    SELECT pg_has_role(current_user, relowner, 'MEMBER') FROM pg_class
    WHERE oid = to_regclass('public.issuers_token')
"""
HAS = """
    SELECT has_table_privilege(to_regclass('public.' || quote_ident(name)), asked)
    FROM unnest(%s::text[], %s::text[]) AS table_and_right (name, asked)
"""
MAY_CALL = """
    SELECT name, has_function_privilege(to_regprocedure('public.' || name), 'EXECUTE')
    FROM unnest(%s::text[]) AS asked (name)
"""


def grants() -> Iterator[Finding]:
    """Compares the role's rights with those of an application."""
    asked = [(table, right) for table in APPLICATION for right in RIGHTS]
    with connection.cursor() as cursor:
        cursor.execute(IS_OWNER)
        is_owner = [row[0] for row in cursor.fetchall()]
        if is_owner == [True]:
            yield Finding(
                "grants", State.WARNING,
                "The role of DATABASE_URL owns the tables: the database keeps nothing "
                "from it",
                "Make a role that serves, run grant_application_role ROLE --apply, and "
                "name it in DATABASE_URL.",
            )  # fmt: skip
            return
        cursor.execute(HAS, [list(column) for column in zip(*asked, strict=True)])
        rows = zip(asked, cursor.fetchall(), strict=True)
        has = {one: has for one, (has,) in rows}
        cursor.execute(MAY_CALL, [list(CALLED_BY_APPLICATION)])
        closed = [f"EXECUTE {name}" for name, may in cursor.fetchall() if not may]
    rights = {table: granted.split(", ") for table, granted in APPLICATION.items()}
    lacks = [
        f"{right} {table}"
        for table, right in asked
        if right in rights[table] and not has[table, right]
    ]
    more = [
        f"{right} {table}"
        for table, right in asked
        if right not in rights[table] and has[table, right]
    ]
    lacks += closed
    figures = {"missing": len(lacks), "tooMany": len(more)}
    remedy = "Run manage.py grant_application_role ROLE --apply, as the owner."
    if lacks:
        says = f"The role of DATABASE_URL lacks {some(lacks)}"
        yield Finding("grants", State.FAILED, says, remedy, figures)
    elif more:
        says = f"The role of DATABASE_URL has more than it needs: {some(more)}"
        yield Finding("grants", State.WARNING, says, remedy, figures)
    else:
        yield Finding("grants", State.OK, "The role has its rights", "", figures)


def clock() -> Iterator[Finding]:
    """Compares the database's clock with this machine's."""
    before = time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        [(theirs,)] = cursor.fetchall()
    after = time()
    # It was read somewhere between.
    apart = max(float(theirs) - after, before - float(theirs), 0.0)
    figures = {"seconds": round(apart, 3)}
    if apart > CLOCK_SECONDS:
        yield Finding(
            "clock", State.FAILED,
            f"This machine's clock and the database's are {apart:.1f} s apart",
            "Have both machines follow the same NTP servers (chronyc tracking).",
            figures,
        )  # fmt: skip
    else:
        says = f"This machine's clock and the database's are {apart:.3f} s apart"
        yield Finding("clock", State.OK, says, "", figures)


def some(names: object) -> str:
    """The first few of some names, and how many there are beyond them."""
    listed = list(names)  # type: ignore[call-overload]
    more = len(listed) - MOST_NAMED
    shown = ", ".join(listed[:MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
