-- Keeps a new passkey of a member of staff; it does not count before others vouch for
-- it.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_user (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.passkeys_enrol(
    key uuid, whose uuid, label text, credential bytea, point bytea, bound_to text
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_user u WHERE u.id = whose AND u.is_active AND u.is_staff
        FOR NO KEY UPDATE;
    IF NOT FOUND OR length(point) <> 65 OR get_byte(point, 0) <> 4 OR (
        SELECT count(*) FROM accounts_passkey k
        WHERE k.person_id = whose AND k.revoked_at IS NULL) >= 10 THEN
        RAISE EXCEPTION 'An active member of staff has up to ten passkeys, of the curve '
            'P-256.' USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_passkey (id, person_id, name, credential, public_key, domain)
    VALUES (key, whose, label, credential, point, bound_to);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_enrol(uuid, uuid, text, bytea, bytea, text) FROM
    PUBLIC;
