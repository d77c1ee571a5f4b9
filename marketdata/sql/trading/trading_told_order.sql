-- What becomes of an order, and each amendment, is an event of the market's log.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.trading_told_order()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_told_order guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (
        SELECT FROM trading_order o JOIN trading_orderevent e
            ON e.token_id = o.token_id AND e.number = o.last_event AND e.order_id = o.id
        WHERE o.id = NEW.id) THEN
        RAISE EXCEPTION 'What becomes of an order is an event of the market''s log: %.',
            NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.version > 1 AND NOT EXISTS (
        SELECT FROM trading_order o CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE e.kind = 'ORDER_AMENDED') AS amended,
                (array_agg(ROW (e.price, e.quantity, e.priority) ORDER BY e.number DESC)
                )[1] = ROW (o.limit_price, o.quantity, o.priority) AS fits
            FROM trading_orderevent e WHERE e.order_id = o.id
                AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')) p
        WHERE o.id = NEW.id AND p.fits AND p.amended = o.version - 1) THEN
        RAISE EXCEPTION 'An order is amended as an event says: %.', NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_told_order() FROM PUBLIC;

DROP TRIGGER IF EXISTS trading_told_order ON public.trading_order;
CREATE CONSTRAINT TRIGGER trading_told_order AFTER INSERT OR UPDATE
    ON public.trading_order DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_told_order();
