"""A period that ends is looked up for each user who sold out.

A plan that was made while the table was small read all users' periods, for every
entry's change: a large import into an empty installation grew with their product.
"""

from importlib import import_module

from django.db import migrations

ENDS_FIRST = import_module("issuers.migrations.0022_periods_end_first").ENDS_FIRST
ALL_PERIODS = """\
        FROM changed c
        WHERE NOT c.holds AND c.before IS NULL AND h.token_id = c.token_id
            AND h.user_id = c.user_id AND h.until IS NULL RETURNING 1"""
ITS_PERIOD = """\
        FROM (
            SELECT seq, (SELECT ctid FROM issuers_holdingperiod p
                WHERE p.token_id = changed.token_id AND p.user_id = changed.user_id
                    AND p.until IS NULL) AS place
            FROM changed WHERE NOT holds AND before IS NULL OFFSET 0
        ) c
        WHERE h.ctid = c.place RETURNING 1"""
assert ALL_PERIODS in ENDS_FIRST


class Migration(migrations.Migration):
    dependencies = [("issuers", "0042_log_by_token")]

    operations = [
        migrations.RunSQL(ENDS_FIRST.replace(ALL_PERIODS, ITS_PERIOD), ENDS_FIRST)
    ]
