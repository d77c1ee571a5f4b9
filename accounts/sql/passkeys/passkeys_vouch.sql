-- Signs a new passkey with one that counts, of the same person or of someone that may
-- decide requests; it is vouched for by one of its person, or by two others. The caller
-- has checked the signature.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_passkey (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.passkeys_vouch(
    newer uuid, key uuid, signer uuid, authenticator_data bytea, client_data bytea,
    signature bytea
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    k accounts_passkey;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_passkey p WHERE p.id IN (newer, key) ORDER BY p.id FOR UPDATE;
    SELECT * INTO k FROM accounts_passkey WHERE id = newer;
    IF NOT FOUND OR k.vouched_at IS NOT NULL OR k.revoked_at IS NOT NULL THEN
        RAISE EXCEPTION 'This passkey waits for no signature.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF signer <> k.person_id AND (NOT EXISTS (SELECT FROM approvals_deciders() d
            WHERE d.id = signer) OR EXISTS (SELECT FROM accounts_passkeyvoucher v
            JOIN accounts_assertion a ON a.id = v.assertion_id
            JOIN accounts_passkey p ON p.id = a.passkey_id
            WHERE v.passkey_id = newer AND p.person_id = signer)) THEN
        RAISE EXCEPTION 'A passkey of someone else is signed by two that decide requests.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_passkeyvoucher (passkey_id, assertion_id)
    VALUES (newer, passkeys_assert(key, signer, ARRAY[passkeys_digest(newer)],
        authenticator_data, client_data, signature));
    UPDATE accounts_passkey SET vouched_at = clock_timestamp() WHERE id = newer
        AND (signer = k.person_id OR 2 <= (
            SELECT count(DISTINCT p.person_id) FROM accounts_passkeyvoucher v
            JOIN accounts_assertion a ON a.id = v.assertion_id
            JOIN accounts_passkey p ON p.id = a.passkey_id
            WHERE v.passkey_id = newer));
END $$;
REVOKE ALL ON FUNCTION public.passkeys_vouch(uuid, uuid, uuid, bytea, bytea, bytea) FROM
    PUBLIC;
