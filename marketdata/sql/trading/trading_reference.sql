-- The price that limits refer to when a market opens: that of its last trade that
-- stands, else the token's, else the market's.
-- called by: trading_announce, trading_change_phase
CREATE OR REPLACE FUNCTION public.trading_reference(of_token uuid)
RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT coalesce(
        (SELECT x.price FROM trading_execution x
         WHERE x.token_id = of_token AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
         ORDER BY x.sequence DESC LIMIT 1),
        (SELECT nullif(h.price_cents, 0) FROM issuers_tokenledgerhead h
         WHERE h.token_id = of_token),
        (SELECT m.reference_price FROM trading_market m WHERE m.token_id = of_token))
$$;
REVOKE ALL ON FUNCTION public.trading_reference(uuid) FROM PUBLIC;
