"""No function asks which table its trigger is on.

Only the owner may attach it to a table: none else may execute it.
"""

from django.db import migrations

from partnerapi.core.guards import without_table_check

TABLES = {
    "marketdata_follow_days": "marketdata_trade",
    "marketdata_open_book": "issuers_token",
}


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0024_pruned_logs")]

    operations = [
        without_table_check(name, table) for name, table in TABLES.items()
    ]
