-- Ends a restriction, once, with the approval that policy asks for; returns the time.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_ledgeraccount (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.binds_lift(actor text, restriction uuid)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    ended timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = (SELECT r.ledger_account_id FROM issuers_restriction r
            WHERE r.id = restriction) FOR NO KEY UPDATE;
    UPDATE issuers_restriction r SET ended_at = clock_timestamp(), ended_by = actor
        WHERE r.id = restriction AND r.ended_at IS NULL
        RETURNING r.ended_at INTO ended;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A restriction is ended once: %.', restriction
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'LIFTING',
        jsonb_build_object('restriction', restriction));
    RETURN ended;
END $$;
REVOKE ALL ON FUNCTION public.binds_lift(text, uuid) FROM PUBLIC;
