-- Locks accounts against changes of their status and returns their rows.
-- called by: application
-- locks: accounts_account (FOR SHARE)
CREATE OR REPLACE FUNCTION public.accounts_share(accounts uuid[])
RETURNS SETOF accounts_account LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    RETURN QUERY SELECT a.* FROM accounts_account a
        WHERE a.id = ANY (accounts) ORDER BY a.id FOR SHARE;
END $$;
REVOKE ALL ON FUNCTION public.accounts_share(uuid[]) FROM PUBLIC;
