-- Removes at most so many job runs older than 90 days. Returns how many.
-- called by: application
-- locks: partnerapi_jobrun (FOR UPDATE SKIP LOCKED)
CREATE OR REPLACE FUNCTION public.partnerapi_prune_job_runs(most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    DELETE FROM partnerapi_jobrun WHERE id IN (
        SELECT id FROM partnerapi_jobrun
        WHERE started_at < clock_timestamp() - interval '90 days'
        LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_prune_job_runs(integer) FROM PUBLIC;
