-- Blocks orders of a partner: of all its accounts or one, for all tokens or one. Staff
-- also block all partners. It waits until orders under way have ended, and none that
-- began before rests afterwards. Returns the block; one that stands already stays.
-- called by: application
-- raises: restrict_violation
-- locks: orders of partner (advisory)
CREATE OR REPLACE FUNCTION public.trading_block(
    of_partner uuid, of_account uuid, of_token uuid, why text, asked_by text
)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_variable
DECLARE
    by_partner boolean := EXISTS (SELECT FROM accounts_partner p
        WHERE p.id = of_partner AND p.login = asked_by);
    made uuid;
BEGIN
    PERFORM accounts_read_committed();
    IF NOT by_partner THEN
        PERFORM accounts_staff_with(asked_by, 'trading.change_market');
    END IF;
    IF of_account IS NOT NULL AND NOT EXISTS (SELECT FROM accounts_account a
            WHERE a.id = of_account AND a.partner_id = of_partner)
        OR NOT by_partner AND (of_token IS NOT NULL OR why = '') THEN
        RAISE EXCEPTION 'A block is of an account of the partner; staff give a reason, '
            'and name no token.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('orders of partner' || p.id, 0))
    FROM (SELECT x.id FROM accounts_partner x
        WHERE of_partner IS NULL OR x.id = of_partner ORDER BY x.id) p;
    SELECT b.id INTO made FROM trading_orderblock b
    WHERE b.released_at IS NULL AND b.is_staff <> by_partner
        AND b.partner_id IS NOT DISTINCT FROM of_partner
        AND b.account_id IS NOT DISTINCT FROM of_account
        AND b.token_id IS NOT DISTINCT FROM of_token;
    IF FOUND THEN
        RETURN made;
    END IF;
    INSERT INTO trading_orderblock (id, partner_id, account_id, token_id, is_staff,
        reason, blocked_by, blocked_at)
    VALUES (gen_random_uuid(), of_partner, of_account, of_token, NOT by_partner, why,
        asked_by, clock_timestamp())
    RETURNING id INTO made;
    PERFORM events_write(ARRAY[CASE WHEN of_partner IS NULL THEN 'ALL'
            ELSE 'PARTNER' END], ARRAY[of_partner], ARRAY['ORDERS_BLOCKED'],
        ARRAY[of_account], NULL, ARRAY[of_token], ARRAY[of_account]);
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION public.trading_block(uuid, uuid, uuid, text, text) FROM PUBLIC;
