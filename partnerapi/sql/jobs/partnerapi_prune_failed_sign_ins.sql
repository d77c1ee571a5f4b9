-- Removes failed sign-ins older than 90 days, and all but the last million. Returns how
-- many.
-- called by: application
CREATE OR REPLACE FUNCTION public.partnerapi_prune_failed_sign_ins()
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    DELETE FROM partnerapi_failedsignin
        WHERE at < clock_timestamp() - interval '90 days'
            OR id <= (SELECT max(id) - 1000000 FROM partnerapi_failedsignin);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_prune_failed_sign_ins() FROM PUBLIC;
