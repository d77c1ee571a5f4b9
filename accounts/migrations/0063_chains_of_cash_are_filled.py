"""The chains of cash accounts whose postings are older than chains.

Each account is locked for its own chain only: payments of all others go on.
"""

from django.db import migrations

FILL = """
DO $$
DECLARE
    account bigint;
    computed bytea;
    said text;
BEGIN
    FOR account IN SELECT cash_account_id FROM accounts_cashhead
        WHERE entry_digest IS NULL ORDER BY cash_account_id
    LOOP
        PERFORM FROM accounts_cashhead WHERE cash_account_id = account FOR NO KEY UPDATE;
        computed := decode(repeat('00', 32), 'hex');
        FOR said IN SELECT line FROM cash_entry_lines
            WHERE cash_account_id = account ORDER BY number
        LOOP
            computed := sha256(computed || convert_to(said, 'UTF8'));
        END LOOP;
        UPDATE accounts_cashhead SET entry_digest = computed
            WHERE cash_account_id = account AND entry_digest IS NULL;
        COMMIT;
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0062_chains_of_cash_sql")]

    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
