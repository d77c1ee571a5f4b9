-- A trade is of a buy and a sell order of two users, at the resting order's price and
-- within the other's limit, with an entry of its units and a payment of its price.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.trading_follow_executions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'trading_execution'::regclass THEN
        RAISE EXCEPTION 'trading_follow_executions guards trading_execution, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('trade %s of token %s', x.sequence, x.token_id) INTO wrong
    FROM entered x
    LEFT JOIN trading_order b ON b.id = x.buy_order_id
    LEFT JOIN trading_order s ON s.id = x.sell_order_id
    LEFT JOIN trading_market m ON m.token_id = x.token_id
    LEFT JOIN issuers_ledgertransaction l
        ON l.token_id = x.token_id AND l.seq = x.ledger_seq
    LEFT JOIN accounts_cashtransaction c ON c.id = x.cash_transaction
    WHERE (b.token_id = x.token_id AND s.token_id = x.token_id
        AND b.side = 0 AND s.side = 1 AND b.user_id <> s.user_id
        AND x.buyer_account_id = b.account_id AND x.seller_account_id = s.account_id
        AND x.price <= b.limit_price AND x.price >= s.limit_price
        AND x.price = CASE x.aggressor
            WHEN 0 THEN s.limit_price WHEN 1 THEN b.limit_price END
        AND CASE x.aggressor WHEN 0 THEN b.priority > s.priority
            WHEN 1 THEN s.priority > b.priority END
        AND m.phase = 'CONTINUOUS' AND (m.next_phase_at > x.at) IS NOT FALSE
        AND x.at >= l.effective_at AND x.event > m.last_event + 1
        AND x.at >= m.last_at AND x.at <= greatest(m.last_at, clock_timestamp())
        AND (b.expires_at > x.at) IS NOT FALSE AND (s.expires_at > x.at) IS NOT FALSE
        AND l.kind = 'TRADE' AND l.amount = x.quantity
        AND l.source_id = s.ledger_account_id AND l.target_id = b.ledger_account_id
        AND c.kind = 'TRADE' AND c.amount = x.price * x.quantity
        AND c.source_id = b.cash_account_id AND c.target_id = s.cash_account_id)
        IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A trade is of a buy and a sell order of two users, at the '
            'resting one''s price and within the other''s limit, while the market is '
            'CONTINUOUS and before either expires, with an entry of its units and a '
            'payment of its price, and names their accounts: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_follow_executions() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_follow_executions AFTER INSERT
    ON public.trading_execution REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_follow_executions();
