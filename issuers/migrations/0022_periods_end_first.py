"""Who sells out and gets units again in one batch has two periods of holding."""

from importlib import import_module

from django.db import migrations

FOLLOW, _, ATTACH = import_module(
    "issuers.migrations.0018_holding_periods"
).FOLLOW.partition("CREATE TRIGGER")
# All that ends has ended before the first period begins.
ENDS_FIRST = FOLLOW.replace(
    "AND h.user_id = c.user_id AND h.until IS NULL",
    "AND h.user_id = c.user_id AND h.until IS NULL RETURNING 1",
).replace(
    "FROM changed WHERE holds",
    "FROM changed, (SELECT count(*) FROM ended) AS at_first WHERE holds",
)


class Migration(migrations.Migration):
    dependencies = [("issuers", "0021_industry_of_issuers")]

    operations = [migrations.RunSQL(ENDS_FIRST, FOLLOW)]
