"""Counts the legacy lines and the events from before triggers kept their numbers."""

from django.db import migrations, transaction

from partnerapi.core.migrating import (
    LOCK_SECONDS,
    again_while_locked,
    fill_totals,
    waiting,
)

GROUPS = """partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END AS token_id"""
EVENTS = 100_000
"""In a batch, which holds nothing up: what has a number stays until it is pruned."""
HEAD = """
    SELECT pruned_sequence, last_sequence FROM issuers_eventhead
    WHERE partner_id = %(partner)s
"""
COUNT = f"""
    SELECT {GROUPS}, count(*) FROM issuers_event
    WHERE partner_id = %(partner)s AND sequence > %(after)s AND sequence <= %(until)s
    GROUP BY 1, 2, 3, 4
"""
CLEAR = "DELETE FROM issuers_eventcount WHERE partner_id = %(partner)s"
WRITE = """
    INSERT INTO issuers_eventcount (partner_id, type, issuer_id, token_id, number)
    VALUES (%s, %s, %s, %s, %s)
"""


def count_events(apps, schema_editor):
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT partner_id FROM issuers_eventhead ORDER BY partner_id")
        partners = [partner for (partner,) in cursor.fetchall()]
    for partner in partners:
        while not count_of_partner(connection, partner):
            pass


def count_of_partner(connection, partner):
    """Write the counts of a partner; False: some were pruned meanwhile."""
    counted = {}
    with connection.cursor() as cursor:
        cursor.execute(HEAD, {"partner": partner})
        [(pruned, last)] = cursor.fetchall()
        for after in range(pruned, last, EVENTS):
            until = min(after + EVENTS, last)
            add(counted, cursor, partner, after, until)
    return again_while_locked(lambda: write(connection, partner, counted, pruned, last))


def add(counted, cursor, partner, after, until):
    cursor.execute(COUNT, {"partner": partner, "after": after, "until": until})
    for *group, number in cursor.fetchall():
        counted[tuple(group)] = counted.get(tuple(group), 0) + number


def write(connection, partner, counted, pruned, last):
    """Add what has come since, while no events of the partner are numbered."""
    with (
        waiting(connection, LOCK_SECONDS),
        transaction.atomic(connection.alias),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"{HEAD} FOR NO KEY UPDATE", {"partner": partner})
        [(pruned_now, last_now)] = cursor.fetchall()
        if pruned_now != pruned:
            return False
        counted = dict(counted)
        add(counted, cursor, partner, last, last_now)
        cursor.execute(CLEAR, {"partner": partner})
        rows = [(*group, number) for group, number in counted.items()]
        cursor.executemany(WRITE, rows)
    return True


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0048_totals")]

    operations = [
        migrations.RunPython(count_events, migrations.RunPython.noop),
        fill_totals(
            "legacyShareholders",
            "issuers_legacyshareholder",
            "issuer_id",
            "SELECT DISTINCT issuer_id FROM issuers_legacyshareholder ORDER BY 1",
        ),
    ]
