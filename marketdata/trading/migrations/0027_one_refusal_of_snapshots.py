"""Writers call what refuses a snapshot, in place of a text of their own."""

from django.db import migrations

from partnerapi.core.guards import SNAPSHOT_CHECK, rewritten

CALL = "    PERFORM accounts_read_committed();\n"
SIGNATURES = (
    "trading_change_phase(uuid, text, text, timestamp with time zone, bigint, text, text)",
    "trading_lock(uuid[])",
    "trading_open(uuid, time without time zone, time without time zone, boolean, timestamp with time zone, bigint, bigint, integer, bigint, text)",
    "trading_undo(uuid, bigint, text, text, text)",
)


class Migration(migrations.Migration):
    dependencies = [("trading", "0026_no_table_checks"), ("accounts", "0069_one_guard_a_table")]

    operations = [
        rewritten(signature, (SNAPSHOT_CHECK, CALL)) for signature in SIGNATURES
    ]
