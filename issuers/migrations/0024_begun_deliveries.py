"""Deliveries that were begun before go on: their lines are frozen as they are now."""

from django.db import migrations

BEGUN = "SELECT id FROM issuers_deliveryjob WHERE finished_at IS NULL"
FREEZE = """
UPDATE issuers_deliverystep s SET units = l.units, token_ids = l.tokens,
    user_ids = l.users
FROM (
    SELECT s.id, array_agg(coalesce(h.number_of_shares, 0) ORDER BY u.place) AS units,
        array_agg(h.token_id ORDER BY u.place) AS tokens,
        array_agg(h.user_id ORDER BY u.place) AS users
    FROM issuers_deliverystep s
    CROSS JOIN LATERAL unnest(s.shareholder_ids) WITH ORDINALITY AS u (id, place)
    LEFT JOIN issuers_legacyshareholder h ON h.id = u.id
    WHERE s.job_id = %s
    GROUP BY s.id
) l WHERE l.id = s.id
"""
RELEASE = "UPDATE issuers_deliveryjob SET released_at = created_at WHERE id = %s"


def freeze(apps, editor):
    with editor.connection.cursor() as cursor:
        cursor.execute(BEGUN)
        for (job,) in cursor.fetchall():
            cursor.execute(FREEZE, [job])
            cursor.execute(RELEASE, [job])


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("issuers", "0023_frozen_deliveries")]

    operations = [migrations.RunPython(freeze, migrations.RunPython.noop)]
