-- Makes the price of a book's last trade, made in this transaction, the price of the
-- token; returns its time.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.marketdata_price(token uuid, actor text)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    cents bigint;
    traded_at timestamptz;
    taken timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    SELECT t.price_cents, t.at INTO cents, traded_at FROM marketdata_trade t
    JOIN marketdata_orderbookhead h ON h.token_id = t.token_id AND h.source <> 'OWN'
    WHERE t.token_id = token ORDER BY t.sequence DESC LIMIT 1;
    IF (traded_at >= transaction_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'Token % has no trade of this transaction on a book of a feed.',
            token USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM register_mark(ARRAY[token]);
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = token FOR UPDATE;
    taken := clock_timestamp();
    PERFORM register_post(taken, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        ARRAY[token], ARRAY[cents], ARRAY['TRADE'], ARRAY[actor], '{}', '{}', '{}');
    RETURN taken;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_price(uuid, text) FROM PUBLIC;
