"""No function asks which table its trigger is on.

Only the owner may attach it to a table: none else may execute it.
"""

from django.db import migrations

from partnerapi.core.guards import without_table_check

TABLES = {
    "partnerapi_follow_members": "partnerapi_exportmember",
    "partnerapi_keep_answers": "partnerapi_idempotencyrecord",
    "partnerapi_keep_exports": "partnerapi_export",
}


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0031_webhooks_end")]

    operations = [
        without_table_check(name, table) for name, table in TABLES.items()
    ]
