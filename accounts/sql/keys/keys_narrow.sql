-- Gives an API key fewer scopes or an earlier end, or revokes it, with an event of its
-- partner. What is NULL changes nothing, and a revocation is of now. FALSE: the key was
-- as narrow before.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.keys_narrow(
    key uuid, kept text[], until timestamp with time zone,
    revoked timestamp with time zone
)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    partner uuid;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_apikey k
        WHERE k.id = key AND NOT coalesce(kept <@ k.scopes::text[], TRUE);
    IF FOUND THEN
        RAISE EXCEPTION 'A key gets no further scope. Issue another.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    revoked := CASE WHEN revoked IS NOT NULL THEN clock_timestamp() END;
    UPDATE accounts_apikey k SET scopes = coalesce(kept, k.scopes::text[]),
        expires_at = least(k.expires_at, until),
        revoked_at = coalesce(k.revoked_at, revoked)
    WHERE k.id = key AND (coalesce(kept, k.scopes::text[]), least(k.expires_at, until),
            coalesce(k.revoked_at, revoked))
        IS DISTINCT FROM (k.scopes::text[], k.expires_at, k.revoked_at)
    RETURNING k.partner_id INTO partner;
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    PERFORM events_write(NULL, ARRAY[partner], ARRAY['KEY_CHANGED'], NULL, NULL, NULL,
        NULL);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.keys_narrow(uuid, text[], timestamp with time zone,
    timestamp with time zone) FROM PUBLIC;
