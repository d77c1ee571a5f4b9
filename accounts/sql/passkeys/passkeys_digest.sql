-- What a passkey signs of a new one: the SHA-256 of its lines.
-- called by: application, passkeys_vouch
CREATE OR REPLACE FUNCTION public.passkeys_digest(key uuid)
RETURNS bytea LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT sha256(convert_to(concat_ws(chr(10), 'passkey', k.id, k.person_id,
            encode(k.credential, 'hex'), encode(k.public_key, 'hex'), k.domain), 'UTF8'))
        FROM accounts_passkey k WHERE k.id = key);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_digest(uuid) FROM PUBLIC;
