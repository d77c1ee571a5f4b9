-- The book of an internal market is the sum of its OPEN orders, level by level.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.trading_book_is_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'marketdata_bookchange'::regclass THEN
        RAISE EXCEPTION 'trading_book_is_orders guards marketdata_bookchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('token %s, side %s, %s cents', c.token_id, c.side, c.price_cents)
    INTO wrong
    FROM (
        SELECT DISTINCT ON (e.token_id, e.side, e.price_cents) e.token_id, e.side,
            e.price_cents, e.quantity
        FROM entered e JOIN marketdata_orderbookhead h
            ON h.token_id = e.token_id AND h.source = 'OWN'
        ORDER BY e.token_id, e.side, e.price_cents, e.sequence DESC
    ) c
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = c.token_id AND o.side = c.side
            AND o.limit_price = c.price_cents AND o.status = 'OPEN'
    ) s
    WHERE c.quantity <> s.units
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders; nothing else feeds an internal '
            'market: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_book_is_orders() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_book_is_orders AFTER INSERT
    ON public.marketdata_bookchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_book_is_orders();
