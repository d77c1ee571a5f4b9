"""What waits to be committed in two phases is not settled."""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import again

before = import_module("accounts.migrations.0011_settled_on_a_standby")

# It is in no session, and outlives the server. When it began is not kept: no transaction
# of ours lasts a day.
HERE = again(before.HERE).replace(
    "SELECT least(taken, min(",
    """SELECT least(taken, (
            SELECT min(least(p.prepared - interval '1 day', pg_postmaster_start_time()))
            FROM pg_prepared_xacts p WHERE p.database = current_database()
        ), min(""",
)
assert "pg_prepared_xacts" in HERE


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0037_notices_read_committed"),
    ]

    operations = [
        migrations.RunSQL(HERE, again(before.HERE)),
    ]
