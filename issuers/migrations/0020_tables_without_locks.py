"""Tables of the past, and those that nobody can lock for, are read without locks.

Who calls the function as it was before, calls this one, which then locks.
"""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import again, closed_to_public, drop, granted_as

chains = import_module("issuers.migrations.0012_ledger_chains")

BEFORE = "register_note(uuid[], timestamptz)"
AFTER = "register_note(uuid[], timestamptz, timestamptz)"
LOCKS, _, REST = chains.NOTE.partition("BEGIN\n")[2].partition("    noted_at := least(")

NOTE = (
    chains.NOTE.partition("RETURNS TABLE")[0]
    .replace("asked timestamptz", "asked timestamptz, settled timestamptz DEFAULT NULL")
    .replace("OR REPLACE ", "")
    + "RETURNS TABLE"
    + chains.NOTE.partition("RETURNS TABLE")[2].partition("BEGIN\n")[0]
    + f"""BEGIN
    -- A session that only reads can wait for nobody, and answers for what is settled.
    IF current_setting('transaction_read_only')::boolean THEN
        asked := least(asked, settled);
    END IF;
    -- Up to then whoever wrote has committed.
    IF (asked <= settled) IS NOT TRUE THEN
{LOCKS}    END IF;
    noted_at := least({REST};
ALTER FUNCTION {AFTER} SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp;
{closed_to_public(AFTER)}"""
)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0009_settled_at"),
        ("issuers", "0019_documents_served"),
    ]

    operations = [
        migrations.RunSQL(
            NOTE + granted_as(AFTER, BEFORE) + drop(BEFORE),
            again(chains.OWNERS_NOTE) + granted_as(BEFORE, AFTER) + drop(AFTER),
        ),
    ]
