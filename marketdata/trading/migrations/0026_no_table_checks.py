"""No function asks which table its trigger is on.

Only the owner may attach it to a table: none else may execute it.
"""

from django.db import migrations

from partnerapi.core.guards import without_table_check

TABLES = {
    "trading_left_active": "accounts_accountstatuschange",
    "trading_told_bust": "trading_bust",
}


class Migration(migrations.Migration):
    dependencies = [("trading", "0025_cancel_timer_sql")]

    operations = [
        without_table_check(name, table) for name, table in TABLES.items()
    ]
