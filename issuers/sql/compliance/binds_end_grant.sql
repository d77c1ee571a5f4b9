-- Ends a grant for a member of staff with that right; FALSE if it had ended before.
-- called by: application
CREATE OR REPLACE FUNCTION public.binds_end_grant(actor text, given uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    partner uuid;
    issuer uuid;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM accounts_staff_with(actor, 'issuers.change_issuergrant');
    UPDATE issuers_issuergrant g SET ended_at = clock_timestamp()
        WHERE g.id = given AND g.ended_at IS NULL
        RETURNING g.partner_id, g.issuer_id INTO partner, issuer;
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    PERFORM events_write(NULL, ARRAY[partner], ARRAY['GRANT_CHANGED'], ARRAY[issuer],
        ARRAY[issuer], NULL, NULL);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.binds_end_grant(text, uuid) FROM PUBLIC;
