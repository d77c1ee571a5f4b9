-- Approves a holder of a token from now on, in place of an approval in force, for a
-- member of staff with that right.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_ledgeraccount (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.binds_approve_holder(
    id uuid, actor text, token uuid, account bigint, until timestamp with time zone
)
RETURNS SETOF issuers_approvedholder LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    at timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM accounts_staff_with(actor, 'issuers.add_approvedholder');
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = account AND a.kind = 'HOLDER' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Account % is no holder''s.', account
            USING ERRCODE = 'restrict_violation';
    END IF;
    at := clock_timestamp();
    UPDATE issuers_approvedholder h SET ended_at = at, ended_by = actor
        WHERE h.token_id = token AND h.ledger_account_id = account
            AND h.ended_at IS NULL;
    RETURN QUERY INSERT INTO issuers_approvedholder (id, token_id, ledger_account_id,
        until, created_by, created_at)
    VALUES (id, token, account, until, actor, at)
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.binds_approve_holder(uuid, text, uuid, bigint, timestamp
    with time zone) FROM PUBLIC;
