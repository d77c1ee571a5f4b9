"""Migrations that bring the database what the files of SQL say."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from partnerapi.core.migrating import LOCK_SECONDS
from partnerapi.core.sql_objects import SqlFunction, SqlObject, SqlTrigger, SqlView

Change = tuple[SqlObject | None, SqlObject | None]
"""What the migrations have installed and what the files say; None: not at all."""
MAKES_LATER = (SqlFunction, SqlTrigger, SqlView)
"""A trigger names its function, and a view may call one."""

WAIT_MS = int(LOCK_SECONDS * 1000)


class NotByFile(Exception):
    """PostgreSQL cannot replace one by the other; the message says what to do."""


def changes(
    found: Mapping[str, SqlObject], wanted: Mapping[str, SqlObject]
) -> list[Change]:
    """Where they differ.

    Raises:
        NotByFile: a function would get another result.
    """
    changed: list[Change] = []
    for key in sorted({*found, *wanted}):
        before, after = found.get(key), wanted.get(key)
        if before == after:
            continue
        if (
            isinstance(before, SqlFunction)
            and isinstance(after, SqlFunction)
            and before.result != after.result
        ):
            raise NotByFile(
                f"The {key} returns {before.result} and would return {after.result}: "
                "give the new function a new name, and remove the old one a release "
                "later."
            )
        changed.append((before, after))
    return changed


def script(changed: Sequence[Change]) -> str:
    """The SQL that leads from the first of each pair to the second."""
    return "\n".join(statements(changed))


def statements(changed: Sequence[Change]) -> Iterator[str]:
    yield from hold_tables(
        {one.table for pair in changed for one in pair if isinstance(one, SqlTrigger)}
    )
    for kind in MAKES_LATER:
        yield from (n.create() for _, n in changed if isinstance(n, kind))
    for kind in reversed(MAKES_LATER):
        for before, after in changed:
            if after is None and isinstance(before, kind):
                yield before.drop()


def hold_tables(tables: Collection[str]) -> Iterator[str]:
    """Lock all tables before any is changed, or none.

    Otherwise a request could wait for one table while the migration waits for another
    that the request uses. Together the waits are shorter than PostgreSQL's
    `deadlock_timeout` of a second, after which it would end the request.
    """
    if tables:
        changed_tables = ", ".join(f"public.{table}" for table in sorted(tables))
        yield f"SET LOCAL lock_timeout = '{WAIT_MS // len(tables)} ms';"
        yield f"LOCK TABLE {changed_tables} IN ACCESS EXCLUSIVE MODE;\n"


def migration(
    name: str, dependencies: Sequence[tuple[str, str]], changed: Sequence[Change]
) -> str:
    """The module of a migration, with the text of both directions.

    It takes something away only in the last of three steps; see CONTRIBUTING.
    """
    says = name.replace("_", " ").capitalize()
    if any(after is None for _, after in changed):
        says = f"Contract: {name.replace('_', ' ')}"
    named = "".join(f'        ("{a}", "{n}"),\n' for a, n in dependencies)
    forward, backward = script(changed), script([(b, a) for a, b in changed])
    return MODULE.format(
        says=says, forward=forward, backward=backward, dependencies=named
    )


MODULE = '''"""{says}."""

from django.db import migrations

FORWARD = r"""
{forward}"""

BACKWARD = r"""
{backward}"""


class Migration(migrations.Migration):
    dependencies = [
{dependencies}    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
'''
