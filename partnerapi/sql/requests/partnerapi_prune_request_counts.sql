-- Removes at most so many hourly counts of requests older than 30 days. Returns how
-- many.
-- called by: application
-- locks: partnerapi_requestcount (FOR UPDATE SKIP LOCKED)
CREATE OR REPLACE FUNCTION public.partnerapi_prune_request_counts(most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    DELETE FROM partnerapi_requestcount WHERE id IN (
        SELECT id FROM partnerapi_requestcount
        WHERE hour < clock_timestamp() - interval '30 days'
        LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_prune_request_counts(integer) FROM PUBLIC;
