-- Locks a book's head (10 seconds at most) and returns its numbers and levels.
-- called by: application
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.marketdata_lock_book(token uuid)
RETURNS TABLE(sequence bigint, snapshot bigint, sides smallint[], prices bigint[],
    quantities bigint[]) LANGUAGE plpgsql SECURITY DEFINER
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET lock_timeout = '10s'
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    head marketdata_orderbookhead;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    IF FOUND THEN
        RETURN QUERY
            SELECT head.last_sequence, head.last_snapshot, array_agg(l.side),
                array_agg(l.price_cents), array_agg(l.quantity)
            FROM marketdata_booklevel l WHERE l.token_id = token;
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_lock_book(uuid) FROM PUBLIC;
