-- Locks an account and returns its row.
-- called by: application
-- locks: accounts_account (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.accounts_lock(account uuid)
RETURNS SETOF accounts_account LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    RETURN QUERY SELECT * FROM accounts_account WHERE id = account FOR NO KEY UPDATE;
END $$;
REVOKE ALL ON FUNCTION public.accounts_lock(uuid) FROM PUBLIC;
