-- Joins a PENDING account to an existing user of the same type with the email or the
-- LEI that the partner stated.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_account (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.accounts_join(account uuid, known uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_account WHERE id = account FOR NO KEY UPDATE;
    PERFORM FROM accounts_applicant p JOIN accounts_account a ON a.id = p.account_id
        WHERE a.id = account AND a.status = 'PENDING' AND a.user_id = p.user_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Only an account that is PENDING, that its partner opened and '
            'that was not joined yet is joined to a user.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_applicant p JOIN accounts_user u
        ON (u.email = p.email OR u.lei = p.lei) AND u.type = (
            SELECT type FROM accounts_user WHERE id = p.user_id)
        WHERE p.account_id = account AND u.id = known AND u.id <> p.user_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'An account is joined to a user of the same type that has the '
            'email or the LEI that the partner gave.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM pg_current_xact_id();
    UPDATE accounts_account SET user_id = known, recorded_at = clock_timestamp()
        WHERE id = account;
END $$;
REVOKE ALL ON FUNCTION public.accounts_join(uuid, uuid) FROM PUBLIC;
