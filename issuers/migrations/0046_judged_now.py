"""Judges what is only asked by the time at which it is asked."""

from django.db import migrations

from partnerapi.core.guards import rewritten

OF_LAST_WRITE = """            coalesce(h.hold_at, clock_timestamp()), FALSE) s
"""
# Who holds the ledger has taken its time; `hold_at` is otherwise the last writer's.
OF_NOW = """            CASE WHEN holds THEN coalesce(h.hold_at, clock_timestamp())
                ELSE clock_timestamp() END, FALSE) s
"""


class Migration(migrations.Migration):
    dependencies = [("issuers", "0045_no_shadows")]

    operations = [
        rewritten(
            "register_states(uuid[], bigint[], boolean)", (OF_LAST_WRITE, OF_NOW)
        ),
    ]
