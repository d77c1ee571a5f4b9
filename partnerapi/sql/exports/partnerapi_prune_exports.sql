-- Expires exports and removes at most so many members, then so many exports that ended
-- 30 days ago. Returns how many rows went.
-- called by: application
-- locks: partnerapi_export (FOR UPDATE SKIP LOCKED), partnerapi_exportmember (FOR
--     UPDATE SKIP LOCKED)
CREATE OR REPLACE FUNCTION public.partnerapi_prune_exports(most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    UPDATE partnerapi_export SET status = 'EXPIRED'
    WHERE status = 'READY' AND expires_at <= clock_timestamp();
    DELETE FROM partnerapi_exportmember WHERE id IN (
        SELECT m.id FROM partnerapi_export e
        JOIN partnerapi_exportmember m ON m.export_id = e.id
        WHERE e.status IN ('FAILED', 'EXPIRED')
        LIMIT most FOR UPDATE OF m SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    IF deleted = 0 THEN
        DELETE FROM partnerapi_export WHERE id IN (
            SELECT e.id FROM partnerapi_export e
            WHERE e.status IN ('FAILED', 'EXPIRED')
                AND e.ended_at <= clock_timestamp() - interval '30 days'
                AND NOT EXISTS (
                    SELECT FROM partnerapi_exportmember m WHERE m.export_id = e.id)
            LIMIT most FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS deleted = ROW_COUNT;
    END IF;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_prune_exports(integer) FROM PUBLIC;
