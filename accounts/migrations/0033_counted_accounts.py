"""Counts the accounts of each partner from before a trigger kept their number."""

from django.db import migrations, transaction

from partnerapi.core.migrating import LOCK_SECONDS, again_while_locked, waiting

KEYS = 20
"""In a batch: a transaction that adds a row to one of these lists waits for it."""
OPEN = """
    INSERT INTO accounts_total (list, key, number)
    SELECT %(list)s, key, 0 FROM unnest(%(keys)s::uuid[]) AS key ORDER BY key
    ON CONFLICT DO NOTHING
"""
HOLD = """
    SELECT FROM accounts_total WHERE list = %(list)s AND key = ANY(%(keys)s::uuid[])
    ORDER BY key FOR UPDATE
"""


def fill(list_: str, table: str, column: str, keys: str):
    """An operation that sets the totals of a list, of all keys of a query.

    A transaction that has changed a list has added that up when its total is held, and
    the statement that counts then sees it; all others add theirs to it.
    """
    count = f"""
        UPDATE accounts_total t SET number = (
            SELECT count(*) FROM {table} x WHERE x.{column} = t.key)
        WHERE t.list = %(list)s AND t.key = ANY(%(keys)s::uuid[])
    """

    def fill_all(apps, schema_editor):
        connection = schema_editor.connection
        with connection.cursor() as cursor:
            cursor.execute(keys)
            found = [str(key) for (key,) in cursor.fetchall()]
        for first in range(0, len(found), KEYS):
            batch = {"list": list_, "keys": found[first : first + KEYS]}
            again_while_locked(lambda: fill_batch(connection, batch, count))

    return migrations.RunPython(fill_all, migrations.RunPython.noop)


def fill_batch(connection, batch, count):
    with (
        waiting(connection, LOCK_SECONDS),
        transaction.atomic(connection.alias),
        connection.cursor() as cursor,
    ):
        for statement in (OPEN, HOLD, count):
            cursor.execute(statement, batch)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0032_totals")]

    operations = [
        fill(
            "accounts",
            "accounts_account",
            "partner_id",
            "SELECT id FROM accounts_partner ORDER BY id",
        ),
    ]
