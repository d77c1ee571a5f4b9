"""One payment a night moves the fees of a market to the platform."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_sweep()
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    house bigint;
    paid bigint[];
BEGIN
    PERFORM accounts_read_committed();
    SELECT c.id INTO house FROM accounts_cashaccount c WHERE c.kind = 'FEES';
    PERFORM FROM accounts_cashhead h
        WHERE h.kind IN ('FEES', 'MARKET')
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    SELECT cash_post(clock_timestamp(), array_agg('FEE'::text ORDER BY h.account),
        array_agg(CASE WHEN h.balance > 0 THEN h.account ELSE house END
            ORDER BY h.account),
        array_agg(CASE WHEN h.balance > 0 THEN house ELSE h.account END
            ORDER BY h.account),
        array_agg(abs(h.balance) ORDER BY h.account),
        array_agg('market'::text ORDER BY h.account), array_agg(''::text),
        array_agg(NULL::text), array_agg(NULL::bigint), array_agg(NULL::bigint),
        array_agg(NULL::uuid), '{}', '{}')
    INTO paid
    FROM (SELECT x.cash_account_id AS account, x.balance FROM accounts_cashhead x
        WHERE x.kind = 'MARKET' AND x.balance <> 0 LIMIT 5000) h
    HAVING count(*) > 0;
    RETURN coalesce(cardinality(paid), 0);
END $$;
REVOKE ALL ON FUNCTION public.trading_sweep() FROM PUBLIC;
"""

BACKWARD = r"""
DROP FUNCTION public.trading_sweep();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0036_priority_read_once"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
