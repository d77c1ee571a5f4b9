-- Judges what is recorded of an internal market: the levels are its OPEN orders, the
-- tape its executions. A book that is not shown has none.
-- called by: marketdata_record
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_judge_book(
    of_token uuid, sides smallint[], prices bigint[], since_trade
    bigint
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, side %s, %s cents', of_token, c.side, c.price) INTO wrong
    FROM (SELECT DISTINCT c.side, c.price FROM unnest(sides, prices) AS c (side, price)) c
    JOIN trading_market m ON m.token_id = of_token
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = of_token AND o.side = c.side AND o.limit_price = c.price
            AND o.status = 'OPEN' AND m.shows_book
    ) s
    WHERE s.units <> coalesce((
        SELECT b.quantity FROM marketdata_booklevel b WHERE b.token_id = of_token
            AND b.side = c.side AND b.price_cents = c.price), 0)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders; nothing else feeds an internal '
            'market: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('trade %s of token %s', t.sequence, of_token) INTO wrong
    FROM marketdata_trade t
    LEFT JOIN trading_execution x
        ON x.token_id = of_token AND x.sequence = t.sequence
    WHERE t.token_id = of_token AND t.sequence > since_trade
        AND (x.price = t.price_cents AND x.quantity = t.quantity) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The tape of an internal market holds its executions and nothing '
            'else: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_judge_book(uuid, smallint[], bigint[], bigint)
    FROM PUBLIC;
