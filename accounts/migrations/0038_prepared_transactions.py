"""What waits to be committed in two phases is not settled."""

from django.db import migrations

from partnerapi.core.guards import rewritten

# It is in no session, and outlives the server. When it began is not kept: no transaction
# of ours lasts a day.
HERE = rewritten(
    "accounts_settled_at()",
    (
        "SELECT least(taken, min(",
        """SELECT least(taken, (
            SELECT min(least(p.prepared - interval '1 day', pg_postmaster_start_time()))
            FROM pg_prepared_xacts p WHERE p.database = current_database()
        ), min(""",
    ),
)


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0037_notices_read_committed"),
    ]

    operations = [
        HERE,
    ]
