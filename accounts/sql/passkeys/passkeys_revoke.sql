-- Ends a passkey; what it has signed before stays signed.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.passkeys_revoke(key uuid, revoker uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    UPDATE accounts_passkey k SET revoked_at = clock_timestamp()
    WHERE k.id = key AND k.revoked_at IS NULL AND (k.person_id = revoker
        OR EXISTS (SELECT FROM approvals_deciders() d WHERE d.id = revoker));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Its person, or someone that decides requests, ends a passkey.'
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.passkeys_revoke(uuid, uuid) FROM PUBLIC;
