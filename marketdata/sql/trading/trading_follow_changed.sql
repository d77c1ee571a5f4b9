-- An order changes only while it is OPEN, with an event, and keeps who, what and how
-- long; reserves and frees units and cents.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.trading_follow_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    wrong text;
    done bigint;
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_follow_changed guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('order %s', coalesce(n.id, o.id)) INTO wrong
    FROM was o FULL JOIN became n ON n.id = o.id
    WHERE (ROW (n.token_id, n.account_id, n.user_id, n.ledger_account_id, n.cash_account_id, n.partner_id, n.side, n.time_in_force, n.expires_at, n.client_order_id, n.created_at) IS NOT DISTINCT FROM ROW (o.token_id, o.account_id, o.user_id, o.ledger_account_id, o.cash_account_id, o.partner_id, o.side, o.time_in_force, o.expires_at, o.client_order_id, o.created_at)
        AND o.status = 'OPEN' AND n.last_event > o.last_event
        AND n.updated_at >= o.updated_at AND n.filled >= o.filled
        AND n.filled_value >= o.filled_value
        AND (n.version = o.version + 1 OR n.version = o.version
            AND ROW (n.limit_price, n.quantity, n.priority)
                = ROW (o.limit_price, o.quantity, o.priority))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order changes while it is OPEN, with an event; who, what '
            'and how long stay, and an amendment has a version of its own: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    
    WITH held AS (SELECT token_id, side, ledger_account_id, cash_account_id,
        (quantity - filled) AS units, (quantity - filled) * limit_price AS cents
        FROM became WHERE status = 'OPEN' UNION ALL SELECT token_id, side, ledger_account_id, cash_account_id,
        -(quantity - filled) AS units, -(quantity - filled) * limit_price AS cents
        FROM was WHERE status = 'OPEN'), per_account AS (
        SELECT token_id, side,
            CASE side WHEN 1 THEN ledger_account_id ELSE cash_account_id END AS account,
            sum(CASE side WHEN 1 THEN units ELSE cents END) AS delta
        FROM held GROUP BY 1, 2, 3
        HAVING sum(CASE side WHEN 1 THEN units ELSE cents END) <> 0
    ), units AS (
        SELECT issuers_reserve_units(token_id, array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 1 GROUP BY token_id
    ), cash AS (
        SELECT accounts_reserve_cash(array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 0 HAVING count(*) > 0
    )
    SELECT (SELECT count(*) FROM units) + (SELECT count(*) FROM cash) INTO done;
    
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_follow_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_follow_changed AFTER UPDATE ON public.trading_order
    REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_follow_changed();
