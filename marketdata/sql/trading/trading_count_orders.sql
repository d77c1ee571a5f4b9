-- Notes how many orders each partner and account gained or lost; accounts_fold_totals
-- adds them up at the commit.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.trading_count_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_count_orders guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM accounts_count(array_agg(list), array_agg(key), array_agg(number))
        FROM (SELECT 'orders'::text AS list, partner_id AS key, count(*) AS number
            FROM changed GROUP BY partner_id
            UNION ALL
            SELECT 'accountOrders', account_id, count(*) FROM changed
            GROUP BY account_id) c
        HAVING count(*) > 0;
    ELSE
        PERFORM accounts_count(array_agg(list), array_agg(key), array_agg(-number))
        FROM (SELECT 'orders'::text AS list, partner_id AS key, count(*) AS number
            FROM changed GROUP BY partner_id
            UNION ALL
            SELECT 'accountOrders', account_id, count(*) FROM changed
            GROUP BY account_id) c
        HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_count_orders() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_count_orders AFTER INSERT ON public.trading_order
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_count_orders();
ALTER TABLE public.trading_order ENABLE ALWAYS TRIGGER trading_count_orders;

CREATE OR REPLACE TRIGGER trading_count_orders_less AFTER DELETE
    ON public.trading_order REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION public.trading_count_orders();
ALTER TABLE public.trading_order ENABLE ALWAYS TRIGGER trading_count_orders_less;
