"""Waits for transactions that took a time before they marked what they write.

Processes that read tables without locks start after it. It holds nothing meanwhile.
"""

from django.db import migrations

WAIT = """
DO $$
DECLARE
    writers text[];
    still text[];
BEGIN
    LOOP
        SELECT array_agg(l.virtualtransaction) INTO still FROM pg_locks l
        WHERE l.locktype = 'relation' AND l.pid <> pg_backend_pid()
            AND l.database = (
                SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
            AND l.relation IN (
                'issuers_token'::regclass, 'issuers_tokenledgerhead'::regclass)
            AND l.mode IN ('RowShareLock', 'RowExclusiveLock')
            AND (writers IS NULL OR l.virtualtransaction = ANY (writers));
        EXIT WHEN still IS NULL;
        writers := still;
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("issuers", "0050_tables_write_nothing")]

    operations = [migrations.RunSQL(WAIT, migrations.RunSQL.noop)]
