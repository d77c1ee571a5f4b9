-- Opens the ledger accounts of users with a profile, and of issuers' treasuries, that
-- have none.
-- called by: application
-- locks: accounts_userholder (FOR KEY SHARE)
CREATE OR REPLACE FUNCTION public.register_open_accounts(users uuid[], issuers uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    -- The lock keeps a profile from going to another user meanwhile.
    INSERT INTO issuers_ledgeraccount (kind, holder_id, user_id)
    SELECT 'HOLDER', h.id, h.user_id FROM accounts_userholder h
    WHERE h.user_id = ANY (users) ORDER BY h.user_id FOR KEY SHARE
    ON CONFLICT DO NOTHING;
    INSERT INTO issuers_ledgeraccount (kind, issuer_id)
    SELECT 'TREASURY', i.id FROM issuers_issuer i
    WHERE i.id = ANY (issuers) ORDER BY i.id
    ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION public.register_open_accounts(uuid[], uuid[]) FROM PUBLIC;
