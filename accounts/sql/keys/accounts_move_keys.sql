-- Moves keys to a pepper that binds logins and secrets, where the caller knows what
-- opens the present digest. Returns how many moved.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_move_keys(
    pepper bigint, keys uuid[], openings bytea[], digests bytea[]
)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moved bigint;
BEGIN
    PERFORM FROM accounts_pepper p WHERE p.id = pepper AND p.is_bound;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Keys move to a pepper of logins and secrets.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_apikey k SET secret_digest = m.digest, pepper_id = pepper
    FROM unnest(keys, openings, digests) AS m (id, opening, digest)
    WHERE k.id = m.id AND k.pepper_id IS DISTINCT FROM pepper
        AND octet_length(m.digest) = 32
        AND k.secret_digest = CASE WHEN EXISTS (
            SELECT FROM accounts_pepper p WHERE p.id = k.pepper_id AND p.is_bound)
            THEN sha256(m.opening) ELSE m.opening END;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;
REVOKE ALL ON FUNCTION public.accounts_move_keys(bigint, uuid[], bytea[], bytea[]) FROM
    PUBLIC;
