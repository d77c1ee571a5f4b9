-- Ends an approval of a holder, once, for a member of staff with that right; returns the
-- time.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_ledgeraccount (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.binds_end_approval(actor text, approved uuid)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    ended timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM accounts_staff_with(actor, 'issuers.add_approvedholder');
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = (SELECT h.ledger_account_id FROM issuers_approvedholder h
            WHERE h.id = approved) FOR NO KEY UPDATE;
    UPDATE issuers_approvedholder h SET ended_at = clock_timestamp(), ended_by = actor
        WHERE h.id = approved AND h.ended_at IS NULL
        RETURNING h.ended_at INTO ended;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'An approved holder is ended once: %.', approved
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN ended;
END $$;
REVOKE ALL ON FUNCTION public.binds_end_approval(text, uuid) FROM PUBLIC;
