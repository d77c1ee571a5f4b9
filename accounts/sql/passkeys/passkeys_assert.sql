-- Keeps an assertion of a passkey that counts; its person was present and verified, its
-- challenge is of these digests, and its counter has grown. What it cannot check is the
-- signature.
-- called by: approvals_decide_signed, passkeys_vouch
-- raises: restrict_violation
-- locks: accounts_passkey (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.passkeys_assert(
    key uuid, signer uuid, digests bytea[], authenticator_data bytea, client_data bytea,
    signature bytea
)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    k accounts_passkey;
    told jsonb := convert_from(client_data, 'UTF8')::jsonb;
    counted bigint;
    made uuid := gen_random_uuid();
BEGIN
    SELECT * INTO k FROM accounts_passkey WHERE id = key FOR UPDATE;
    IF (k.person_id = signer AND k.listed_at IS NOT NULL AND k.revoked_at IS NULL)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Only a passkey of this person that counts may sign.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF told ->> 'type' IS DISTINCT FROM 'webauthn.get'
        OR told ->> 'challenge' IS DISTINCT FROM translate(rtrim(encode(sha256((
            SELECT string_agg(d, ''::bytea ORDER BY d) FROM unnest(digests) AS u (d))),
            'base64'), '='), '+/', '-_') THEN
        RAISE EXCEPTION 'The passkey has signed something else.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF length(authenticator_data) < 37 OR get_byte(authenticator_data, 32) & 5 <> 5 THEN
        RAISE EXCEPTION 'The device has not verified the person.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    counted := ('x' || encode(substr(authenticator_data, 34, 4), 'hex'))::bit(32)::bigint;
    IF counted <= k.sign_count AND (counted, k.sign_count) <> (0, 0) THEN
        RAISE EXCEPTION 'The counter of the passkey has not grown: there may be a copy.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_passkey SET sign_count = counted WHERE id = key;
    INSERT INTO accounts_assertion (id, passkey_id, digests, authenticator_data,
        client_data, signature, made_at)
    VALUES (made, key, digests, authenticator_data, client_data, signature,
        clock_timestamp());
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION public.passkeys_assert(uuid, uuid, bytea[], bytea, bytea, bytea)
    FROM PUBLIC;
