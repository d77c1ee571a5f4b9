"""Keeps how many orders partners and accounts have."""

from django.db import migrations

from partnerapi.core.guards import drop

ORDERS = """
CREATE OR REPLACE FUNCTION trading_count_orders() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp  AS $$
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_count_orders guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'orders', partner_id, count(*) FROM changed GROUP BY partner_id UNION ALL SELECT 'accountOrders', account_id, count(*) FROM changed GROUP BY account_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSE
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'orders', partner_id, -count(*) FROM changed GROUP BY partner_id UNION ALL SELECT 'accountOrders', account_id, -count(*) FROM changed GROUP BY account_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION trading_count_orders() FROM PUBLIC;

CREATE TRIGGER trading_count_orders AFTER INSERT ON trading_order REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION trading_count_orders();
ALTER TABLE trading_order ENABLE ALWAYS TRIGGER trading_count_orders;
CREATE TRIGGER trading_count_orders_less AFTER DELETE ON trading_order REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION trading_count_orders();
ALTER TABLE trading_order ENABLE ALWAYS TRIGGER trading_count_orders_less;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0008_judged_by_time"),
        ("accounts", "0033_counted_accounts"),
    ]

    operations = [
        migrations.RunSQL(
            ORDERS,
            drop(
                "trading_count_orders()",
                triggers={
                    "trading_count_orders": "trading_order",
                    "trading_count_orders_less": "trading_order",
                },
            ),
        ),
    ]
