-- A new order is of an ACTIVE account, its user, partner and accounts, on an internal
-- market; reserves its units or cents.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.trading_follow_placed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    wrong text;
    done bigint;
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_follow_placed guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('order %s', o.id) INTO wrong
    FROM came o
    LEFT JOIN accounts_account a ON a.id = o.account_id
    LEFT JOIN issuers_ledgeraccount l ON l.id = o.ledger_account_id
    LEFT JOIN accounts_cashaccount c ON c.id = o.cash_account_id
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = o.token_id
    WHERE (a.user_id = o.user_id AND a.partner_id = o.partner_id
        AND a.status = 'ACTIVE' AND l.user_id = o.user_id
        AND c.account_id = o.account_id AND h.source = 'OWN' AND o.version = 1)
        IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order belongs to an ACTIVE account, to its user, partner and '
            'accounts, on an internal market: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    
    WITH held AS (SELECT token_id, side, ledger_account_id, cash_account_id,
        (quantity - filled) AS units, (quantity - filled) * limit_price AS cents
        FROM came WHERE status = 'OPEN'), per_account AS (
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
REVOKE ALL ON FUNCTION public.trading_follow_placed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_follow_placed AFTER INSERT ON public.trading_order
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_follow_placed();
