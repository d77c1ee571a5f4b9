-- Locks an account and returns its row.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_account (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.accounts_lock(account uuid)
RETURNS SETOF accounts_account LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY SELECT * FROM accounts_account WHERE id = account FOR NO KEY UPDATE;
END $$;
REVOKE ALL ON FUNCTION public.accounts_lock(uuid) FROM PUBLIC;
