"""Writers call what refuses a snapshot, in place of a text of their own."""

from django.db import migrations

from partnerapi.core.guards import SNAPSHOT_CHECK, rewritten

CALL = "    PERFORM accounts_read_committed();\n"
SIGNATURES = (
    "marketdata_lock_book(uuid)",
    "marketdata_record(uuid, bigint, smallint[], bigint[], bigint[], boolean[], bigint[], bigint[], boolean)",
)
OTHERS = {
    "marketdata_price(uuid, text)": (
        """    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed '
            'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
""",
        "    PERFORM accounts_read_committed();\n",
    ),
}


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0025_no_table_checks"), ("accounts", "0069_one_guard_a_table")]

    operations = [
        rewritten(signature, (SNAPSHOT_CHECK, CALL)) for signature in SIGNATURES
    ] + [rewritten(signature, change) for signature, change in OTHERS.items()]
