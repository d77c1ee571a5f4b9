-- Removes at most so many expired answers; passes over those that are being claimed.
-- Returns how many.
-- called by: application
-- locks: partnerapi_idempotencyrecord (FOR UPDATE SKIP LOCKED)
CREATE OR REPLACE FUNCTION public.partnerapi_prune_idempotency_records(most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    -- A key that is being claimed anew stays, and neither side waits.
    DELETE FROM partnerapi_idempotencyrecord WHERE id IN (
        SELECT id FROM partnerapi_idempotencyrecord
        WHERE expires_at <= clock_timestamp()
        LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_prune_idempotency_records(integer) FROM PUBLIC;
