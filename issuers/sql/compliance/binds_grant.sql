-- Gives a partner a grant of an issuer, or of all without one, with the approval that
-- policy asks for; a grant that ended is given again.
-- called by: application
CREATE OR REPLACE FUNCTION public.binds_grant(
    id uuid, actor text, partner uuid, issuer uuid
)
RETURNS SETOF issuers_issuergrant LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM approvals_use_by(actor, 'GRANT',
        jsonb_strip_nulls(jsonb_build_object('partner', partner, 'issuer', issuer)));
    RETURN QUERY UPDATE issuers_issuergrant g
        SET ended_at = NULL, created_at = clock_timestamp()
        WHERE g.partner_id = partner AND g.issuer_id IS NOT DISTINCT FROM issuer
            AND g.ended_at IS NOT NULL
        RETURNING g.*;
    IF NOT FOUND THEN
        RETURN QUERY INSERT INTO issuers_issuergrant
            (id, partner_id, issuer_id, created_at)
        VALUES (id, partner, issuer, clock_timestamp())
        RETURNING *;
    END IF;
    PERFORM events_write(NULL, ARRAY[partner], ARRAY['GRANT_CHANGED'], ARRAY[issuer],
        ARRAY[issuer], NULL, NULL);
END $$;
REVOKE ALL ON FUNCTION public.binds_grant(uuid, text, uuid, uuid) FROM PUBLIC;
