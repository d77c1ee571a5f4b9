-- Locks accounts against changes of their status and returns their rows.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_account (FOR SHARE)
CREATE OR REPLACE FUNCTION public.accounts_share(accounts uuid[])
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
    RETURN QUERY SELECT a.* FROM accounts_account a
        WHERE a.id = ANY (accounts) ORDER BY a.id FOR SHARE;
END $$;
REVOKE ALL ON FUNCTION public.accounts_share(uuid[]) FROM PUBLIC;
