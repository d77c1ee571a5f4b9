"""Gives the accounts from before their cash accounts; a trigger gives them to new ones."""

from django.db import migrations, transaction

BATCH = 1_000
FILL = """
    WITH batch AS (
        SELECT id FROM accounts_account
        WHERE id > coalesce(
            %(after)s::uuid, '00000000-0000-0000-0000-000000000000')
        ORDER BY id LIMIT %(most)s
    ), filled AS (
        INSERT INTO accounts_cashaccount (kind, account_id)
        SELECT 'CLIENT', id FROM batch ORDER BY id
        ON CONFLICT (account_id) DO NOTHING
    )
    SELECT max(id::text) FROM batch
"""


def fill(apps, schema_editor):
    connection, last = schema_editor.connection, None
    while True:
        with transaction.atomic(connection.alias), connection.cursor() as cursor:
            cursor.execute(FILL, {"after": last, "most": BATCH})
            [(last,)] = cursor.fetchall()
        if last is None:
            break


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("accounts", "0018_cash_guards")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
