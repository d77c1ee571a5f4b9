-- Tells an order's partner about each of its events.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.trading_tell_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'trading_orderevent'::regclass THEN
        RAISE EXCEPTION 'trading_tell_orders guards trading_orderevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(o.partner_id ORDER BY e.token_id, e.number),
        array_agg(e.kind::text ORDER BY e.token_id, e.number),
        array_agg(o.id ORDER BY e.token_id, e.number), NULL,
        array_agg(e.token_id ORDER BY e.token_id, e.number),
        array_agg(o.account_id ORDER BY e.token_id, e.number), NULL,
        array_agg(e.number ORDER BY e.token_id, e.number),
        array_agg(e.price ORDER BY e.token_id, e.number),
        array_agg(e.quantity ORDER BY e.token_id, e.number),
        array_agg(e.remaining ORDER BY e.token_id, e.number),
        array_agg(e.trade ORDER BY e.token_id, e.number),
        array_agg(CASE WHEN e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
            THEN e.reason END ORDER BY e.token_id, e.number))
    FROM entered e JOIN trading_order o ON o.id = e.order_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_tell_orders() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_tell_orders AFTER INSERT ON public.trading_orderevent
    REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_tell_orders();
