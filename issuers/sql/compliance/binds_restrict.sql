-- Restricts a holder's units from now on, for a member of staff with that right.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_ledgeraccount (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.binds_restrict(
    id uuid, actor text, account bigint, kind text, token uuid, units numeric,
    until timestamp with time zone, beneficiary text, reason text
)
RETURNS SETOF issuers_restriction LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM accounts_staff_with(actor, 'issuers.add_restriction');
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = account AND a.kind = 'HOLDER' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Account % is no holder''s.', account
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY INSERT INTO issuers_restriction (id, kind, ledger_account_id, token_id,
        units, until, beneficiary, reason, created_by, created_at)
    VALUES (id, kind, account, token, units, until, beneficiary, reason, actor,
        clock_timestamp())
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.binds_restrict(uuid, text, bigint, text, uuid, numeric,
    timestamp with time zone, text, text) FROM PUBLIC;
