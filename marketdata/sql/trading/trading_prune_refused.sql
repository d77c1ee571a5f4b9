-- Removes at most so many refused orders older than so many days (30 or more). Returns
-- how many.
-- called by: application
-- raises: restrict_violation
-- locks: trading_refusedorder (FOR UPDATE SKIP LOCKED)
CREATE OR REPLACE FUNCTION public.trading_prune_refused(days integer, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    IF days < 30 THEN
        RAISE EXCEPTION 'Refused orders are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    DELETE FROM trading_refusedorder WHERE id IN (
        SELECT id FROM trading_refusedorder
        WHERE at < clock_timestamp() - make_interval(days => days)
        LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.trading_prune_refused(integer, integer) FROM PUBLIC;
