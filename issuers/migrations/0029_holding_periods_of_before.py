"""Writes the holding periods of entries from before a trigger kept them.

The ledger is held for each batch of accounts: nobody enters anything between the look
at its entries and the periods that follow from them.
"""

from django.db import migrations, transaction

from partnerapi.core.migrating import LOCK_SECONDS, again_while_locked, waiting

ACCOUNTS = 100
"""In a batch: some have hundreds of entries, and who asks for a table waits."""
HOLD = "SELECT FROM issuers_tokenledgerhead WHERE token_id = %(token)s FOR UPDATE"
NEXT = """
    SELECT max(account_id) FROM (
        SELECT account_id FROM issuers_holderbalance
        WHERE token_id = %(token)s AND account_id > %(after)s
        ORDER BY account_id LIMIT %(most)s
    ) batch
"""
FILL = """
    INSERT INTO issuers_holdingperiod (token_id, user_id, since, until)
    SELECT token_id, user_id, seq, next
    FROM (
        SELECT p.token_id, a.user_id, p.seq, p.balance_after > 0 AS holds,
            lead(p.seq) OVER (PARTITION BY p.account_id ORDER BY p.seq) AS next
        FROM issuers_ledgerposting p JOIN issuers_ledgeraccount a ON a.id = p.account_id
        WHERE p.token_id = %(token)s AND p.account_id > %(after)s
            AND p.account_id <= %(last)s AND a.user_id IS NOT NULL
            AND (p.balance_after > 0) <> (p.balance_after > p.delta)
    ) AS changed
    WHERE holds
    ON CONFLICT DO NOTHING
"""


def fill(apps, schema_editor):
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT token_id FROM issuers_tokenledgerhead ORDER BY token_id")
        tokens = [token for (token,) in cursor.fetchall()]
    for token in tokens:
        last = 0
        while last is not None:
            last = again_while_locked(lambda: fill_batch(connection, token, last))


def fill_batch(connection, token, after):
    """Write the periods of the accounts after one; the last of them, or None."""
    names = {"token": token, "after": after, "most": ACCOUNTS}
    with (
        waiting(connection, LOCK_SECONDS),
        transaction.atomic(connection.alias),
        connection.cursor() as cursor,
    ):
        cursor.execute(NEXT, names)
        [(last,)] = cursor.fetchall()
        if last is not None:
            cursor.execute(HOLD, names)
            cursor.execute(FILL, names | {"last": last})
    return last


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0028_legacy_shareholders_by_updated_at")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
